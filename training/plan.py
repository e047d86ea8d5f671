"""Which pairs meet in a batch, which texts they show, which mined tools join them. Pure numpy, seeded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from training.joined import draw_partners, join
from training.pairs import Row
from training.recipe import Recipe

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Batch:
    requests: list[str]
    tools: Ints  # tool of each request
    candidates: Ints  # those tools, then the mined ones
    texts: list[str]  # of the candidates
    partners: list[Ints]  # tools of the further needs in each request


@dataclass(frozen=True)
class Pairs:
    rows: Sequence[Row]
    requests: list[str]
    tools: Ints

    @classmethod
    def of(cls, rows: Sequence[Row]) -> Pairs:
        requests = [request for row in rows for request in row.served.requests]
        tools = [place for place, row in enumerate(rows) for _ in row.served.requests]
        return cls(rows, requests, np.array(tools, dtype=np.int64))

    def __len__(self) -> int:
        return len(self.requests)


def epoch_order(pairs: Pairs, recipe: Recipe, draw: np.random.Generator) -> Ints:
    """Shuffled pairs, a share of them in blocks of one server, whose tools are each other's best decoys."""
    blocked = draw.random(len(pairs)) < recipe.block_share
    units = [np.array([place]) for place in np.flatnonzero(~blocked)]
    by_server: dict[str, list[int]] = {}
    for place in np.flatnonzero(blocked):
        by_server.setdefault(pairs.rows[pairs.tools[place]].served.tool.server, []).append(int(place))
    for server in sorted(by_server):
        places = draw.permutation(by_server[server])
        units += [places[start : start + recipe.block_size] for start in range(0, len(places), recipe.block_size)]
    return np.concatenate([units[place] for place in draw.permutation(len(units))])


def epoch_batches(pairs: Pairs, recipe: Recipe, mined: Ints | None, draw: np.random.Generator) -> Iterator[Batch]:
    order = epoch_order(pairs, recipe, draw)
    for start in range(0, len(order), recipe.batch):
        places = order[start : start + recipe.batch]
        if len(places) < min(recipe.batch, len(pairs)) // 4:  # a last crumb has too few negatives to teach
            return
        tools = pairs.tools[places]
        candidates = tools
        if mined is not None and recipe.hard_negatives:
            candidates = np.concatenate([tools, _draw_mined(mined[places], recipe.hard_negatives, draw)])
        texts = [_shown_text(pairs.rows[tool], recipe.short_share, draw) for tool in candidates]
        joined = draw_partners(len(places), recipe.joined_share, draw)
        requests = [
            join([pairs.requests[places[one]] for one in [place, *others]], draw)
            if others
            else pairs.requests[places[place]]
            for place, others in enumerate(joined)
        ]
        yield Batch(requests, tools, candidates, texts, [tools[others] for others in joined])


def false_negatives(batch: Batch, twins: Bools) -> Bools:
    """True where a candidate must not count against a request; its own tool (the diagonal) always counts."""
    mask = twins[batch.tools][:, batch.candidates]
    for place, others in enumerate(batch.partners):
        for other in others:
            mask[place] |= twins[other][batch.candidates]
    np.fill_diagonal(mask, False)
    return mask


def _draw_mined(mined: Ints, count: int, draw: np.random.Generator) -> Ints:
    columns = draw.integers(0, mined.shape[1], size=(len(mined), count))
    chosen = np.take_along_axis(mined, columns, axis=1).ravel()
    return np.unique(chosen[chosen >= 0])


def _shown_text(row: Row, short_share: float, draw: np.random.Generator) -> str:
    if draw.random() >= short_share:
        return row.text
    return row.shorter[int(draw.integers(len(row.shorter)))]
