"""Which tools count as wrong answers, and how pairs are laid out in batches."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest

from training.data import Served
from training.joined import join
from training.pairs import Row, make_rows, twin_mask
from training.plan import Batch, Pairs, epoch_batches, epoch_order, false_negatives
from training.recipe import Recipe
from training.texts import Tool


def _rows(count: int = 12) -> list[Row]:
    served = [
        Served(
            Tool(f"t{place}", f"s{place % 3}", f"tool_{place}", "", ()),
            (f"ask {place}", f"do {place}"),
            "mcp",
        )
        for place in range(count)
    ]
    return make_rows(served)


def _apart(texts: Sequence[str]) -> npt.NDArray[np.float32]:
    return np.eye(len(texts), dtype=np.float32)


def _batch(tools: npt.NDArray[np.int64], mined: Sequence[int], partners: Sequence[Sequence[int]] = ()) -> Batch:
    others = [np.array(partner, dtype=np.int64) for partner in partners or [[] for _ in tools]]
    return Batch([], tools, np.concatenate([tools, np.array(mined, dtype=np.int64)]), [], others)


def test_a_tool_is_never_a_negative_of_itself_or_of_its_twin() -> None:
    twins = np.eye(4, dtype=bool)
    twins[0, 3] = twins[3, 0] = True
    tools = np.array([0, 1, 0])
    mask = false_negatives(_batch(tools, [3, 2]), twins)
    assert mask.tolist() == [
        [False, False, True, True, False],
        [False, False, False, False, False],
        [True, False, False, True, False],
    ]


def test_the_further_needs_of_a_joined_request_and_their_twins_do_not_count_against_it() -> None:
    twins = np.eye(4, dtype=bool)
    twins[1, 3] = twins[3, 1] = True
    mask = false_negatives(_batch(np.array([0, 1, 2]), [3], [[1], [], []]), twins)
    assert mask.tolist() == [[False, True, False, True], [False, False, False, True], [False, False, False, False]]


def test_an_epoch_joins_about_the_asked_share_of_requests_and_knows_their_tools() -> None:
    pairs = Pairs.of(_rows(60))
    recipe = Recipe(batch=120, joined_share=0.5, hard_negatives=0)
    [batch] = epoch_batches(pairs, recipe, None, np.random.default_rng(1))
    joined = [place for place, others in enumerate(batch.partners) if len(others)]
    assert 40 <= len(joined) <= 80
    for place in joined:
        for tool in [batch.tools[place], *batch.partners[place]]:
            assert any(request.lower() in batch.requests[place].lower() for request in pairs.rows[tool].served.requests)


def test_without_joining_requests_stay_as_they_are() -> None:
    pairs = Pairs.of(_rows())
    [batch] = epoch_batches(pairs, Recipe(batch=24, joined_share=0.0), None, np.random.default_rng(1))
    assert sorted(batch.requests) == sorted(pairs.requests)


def test_joined_requests_read_as_sentences() -> None:
    texts = {join(["Show the log.", "I want it shorter"], np.random.default_rng(seed)) for seed in range(40)}
    assert "Show the log and I want it shorter" in texts
    assert "I want it shorter, then show the log" in texts
    assert "I want it shorter. Show the log" in texts


def test_tools_with_near_equal_texts_are_twins() -> None:
    rows = _rows(3)
    close = np.array([[1, 0], [0.99, 0.14], [0, 1]], dtype=np.float32)
    mask = twin_mask(rows, lambda _: close, 0.95)
    assert mask[0, 1]
    assert not mask[0, 2]


def test_tools_that_share_a_request_are_twins() -> None:
    served = [
        Served(Tool(name, name, name, "", ()), requests, "mcp")
        for name, requests in {"a": ("Hello there",), "b": ("hello there ", "other"), "c": ("third",)}.items()
    ]
    mask = twin_mask(make_rows(served), _apart, 0.95)
    assert mask[0, 1]
    assert not mask[1, 2]


def test_an_epoch_shows_every_pair_once() -> None:
    pairs = Pairs.of(_rows())
    order = epoch_order(pairs, Recipe(), np.random.default_rng(1))
    assert sorted(order) == list(range(24))


def test_blocks_put_one_servers_pairs_side_by_side() -> None:
    pairs = Pairs.of(_rows())
    order = epoch_order(pairs, Recipe(block_share=1.0, block_size=4), np.random.default_rng(1))
    servers = [pairs.rows[pairs.tools[place]].served.tool.server for place in order]
    assert all(len(set(servers[start : start + 4])) == 1 for start in range(0, 24, 4))


def test_mined_tools_stand_behind_the_requests_own() -> None:
    pairs = Pairs.of(_rows())
    mined = np.full((24, 10), 5)
    recipe = Recipe(batch=8, hard_negatives=2, short_share=0.0)
    batch = next(epoch_batches(pairs, recipe, mined, np.random.default_rng(2)))
    assert batch.candidates[:8].tolist() == batch.tools.tolist()
    assert batch.candidates[8:].tolist() == [5]
    assert batch.texts[-1] == pairs.rows[5].text


def test_the_same_seed_gives_the_same_batches() -> None:
    pairs = Pairs.of(_rows())
    first, second = (
        [batch.texts for batch in epoch_batches(pairs, Recipe(batch=8), None, np.random.default_rng(3))]
        for _ in range(2)
    )
    assert first == second


def test_mining_skips_twins_and_tools_that_may_be_right() -> None:
    torch = pytest.importorskip("torch")
    from training.train import pick_mined

    scores = torch.tensor([[0.8, 0.79, 0.5, 0.6, 0.1]])
    twins = torch.eye(5, dtype=torch.bool)
    twins[0, 3] = True
    found = pick_mined(scores, torch.tensor([0]), twins, ceiling=0.95, keep=3)
    assert found.tolist() == [[2, 4, -1]]
