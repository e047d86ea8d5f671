"""The sets a model is judged on, and the ones it is chosen on. The two never share a server or a module."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from training.data import PUBLIC_SETS, RetrievalSet, read_public_set
from training.documents import documents_set
from training.folds import VALIDATION_FOLD
from training.joined import join
from training.pairs import Row
from training.texts import Tool, tool_text

HELD_OUT = "requests"


def reported_sets(bench: Path, rows: Sequence[Row], sources: Path | None) -> list[RetrievalSet]:
    public = [public_set(bench, name) for name in PUBLIC_SETS if (bench / name).is_dir()]
    return [
        *public,
        requests_set(rows, "mcp", lambda fold: fold != VALIDATION_FOLD),
        documents_set("test", sources),
    ]


def validation_sets(rows: Sequence[Row], sources: Path | None) -> list[RetrievalSet]:
    kinds = [kind for kind in ("mcp", "fictional", "metatool") if any(row.served.source == kind for row in rows)]
    chosen = [requests_set(rows, kind, lambda fold: fold == VALIDATION_FOLD) for kind in kinds]
    return [*chosen, joined_set(chosen[0]), documents_set("validation", sources)]


def public_set(bench: Path, name: str) -> RetrievalSet:
    tools, queries = read_public_set(bench, name)
    places = {tool.id: place for place, tool in enumerate(tools)}
    golds = [frozenset(places[tool_id] for tool_id in gold if tool_id in places) for _, gold in queries]
    kept = [(query, gold) for (query, _), gold in zip(queries, golds, strict=True) if gold]
    return RetrievalSet(
        name,
        documents=tuple(tool_text(tool) for tool in tools),
        queries=tuple(query for query, _ in kept),
        golds=tuple(gold for _, gold in kept),
    )


def requests_set(rows: Sequence[Row], source: str, wanted: Callable[[int], bool]) -> RetrievalSet:
    """Requests for tools of the wanted folds, searched among the whole catalogue of that source."""
    catalogue = [row for row in rows if row.served.source == source]
    same: dict[tuple[str, str], set[int]] = {}
    for place, row in enumerate(catalogue):
        same.setdefault(_canonical(row.served.tool), set()).add(place)
    asked = [
        (request, frozenset(same[_canonical(row.served.tool)]), str(row.fold))
        for row in catalogue
        if wanted(row.fold)
        for request in row.served.requests
    ]
    return RetrievalSet(
        HELD_OUT if source == "mcp" else source,
        documents=tuple(row.text for row in catalogue),
        queries=tuple(request for request, _, _ in asked),
        golds=tuple(gold for _, gold, _ in asked),
        groups=tuple(fold for _, _, fold in asked),
    )


def joined_set(single: RetrievalSet, seed: int = 5) -> RetrievalSet:
    """Two or three requests in one, each of which should find its own tool."""
    draw = np.random.default_rng(seed)
    order = draw.permutation(len(single.queries)).tolist()
    queries, golds = [], []
    while len(order) >= 3:
        parts = [order.pop() for _ in range(2 + int(draw.integers(2)))]
        queries.append(join([single.queries[part] for part in parts], draw))
        golds.append(frozenset().union(*(single.golds[part] for part in parts)))
    return RetrievalSet("joined", single.documents, tuple(queries), tuple(golds))


def _canonical(tool: Tool) -> tuple[str, str]:
    """Some servers publish one operation under two names; no wording separates them, so either is right."""
    name = tool.name
    if "memcached" in tool.server:
        name = name.replace("_multi", "_many")
    elif "wikipedia" in tool.server:
        name = name.removeprefix("wikipedia_")
    elif "airflow" in tool.server and name == "get_dag_tasks":
        name = "get_tasks"
    return tool.server, name
