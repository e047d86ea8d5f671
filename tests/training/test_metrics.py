"""Metrics against values worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from training.metrics import bootstrap, ndcg, recall, reciprocal_rank, score_rankings


def test_ndcg_is_one_when_the_only_right_document_comes_first() -> None:
    assert ndcg([4, 1, 2], {4}) == 1.0


def test_ndcg_discounts_by_the_logarithm_of_the_place() -> None:
    assert ndcg([1, 2, 4], {4}) == pytest.approx(1 / math.log2(4))


def test_ndcg_of_two_right_documents_is_measured_against_the_best_order() -> None:
    found = 1 / math.log2(2) + 1 / math.log2(4)
    best = 1 / math.log2(2) + 1 / math.log2(3)
    assert ndcg([7, 1, 8], {7, 8}) == pytest.approx(found / best)


def test_ndcg_looks_at_ten_places_only() -> None:
    assert ndcg(list(range(11)), {10}) == 0.0


def test_recall_counts_the_share_of_right_documents() -> None:
    assert recall([3, 9, 5, 1, 2], {3, 2, 40}, 1) == pytest.approx(1 / 3)
    assert recall([3, 9, 5, 1, 2], {3, 2, 40}, 5) == pytest.approx(2 / 3)


def test_reciprocal_rank_takes_the_first_right_document() -> None:
    assert reciprocal_rank([5, 6, 7], {7, 6}) == 0.5
    assert reciprocal_rank([5], {1}) == 0.0


def test_scores_keep_one_value_per_query() -> None:
    scores = score_rankings([[0, 1], [1, 0]], [{0}, {0}])
    assert scores["mrr@10"].tolist() == [1.0, 0.5]
    assert scores["recall@1"].tolist() == [1.0, 0.0]


def test_the_bootstrap_interval_is_seeded_and_holds_the_mean() -> None:
    values = np.array([0.0, 1.0] * 50)
    interval = bootstrap(values)
    assert interval == bootstrap(values)
    assert interval.mean == 0.5
    # Standard error of a fair coin over 100 draws is .05.
    assert 0.38 < interval.low < 0.42
    assert 0.58 < interval.high < 0.62


def test_a_constant_has_no_spread() -> None:
    interval = bootstrap(np.full(20, 0.25))
    assert (interval.low, interval.high) == (0.25, 0.25)
