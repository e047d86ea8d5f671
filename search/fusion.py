"""Ways to make one score of several: pure functions on scores from 0 to 1, kept by what is scored."""

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

K = TypeVar("K", bound=Hashable)

RRF_K = 60
"""How fast a rank loses weight; the value of the original paper, and measured flat around it."""


def saturate(score: float, half: float, steepness: float = 1.0) -> float:
    """A score without an upper bound on the scale from 0 to 1: `half` becomes one half.

    Dividing by a query's own maximum would make its best hit a 1.0, however poor it is. The steeper, the less a
    weak score counts.
    """
    if score <= 0:
        return 0.0
    return float(1 / (1 + (half / score) ** steepness))


def weighted(semantic: Mapping[K, float], lexical: Mapping[K, float], alpha: float) -> dict[K, float]:
    """`alpha * semantic + (1 - alpha) * lexical`. What one side does not know counts 0 there."""
    return {key: blend(semantic.get(key, 0.0), lexical.get(key, 0.0), alpha) for key in _keys([semantic, lexical])}


def blend(semantic: float, lexical: float, alpha: float) -> float:
    return alpha * semantic + (1 - alpha) * lexical


def rrf(sides: Sequence[Mapping[K, float]], k: int = RRF_K) -> dict[K, float]:
    """Reciprocal rank fusion: only the order on each side counts, equal scores share a rank.

    Divided by the most there is to reach, so that first on every side is 1.
    """
    fused = dict.fromkeys(_keys(sides), 0.0)
    best = len(sides) / (k + 1)
    for side in sides:
        for key, rank in _ranks(side).items():
            fused[key] += 1 / (k + rank) / best
    return {key: min(score, 1.0) for key, score in fused.items()}


def zscore(sides: Sequence[Mapping[K, float]]) -> dict[K, float]:
    """Each side measured in its own standard deviations, averaged, and brought back to 0..1 by the logistic curve.

    What a side does not know stands where its lowest stands. A side whose scores are all equal says nothing.
    """
    keys = _keys(sides)
    total = dict.fromkeys(keys, 0.0)
    for side in sides:
        z = _standardised(side)
        lowest = min(z.values(), default=0.0)
        for key in keys:
            total[key] += z.get(key, lowest)
    return {key: 1 / (1 + math.exp(-value / len(sides))) for key, value in total.items()}


def either(parts: Iterable[float]) -> float:
    """Independent pieces of evidence: 1 minus the chance that all of them mislead. Never less than any of them."""
    left = 1.0
    for part in parts:
        left *= 1 - part
    return 1 - left


def _keys(sides: Iterable[Mapping[K, float]]) -> list[K]:
    return list(dict.fromkeys(key for side in sides for key in side))


def _ranks(side: Mapping[K, float]) -> dict[K, int]:
    ordered = sorted(side.values(), reverse=True)
    first: dict[float, int] = {}
    for position, score in enumerate(ordered, 1):
        first.setdefault(score, position)
    return {key: first[score] for key, score in side.items()}


def _standardised(side: Mapping[K, float]) -> dict[K, float]:
    if not side:
        return {}
    mean = math.fsum(side.values()) / len(side)
    spread = math.sqrt(math.fsum((score - mean) ** 2 for score in side.values()) / len(side))
    if spread < 1e-9:
        return dict.fromkeys(side, 0.0)
    return {key: (score - mean) / spread for key, score in side.items()}
