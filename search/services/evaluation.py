"""How well searches find: a set of tools and queries with known answers, run through the strategies that serve."""

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from core.errors import ValidationFailed
from search.lexical.store import store
from search.services.filing import file_by_nearest
from search.services.gateway import gateway_search
from search.services.scratch import scratch_database
from search.services.searching import search_tools
from search.types import STRATEGY_NAMES, SearchRequest
from skills.services.starter import starter_skills_create
from tools_catalog.models import Tool
from tools_catalog.services.catalog import server_upsert
from tools_catalog.services.reindex import index_refresh
from tools_catalog.types import ServerSpec, ToolSpec

EVALUATED = (*STRATEGY_NAMES, "gateway")
METRICS = ("recall@1", "recall@5", "ndcg@10", "mrr@10")
DEEPEST = 10
LONGEST_QUERY = 1000
NO_SERVER = "tools"
PATIENCE = 600.0
NUL = re.compile(rb"(?<!\\)((?:\\\\)*)\\u0000")
"""No text in the database can hold it."""

Progress = Callable[[str, int, int], None]
"""Called with what is done, how much of it, and of how much."""
Scores = dict[str, dict[str, float]]


@dataclass(frozen=True, slots=True)
class Question:
    query: str
    gold: frozenset[str]


@dataclass(frozen=True, slots=True)
class EvaluationSet:
    tools: list[dict[str, Any]]
    questions: list[Question]


def evaluate(folder: Path, strategies: Sequence[str], progress: Progress) -> Scores:
    """Metrics of each strategy, on an index of the set's tools alone. The user's catalogue is not touched."""
    given = read_set(folder)
    with scratch_database():
        ids = _fill(given.tools, progress)
        return {name: _run(name, given.questions, ids, progress) for name in strategies}


def read_set(folder: Path) -> EvaluationSet:
    tools = [tool for _, tool in _lines(folder / "tools.jsonl", ("id", "name"))]
    known = {str(tool["id"]) for tool in tools}
    if len(known) != len(tools):
        raise ValidationFailed(f"{folder / 'tools.jsonl'}: two tools have the same id.")
    questions = []
    for number, line in _lines(folder / "queries.jsonl", ("query", "gold")):
        if not isinstance(line["gold"], list):
            raise ValidationFailed(f"{folder / 'queries.jsonl'}: line {number}: gold is no list of ids.")
        gold = frozenset(str(tool_id) for tool_id in line["gold"])
        if not gold or not gold <= known:
            problem = f"no tool has the id {min(gold - known)!r}" if gold else "gold is empty"
            raise ValidationFailed(f"{folder / 'queries.jsonl'}: line {number}: {problem}.")
        questions.append(Question(str(line["query"]).strip()[:LONGEST_QUERY] or "?", gold))
    if not tools or not questions:
        raise ValidationFailed(f"{folder}: there are no tools, or no queries.")
    return EvaluationSet(tools, questions)


def _lines(path: Path, required: Iterable[str]) -> Iterable[tuple[int, dict[str, Any]]]:
    try:
        content = path.read_bytes()
    except OSError as exc:
        raise ValidationFailed(f"{path} cannot be read: {exc.strerror}.") from None
    for number, line in enumerate(content.splitlines(), 1):
        if not line.strip():
            continue
        try:
            entry = orjson.loads(NUL.sub(rb"\1 ", line))
        except orjson.JSONDecodeError as exc:
            raise ValidationFailed(f"{path}: line {number} is not JSON: {exc}.") from None
        if not isinstance(entry, dict) or any(entry.get(key) in (None, "") for key in required):
            raise ValidationFailed(f"{path}: line {number} needs {', '.join(required)}.")
        yield number, entry


def _fill(tools: list[dict[str, Any]], progress: Progress) -> dict[int, str]:
    """Puts the tools in as a sync would, files them under the starter skills, and indexes both. Set id by row id."""
    servers: dict[str, dict[str, tuple[str, ToolSpec]]] = {}
    for tool in tools:
        name = str(tool["name"])[:255]
        server = server_name(str(tool.get("server") or ""))
        while name in servers.get(server, {}):
            server += "-2"
        spec = ToolSpec("tool", name, str(tool.get("description") or ""), input_schema=tool.get("input_schema"))
        servers.setdefault(server, {})[name] = (str(tool["id"]), spec)
    ids: dict[tuple[str, str], str] = {}
    for done, (server, items) in enumerate(servers.items(), 1):
        server_upsert(ServerSpec(server, items=tuple(spec for _, spec in items.values())))
        ids.update(((server, name), set_id) for name, (set_id, _) in items.items())
        progress("servers", done, len(servers))
    starter_skills_create()
    index_refresh(progress=progress)
    file_by_nearest()
    index_refresh(progress=progress)
    store.get(PATIENCE)  # no query should have to do without
    return {pk: ids[server, name] for pk, server, name in Tool.objects.values_list("pk", "server__name", "name")}


def server_name(given: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", given).strip("-_.")[:120] or NO_SERVER


def _run(strategy: str, questions: list[Question], ids: dict[int, str], progress: Progress) -> dict[str, float]:
    totals = dict.fromkeys(METRICS, 0.0)
    for done, question in enumerate(questions, 1):
        found = [ids[tool_id] for tool_id in _search(strategy, question.query)]
        for metric, value in measures(found, question.gold).items():
            totals[metric] += value
        progress(strategy, done, len(questions))
    return {metric: round(total / len(questions), 4) for metric, total in totals.items()}


def _search(strategy: str, query: str) -> list[int]:
    if strategy == "gateway":
        return [hit.tool.id for hit in gateway_search(query, limit=DEEPEST, threshold=0).hits]
    request = SearchRequest(query, limit=DEEPEST, tool_threshold=0, include_schemas=False, strategy=strategy)
    return [tool.id for tool in search_tools(request).found.tools]


def measures(found: Sequence[str], gold: frozenset[str]) -> dict[str, float]:
    right = [tool_id in gold for tool_id in found[:DEEPEST]]
    ideal = sum(1 / math.log2(place + 2) for place in range(min(len(gold), DEEPEST)))
    return {
        "recall@1": sum(right[:1]) / len(gold),
        "recall@5": sum(right[:5]) / len(gold),
        "ndcg@10": sum(hit / math.log2(place + 2) for place, hit in enumerate(right)) / ideal,
        "mrr@10": next((1 / (place + 1) for place, hit in enumerate(right) if hit), 0.0),
    }
