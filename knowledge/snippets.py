"""Shows where a passage says what was asked."""

import re
import threading
from functools import lru_cache
from typing import Any

WORD = re.compile(r"\w+")
MORE = "…"
# Words that are in every text, and so show nothing.
_COMMON_WORDS = (
    "a about all an and any are as at be by can do does for from has have how i if in into is it its me my no not"
    " of on or our so than that the their them then there these they this to was we were what when where which"
    " who why will with you your"
)
COMMON = frozenset(_COMMON_WORDS.split())


def stems(text: str) -> set[str]:
    """The words of a query that say something, without their endings. All of them, if none does."""
    words = {word.lower() for word in WORD.findall(text)}
    return {_stem(word) for word in words - COMMON or words}


def snippet(content: str, query: str, most: int) -> str:
    """At most so many characters around the place that holds the most words of the query; else the beginning."""
    text = " ".join(content.split())
    if len(text) <= most:
        return text
    start = _best_start(text, stems(query), most) if query else 0
    return _cut(text, start, most)


def _best_start(text: str, wanted: set[str], most: int) -> int:
    """Where a window has to begin to hold the most different words, and of those the most words."""
    found = [(match.start(), match.end(), _stem(match[0].lower())) for match in WORD.finditer(text)]
    hits = [hit for hit in found if hit[2] in wanted]
    best, window = (0, 0), (0, 0)
    for i, (start, _, _) in enumerate(hits):
        inside = [hit for hit in hits[i:] if hit[1] <= start + most]
        value = (len({hit[2] for hit in inside}), len(inside))
        if value > best:
            best, window = value, (start, inside[-1][1])
    spare = most - (window[1] - window[0])
    return max(0, window[0] - spare // 2) if best > (0, 0) else 0


def _cut(text: str, start: int, most: int) -> str:
    """Whole words between the marks that say that there is more."""
    if start > 0:
        start = min(start, len(text) - most + 1)
    head = MORE if start > 0 else ""
    end = start + most - len(head)
    if end < len(text):
        end -= len(MORE)
    part = text[start:end]
    if start > 0 and text[start - 1] != " " and " " in part:
        part = part[part.index(" ") + 1 :]
    if end < len(text) and text[end] != " " and " " in part.strip():
        part = part[: part.rindex(" ")]
    return f"{head}{part.strip()}{MORE if end < len(text) else ''}"


class _Stemmers(threading.local):
    """One a thread: a stemmer keeps the word it is at."""

    stemmer: Any = None


_stemmers = _Stemmers()


@lru_cache(20_000)
def _stem(word: str) -> str:
    if _stemmers.stemmer is None:
        from snowballstemmer import stemmer  # type: ignore[import-untyped]

        _stemmers.stemmer = stemmer("english")
    return str(_stemmers.stemmer.stemWord(word))
