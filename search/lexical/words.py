"""How text becomes words: names are split, case and accents do not count, endings are cut off."""

import re
import threading
import unicodedata
from functools import lru_cache

import snowballstemmer  # type: ignore[import-untyped]

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_ACCENTS = re.compile("[\u0300-\u036f]")
LONGEST_PAIR = 24
_LETTERS_OR_DIGITS = re.compile(r"[^\W\d_]+|\d+")
_UNSPACED = r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
"""Scripts that put no spaces between words (and Korean, whose endings are written on)."""
_IS_UNSPACED = re.compile(f"[{_UNSPACED}]")
_PIECES = re.compile(rf"[^\W_{_UNSPACED}]+|(?:(?!\W)[{_UNSPACED}])+")

# Words of a request that say nothing about the tool. Names are matched before these are dropped.
_STOP = """
    a about above after all also am an and any anybody are as at be because been before being but by can cannot could
    d did do does doing don done each either else for from had has have having he her here hers him his how i if in
    into is it its just let ll m may me might mine more most must my need no nor not of off on once one only or other
    our ours out over own please put re s same shall she should so some such t than thank thanks that the their theirs
    them then there these they this those through to too under until up us ve very want was we were what when where
    which while who whom whose why will with would yes you your yours
"""
STOP = frozenset(_STOP.split())

_stemmer = snowballstemmer.stemmer("english")
_one_at_a_time = threading.Lock()


def plain(text: str) -> str:
    """Without accents, case kept (it marks where words begin)."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFKD", text)))


def pieces(text: str) -> list[str]:
    """What stands between spaces and signs, or between words of another script: `查询GitHub仓库` are three."""
    return _PIECES.findall(plain(text))


@lru_cache(maxsize=200_000)
def words_in(piece: str) -> tuple[str, ...]:
    """`readFile` is `read file`; what was written in one piece stays findable so too: GitHub is `git hub github`."""
    if _IS_UNSPACED.match(piece):
        return tuple(piece[i : i + 2] for i in range(max(1, len(piece) - 1)))
    parts = [part for word in _CAMEL.split(piece) for part in _LETTERS_OR_DIGITS.findall(word.lower())]
    return (*parts, piece.lower()) if len(parts) == 2 and len(piece) <= LONGEST_PAIR else tuple(parts)


def words(text: str) -> list[str]:
    return [word for piece in pieces(text) for word in words_in(piece)]


@lru_cache(maxsize=200_000)
def stem(word: str) -> str:
    if len(word) < 4:
        return word
    with _one_at_a_time:  # it keeps the word it works on in itself
        return str(_stemmer.stemWord(word))


@lru_cache(maxsize=300_000)
def squash(name: str) -> str:
    """A name without anything but its letters and digits: all ways to write it become one."""
    return "".join(pieces(name)).lower()
