"""The training file: one line per tool with its requests, its texts and the fold its server was dealt."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tools_catalog.text import split_name
from training.data import Served, check_served, read_jsonl
from training.folds import deal
from training.texts import Tool, short_texts, tool_text

Embed = Callable[[Sequence[str]], npt.NDArray[np.float32]]


@dataclass(frozen=True)
class Row:
    served: Served
    fold: int
    text: str
    shorter: tuple[str, ...]


def make_rows(served: Sequence[Served]) -> list[Row]:
    check_served(served)
    folds: dict[str, int] = {}
    for source in dict.fromkeys(item.source for item in served):  # each source is spread over all folds
        folds |= deal(item.group for item in served if item.source == source)
    return [Row(item, folds[item.group], tool_text(item.tool), tuple(short_texts(item.tool))) for item in served]


def write_rows(rows: Iterable[Row], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as lines:
        for row in rows:
            record = {**asdict(row.served.tool), "requests": row.served.requests, "source": row.served.source}
            record |= {"fold": row.fold, "text": row.text, "shorter": row.shorter}
            lines.write(json.dumps(record, ensure_ascii=False) + "\n")


def read_rows(path: Path) -> list[Row]:
    rows = []
    for record in read_jsonl(path):
        tool = Tool(record["id"], record["server"], record["name"], record["description"], tuple(record["params"]))
        served = Served(tool, tuple(record["requests"]), record["source"])
        rows.append(Row(served, record["fold"], record["text"], tuple(record["shorter"])))
    return rows


def without_folds(rows: Sequence[Row], left_out: Iterable[int]) -> list[Row]:
    dropped = set(left_out)
    return [row for row in rows if row.fold not in dropped]


def summary(rows: Sequence[Row]) -> str:
    tools = Counter(row.served.source for row in rows)
    pairs = Counter(dict.fromkeys(tools, 0))
    for row in rows:
        pairs[row.served.source] += len(row.served.requests)
    parts = [f"{source} {tools[source]} tools {pairs[source]} pairs" for source in tools]
    return f"{sum(pairs.values())} pairs for {len(rows)} tools: " + ", ".join(parts)


def twin_mask(rows: Sequence[Row], embed: Embed, similarity: float) -> npt.NDArray[np.bool_]:
    """`[i, j]`: tool j may serve tool i's requests as well, so it never counts as a wrong answer for them."""
    vectors = embed([row.text for row in rows])
    alike = vectors @ vectors.T
    _, names = np.unique([split_name(row.served.tool.name).lower() for row in rows], return_inverse=True)
    same_name = names[:, None] == names[None, :]
    mask = (alike >= similarity) | (same_name & (alike >= similarity - 0.15)) | np.eye(len(rows), dtype=bool)
    owners: dict[str, list[int]] = {}
    for place, row in enumerate(rows):
        for request in row.served.requests:
            owners.setdefault(request.strip().lower(), []).append(place)
    for places in owners.values():
        mask[np.ix_(places, places)] = True
    return np.asarray(mask)
