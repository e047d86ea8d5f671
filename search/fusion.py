"""Puts several rankings of the same things together. Pure functions: what is ranked only has to be hashable."""

import math
from collections.abc import Mapping, Sequence
from statistics import fmean, pstdev
from typing import TypeVar

T = TypeVar("T")
RRF_K = 60


def rrf(*rankings: Sequence[T], k: int = RRF_K) -> dict[T, float]:
    """Reciprocal rank fusion, from 0 to 1: first in every ranking is 1. Only the ranks count."""
    scores: dict[T, float] = {}
    for ranking in rankings:
        for rank, item in enumerate(ranking, start=1):
            scores[item] = scores.get(item, 0.0) + 1 / (k + rank)
    best = len(rankings) / (k + 1)
    return {item: score / best for item, score in scores.items()}


def zscore(*scored: Mapping[T, float]) -> dict[T, float]:
    """The mean of the standard scores, squeezed into 0 to 1. What a ranking does not hold counts as its lowest."""
    items = {item: None for scores in scored for item in scores}
    sums = dict.fromkeys(items, 0.0)
    for scores in filter(None, scored):
        mean, spread = fmean(scores.values()), pstdev(scores.values())
        lowest = min(scores.values())
        for item in items:
            sums[item] += (scores.get(item, lowest) - mean) / spread if spread > 0 else 0.0
    return {item: 1 / (1 + math.exp(-total / len(scored))) for item, total in sums.items()}
