"""What is true of every way to fuse scores."""

from collections.abc import Callable, Mapping, Sequence
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from search.fusion import either, rrf, saturate, weighted, zscore

Fuse = Callable[[Sequence[Mapping[int, float]]], dict[int, float]]
scores = st.dictionaries(st.integers(0, 20), st.floats(0, 1), max_size=12)
shares = st.floats(0, 1)
quick = settings(max_examples=60)


@quick
@given(scores, scores, shares)
def test_weighted_is_the_formula_for_whatever_either_side_knows(
    a: dict[int, float], b: dict[int, float], w: float
) -> None:
    fused = weighted(a, b, w)
    assert fused.keys() == a.keys() | b.keys()
    assert all(fused[k] == pytest.approx(w * a.get(k, 0) + (1 - w) * b.get(k, 0)) for k in fused)
    assert all(0 <= score <= 1 for score in fused.values())


@quick
@given(scores, scores)
def test_alpha_1_is_meaning_alone_and_0_keywords_alone(a: dict[int, float], b: dict[int, float]) -> None:
    assert weighted(a, b, 1.0) == {k: a.get(k, 0.0) for k in weighted(a, b, 1.0)}
    assert weighted(a, b, 0.0) == {k: b.get(k, 0.0) for k in weighted(a, b, 0.0)}


@quick
@given(st.lists(scores, min_size=1, max_size=3), st.sampled_from([rrf, zscore]))
def test_scores_stay_between_0_and_1_and_nothing_is_lost_or_made_up(
    sides: list[dict[int, float]], fuse: object
) -> None:
    fused = fuse(sides)  # type: ignore[operator]
    assert set(fused) == {k for side in sides for k in side}
    assert all(0 <= score <= 1 for score in fused.values())


@quick
@given(scores, st.sampled_from([rrf, zscore]))
def test_two_sides_that_agree_keep_their_order(side: dict[int, float], fuse: Fuse) -> None:
    fused = fuse([side, side])
    for (a, high), (b, low) in product(side.items(), side.items()):
        if high > low + 1e-6:
            assert fused[a] > fused[b]


@quick
@given(scores)
def test_rrf_looks_at_ranks_alone(side: dict[int, float]) -> None:
    squeezed = {key: score / 2 + 0.1 for key, score in side.items()}
    if len(set(squeezed.values())) == len(set(side.values())):
        assert rrf([side]) == rrf([squeezed])


def test_rrf_gives_1_to_what_is_first_everywhere() -> None:
    assert rrf([{"a": 0.9, "b": 0.1}, {"a": 0.2}])["a"] == 1


def test_a_side_whose_scores_are_all_equal_says_nothing() -> None:
    assert zscore([{"a": 0.9, "b": 0.1}, {"a": 0.5, "b": 0.5}])["a"] > 0.5
    assert zscore([{"a": 0.5, "b": 0.5}]) == {"a": 0.5, "b": 0.5}


@quick
@given(st.lists(shares, max_size=5))
def test_evidence_never_lowers_a_score(parts: list[float]) -> None:
    assert either(parts) >= max(parts, default=0.0) - 1e-12
    assert 0 <= either(parts) <= 1


@quick
@given(st.floats(0, 100), st.floats(0, 100), st.floats(0.1, 50), st.floats(1, 6))
def test_saturation_keeps_the_order_and_ends_below_1(a: float, b: float, half: float, steepness: float) -> None:
    low, high = sorted([a, b])
    assert 0 <= saturate(low, half, steepness) <= saturate(high, half, steepness) <= 1
    assert saturate(half, half, steepness) == pytest.approx(0.5)
