"""One keyword search: the words of the query, repaired; BM25; names that the query is, or almost is."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from rapidfuzz.distance.OSA import normalized_similarity as ratio

from search.fusion import saturate
from search.lexical.index import K1, Index
from search.lexical.typos import names_near, repairs
from search.lexical.words import STOP, pieces, squash, stem, words, words_in

HALF = 3.5
"""The BM25 score that counts one half, in units of the rarest possible word: so it fits a catalogue of any size."""
COVERAGE = 0.5
"""How much it counts that the words in common are few among those of the query: the power of their share."""
HALF_OF_QUERY = 0.5
"""The share of what a tool with all words of the query could score that counts one half, up to this score:"""
HALF_AT_MOST = 5.0
STEEPNESS = 4.0
"""A few common words in common say almost nothing: measured, it is worth up to six points of NDCG@10 over 1."""
JOINED = 0.7
ALMOST = 0.98
"""The share of a name whose letters are all right and whose signs are not."""
NAME_WORDS = 8
"""A query of more words is a sentence, not a name with errors in it."""


@dataclass(frozen=True, slots=True)
class NameMatch:
    share: float
    """How much of the name is right; 1 for the name as its server writes it."""
    exact: bool = False
    """The name, however it is written."""
    sure: bool = True
    """Whether a name was meant: the query is one, or looks like one, or holds words that nothing else explains."""


@dataclass(frozen=True, slots=True)
class Keywords:
    """What the keyword side says about a query."""

    best: list[int]
    """Tools: by name, then by words."""
    scores: dict[int, float]
    """BM25 in units of the rarest possible word."""
    possible: float
    """What a tool with all words of the query could score."""
    intended: float
    """What a tool with all words could score if each unknown one is what it was repaired to."""
    searched: int
    """How many tools the index holds."""
    names: dict[int, NameMatch] = field(default_factory=dict)
    repaired: dict[str, list[str]] = field(default_factory=dict)

    def respelled(self, query: str, knows: Callable[[str], bool]) -> str:
        """The query, with each word that neither a tool has nor the model knows as it was probably meant.

        A capital inside a sentence makes it a name.
        """

        def spell(found: re.Match[str]) -> str:
            if (found.start() and found[0].istitle()) or knows(found[0].lower()):
                return found[0]
            choices = self.repaired[found[0].lower()]
            return " ".join(choices) if _is_split(found[0].lower(), choices) else choices[0]

        unknown = "|".join(map(re.escape, self.repaired))
        return re.sub(rf"(?<!\w)(?:{unknown})(?!\w)", spell, query, flags=re.IGNORECASE) if unknown else query

    def evidence(self, tool_id: int) -> float:
        """How much the words in common say, 0 to 1: one word of one is little, five rare ones of ten are much."""
        score = self.scores.get(tool_id, 0.0)
        covered = min(1.0, score / self.possible) if self.possible else 0.0
        return saturate(score, HALF, STEEPNESS) * float(covered**COVERAGE)

    def match(self, tool_id: int) -> float:
        """How well the tool fits what was typed, 0 to 1, by its words or by its name: one word of one is all of it."""
        half = min(HALF_AT_MOST, max(HALF_OF_QUERY * self.intended, 1e-6))
        name = self.names.get(tool_id)
        return max(saturate(self.scores.get(tool_id, 0.0), half, STEEPNESS), name.share if name and name.sure else 0.0)


def search(index: Index, query: str, *, tenant_id: int | None, item_type: str | None, limit: int) -> Keywords:
    asked = _asked(index, query)
    names = _names(index, query, tenant_id, item_type, asked.unknown)
    scores: dict[int, float] = {}
    unit = float(np.log1p(max(1, len(index.entries))))
    for block, raw in index.scores(asked.terms):
        seen = (raw > 0) & ((block.tenants == 0) | (block.tenants == (tenant_id or 0)))
        if item_type:
            seen &= block.types == item_type
        found = np.flatnonzero(seen)
        if len(found) > 4 * limit:
            found = found[np.argpartition(-raw[found], 4 * limit)[: 4 * limit]]
        scores.update(zip(block.ids[found].tolist(), (raw[found] / unit).tolist(), strict=True))
    possible, intended = (weight * (K1 + 1) / unit for weight in (asked.possible, asked.possible - asked.spared))
    named = sorted(names, key=lambda i: (-names[i].share, -scores.get(i, 0.0), i))
    ranked = dict.fromkeys([*named, *sorted(scores, key=lambda i: (-scores[i], i))])
    return Keywords(list(ranked)[:limit], scores, possible, intended, len(index.entries), names, asked.repaired)


@dataclass(slots=True)
class _Asked:
    """The words of a query as the index knows them."""

    terms: dict[str, float] = field(default_factory=dict)
    repaired: dict[str, list[str]] = field(default_factory=dict)
    possible: float = 0.0
    """The weight of all words, also of those that no tool holds."""
    spared: float = 0.0
    """How much of that weight is of words that no tool holds, beyond that of the words that they were meant to be."""
    unknown: bool = False
    """Whether there is a word that no tool holds."""


def _asked(index: Index, query: str) -> _Asked:
    asked = _Asked()
    given = words(query)
    in_one_piece = {piece.lower() for piece in pieces(query) if len(words_in(piece)) > 1}
    for word in [word for word in given if word not in STOP] or given:
        term = stem(word)
        if index.count(term):
            asked.possible += 0.0 if term in asked.terms else index.idf(term)
            asked.terms[term] = 1.0
        elif word not in in_one_piece:
            _repair(index, word, asked)
    for left, right in pairwise(given):
        joined = stem(left + right)
        if joined not in asked.terms and index.count(joined):
            asked.terms[joined] = JOINED
    return asked


def _repair(index: Index, word: str, asked: _Asked) -> None:
    asked.unknown = asked.unknown or len(word) > 1
    found = repairs(index, word)
    meant = [stem(choice) for choice in found] if _is_split(word, list(found)) else [stem(c) for c in list(found)[:1]]
    asked.possible += index.idf(word)
    asked.spared += max(0.0, index.idf(word) - sum(index.idf(term) for term in meant)) if meant else 0.0
    for choice, share in found.items():
        asked.repaired.setdefault(word, []).append(choice)
        asked.terms[stem(choice)] = max(asked.terms.get(stem(choice), 0.0), share)


def _is_split(word: str, choices: list[str]) -> bool:
    """Whether these are two words that were written as one, and not two that may have been meant."""
    return "".join(choices) == word


def _names(
    index: Index, query: str, tenant_id: int | None, item_type: str | None, unknown: bool
) -> dict[int, NameMatch]:
    name, typed = squash(query), query.strip()
    exact = _visible(index, index.names.get(name) or index.names.get(typed, ()), tenant_id, item_type)
    if exact or not name or len(words(query)) > NAME_WORDS:
        return {i: NameMatch(1.0 if typed in index.entries[i].names else ALMOST, exact=True) for i in exact}
    # In one piece, but several words: a name, even when each of its words is known.
    sure = unknown or (len(typed.split()) == 1 and len(words(typed)) > 1)
    near: dict[int, NameMatch] = {}
    for choice, share in names_near(index, name, 2 if sure else 1, plain=len(words(typed)) == 1).items():
        for tool_id in _visible(index, index.names[choice], tenant_id, item_type):
            # Names that differ in their signs alone are told apart by them.
            written = max(ratio(typed, published) for published in index.entries[tool_id].names)
            share_written = share - (1 - ALMOST) * (1 - written)
            if tool_id not in near or near[tool_id].share < share_written:
                near[tool_id] = NameMatch(share_written, sure=sure)
    return near


def _visible(index: Index, tool_ids: Iterable[int], tenant_id: int | None, item_type: str | None) -> list[int]:
    return [
        i
        for i in tool_ids
        for entry in [index.entries[i]]
        if entry.tenant_id in (0, tenant_id or 0) and item_type in (None, entry.type)
    ]
