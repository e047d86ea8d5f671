from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

METRICS = ("ndcg@10", "recall@1", "recall@5", "mrr@10")


@dataclass(frozen=True)
class Interval:
    mean: float
    low: float
    high: float


def ndcg(ranked: Sequence[int], gold: set[int], k: int = 10) -> float:
    gain = sum(1 / math.log2(place + 2) for place, item in enumerate(ranked[:k]) if item in gold)
    best = sum(1 / math.log2(place + 2) for place in range(min(len(gold), k)))
    return gain / best


def recall(ranked: Sequence[int], gold: set[int], k: int) -> float:
    return len(gold.intersection(ranked[:k])) / len(gold)


def reciprocal_rank(ranked: Sequence[int], gold: set[int], k: int = 10) -> float:
    return next((1 / (place + 1) for place, item in enumerate(ranked[:k]) if item in gold), 0.0)


def score_rankings(rankings: Sequence[Sequence[int]], golds: Sequence[set[int]]) -> dict[str, Floats]:
    """One value per query and metric, so that two models can be compared query by query."""
    rows = list(zip(rankings, golds, strict=True))
    return {
        "ndcg@10": np.array([ndcg(ranked, gold) for ranked, gold in rows]),
        "recall@1": np.array([recall(ranked, gold, 1) for ranked, gold in rows]),
        "recall@5": np.array([recall(ranked, gold, 5) for ranked, gold in rows]),
        "mrr@10": np.array([reciprocal_rank(ranked, gold) for ranked, gold in rows]),
    }


def bootstrap(values: Floats, *, resamples: int = 1000, seed: int = 7) -> Interval:
    """Mean with a 95% percentile interval over resampled queries."""
    draws = np.random.default_rng(seed).integers(0, len(values), size=(resamples, len(values)), dtype=np.int32)
    means = values[draws].mean(axis=1)
    low, high = np.percentile(means, [2.5, 97.5])
    return Interval(float(values.mean()), float(low), float(high))


def summarise(scores: Mapping[str, Floats]) -> dict[str, Interval]:
    return {metric: bootstrap(scores[metric]) for metric in METRICS}
