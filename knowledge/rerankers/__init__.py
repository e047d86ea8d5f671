"""The re-ranking port: looks at the first results again, with the query beside them."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

DEPTH = 50
"""How many of the first results are looked at again, on whatever page they are shown."""


@dataclass(frozen=True, slots=True)
class Candidate:
    text: str
    score: float


Reranker = Callable[[str, list[Candidate]], list[float]]
"""New scores from 0 to 1, one for each candidate."""

RERANKERS = {"lexical": "knowledge.rerankers.lexical:rerank"}


def reranker(name: str) -> Reranker:
    module, _, function = RERANKERS[name].partition(":")
    found: Reranker = getattr(import_module(module), function)
    return found
