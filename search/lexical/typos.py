"""Typing errors: unknown words are repaired against the words of the catalogue, whole names against its names."""

from collections.abc import Iterable

from rapidfuzz import process
from rapidfuzz.distance import OSA, DamerauLevenshtein

from search.lexical.index import Index
from search.lexical.words import STOP, stem

LONGEST_NAME = 64
SHORT_NAME = 7
CHOICES = 2
"""How many equally near words stand in for an unknown one."""


def repairs(index: Index, word: str) -> dict[str, float]:
    """Known words that this unknown one may have been meant to be, with how sure that is."""
    if len(word) < 3 or word in STOP or word.isdigit():
        return {}
    halves = _halves(index, word)
    if halves:
        return dict.fromkeys(halves, 1.0)
    most = 1 if len(word) < 7 else 2
    near = [
        (choice, distance)
        for choice, distance in _extract(word, _window(_by_length(index, "words", index.surface), word, most), most)
        if index.count(stem(choice)) and _safe(word, choice)
    ]
    if not near:
        return {}
    closest = min(distance for _, distance in near)
    best = sorted(
        (choice for choice, distance in near if distance == closest),
        key=lambda choice: (choice[0] != word[0], -index.count(stem(choice)), choice),
    )
    return {choice: 0.8**closest * 0.6**place for place, choice in enumerate(best[:CHOICES])}


def names_near(index: Index, name: str, most: int, *, plain: bool = False) -> dict[str, float]:
    """Names at most so many errors away, with how much of the name is right. Short names allow one error or none.

    `plain`: it is one word like any other, and may mean itself. `beach` is no `search`.
    """
    if not 3 <= len(name) <= LONGEST_NAME:
        return {}
    most = min(most, 1 if len(name) < 5 else 2)
    choices = _window(_by_length(index, "names", index.names), name, most)
    found = [
        (choice, distance)
        for choice, distance in _extract(name, choices, most)
        if distance < 2 or not plain or len(choice) >= SHORT_NAME
    ]
    return {choice: 1 - distance / max(len(name), len(choice)) for choice, distance in found if _safe(name, choice)}


def _safe(typed: str, choice: str) -> bool:
    """Three letters are too few to change one: they may have been swapped, or one was left out."""
    return len(typed) > 3 or len(choice) > len(typed) or sorted(choice) == sorted(typed)


def _halves(index: Index, word: str) -> tuple[str, str] | None:
    """`readfile` is `read file` where both are known."""
    for cut in range(3, len(word) - 2):
        left, right = word[:cut], word[cut:]
        if left in index.surface and right in index.surface and index.count(stem(left)) and index.count(stem(right)):
            return left, right
    return None


def _by_length(index: Index, kind: str, texts: Iterable[str]) -> dict[int, list[str]]:
    if kind not in index.cache:
        lists: dict[int, list[str]] = {}
        for text in list(texts):
            lists.setdefault(len(text), []).append(text)
        index.cache[kind] = lists
    return index.cache[kind]  # type: ignore[no-any-return]


def _window(lists: dict[int, list[str]], text: str, most: int) -> list[str]:
    return [c for size in range(len(text) - most, len(text) + most + 1) for c in lists.get(size, ())]


def _extract(text: str, choices: list[str], most: int) -> list[tuple[str, int]]:
    """The fast distance does not see a swap across a missing letter: it looks one further, the exact one decides."""
    near = process.extract(text, choices, scorer=OSA.distance, score_cutoff=most + 1, limit=None)
    exact = [(choice, DamerauLevenshtein.distance(text, choice, score_cutoff=most)) for choice, _, _ in near]
    return [(choice, distance) for choice, distance in exact if distance <= most]
