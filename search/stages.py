"""The stages every strategy is made of. Each is timed, and none outlasts its own limit or the request's."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import structlog
from django.conf import settings

from core.errors import EmbeddingFailed, NotReady, QueryFailed, QueryTimeout
from embeddings.types import Vectors
from search.lexical import query as lexical
from search.lexical.query import Keywords
from search.lexical.store import store
from search.query_vectors import embed
from search.selectors import candidates, typical_tools
from search.types import SearchRequest, SearchRun
from skills.selectors import skill_words, skills_nearest
from skills.types import SkillHit
from tools_catalog.selectors import tool_schemas, tools_nearest
from tools_catalog.services.spaces import embedder_for
from tools_catalog.types import ToolHit, ToolHits, ToolSchemas

log = structlog.get_logger("toolscript.search")
SHORTEST = 0.05
CLEARLY = 0.1
POOL = 100
"""How many tools each side puts forward: twice as many as can be asked for, so that the limit changes no order."""


@contextmanager
def timed(timings_ms: dict[str, float], stage: str) -> Iterator[None]:
    started = time.perf_counter()
    try:
        yield
    finally:
        timings_ms[stage] = (time.perf_counter() - started) * 1000


def time_for(stage: str, deadline: float) -> float:
    limit: float = settings.SEARCH_TIMEOUTS[stage]
    return max(SHORTEST, min(limit, deadline - time.monotonic()))


def match_skills(run: SearchRun) -> tuple[list[SkillHit], str | None]:
    """The matched skills, or none and the reason why the search must go on without them."""
    request = run.request
    try:
        with timed(run.timings_ms, "skills"):
            hits, available = skills_nearest(
                run.vector,
                space=run.space,
                tenant_id=request.tenant_id,
                threshold=request.skill_threshold,
                limit=request.skill_limit,
            )
    except QueryFailed as exc:
        reason = "skill_search_timeout" if isinstance(exc, QueryTimeout) else "skill_search_failed"
        log.warning("search.fallback", reason=reason, error=exc.message)
        return [], reason
    if hits:
        return hits, None
    reason = "no_skill_matched" if available else "no_skills"
    log.warning("search.fallback", reason=reason, message="No skills matched, falling back to unfiltered search")
    return [], reason


def respelled(run: SearchRun, keywords: Keywords | None) -> SearchRun:
    """The run, with the vector of the query as it was probably meant, where that fits the skills clearly better.

    A word that no tool has may be a typing error or any other word: the model cannot read the one, and knows the other.
    """
    try:
        knows = embedder_for(run.space).knows
        text = keywords.respelled(run.request.query, knows) if keywords else run.request.query
        if text == run.request.query:
            return run
        with timed(run.timings_ms, "respelling"):
            vector = embed(run.space, text, time_for("embedding", run.deadline))
            better = _nearness(run, vector) >= _nearness(run, run.vector) + CLEARLY
    except (EmbeddingFailed, QueryFailed) as exc:
        log.warning("search.respelling_failed", error=exc.message)
        return run
    return replace(run, vector=vector) if better else run


def _nearness(run: SearchRun, vector: Vectors) -> float:
    """How near the best skill is; without skills nothing can be told."""
    hits, _ = skills_nearest(vector, space=run.space, tenant_id=run.request.tenant_id, threshold=0, limit=1)
    return hits[0].score if hits else 0.0


def find_tools(run: SearchRun, skill_ids: list[str] | None) -> tuple[ToolHits, str | None]:
    """The tools, or none and the name of the stage that failed."""
    request = run.request
    try:
        with timed(run.timings_ms, "tools"):
            return tools_nearest(
                run.vector,
                space=run.space,
                tenant_id=request.tenant_id,
                skill_ids=skill_ids,
                item_type=request.item_type,
                threshold=request.tool_threshold,
                limit=request.limit,
                timeout=time_for("tools", run.deadline),
            ), None
    except QueryFailed as exc:
        log.error("search.degraded", stage="tool_search", error=exc.message)
        return ToolHits([], 0), "tool_search"


def find_keywords(
    request: SearchRequest, deadline: float, timings_ms: dict[str, float], *, alone: bool = False
) -> Keywords | None:
    """What the keyword side says; nothing when its index cannot be had in time. Alone, it has all the time there is."""
    try:
        with timed(timings_ms, "lexical"):
            index = store.get(time_for("request" if alone else "lexical", deadline))
            return lexical.search(
                index, request.query, tenant_id=request.tenant_id, item_type=request.item_type, limit=POOL
            )
    except NotReady as exc:
        log.error("search.degraded", stage="lexical", error=exc.message)
        return None


def find_typical(run: SearchRun, skill_ids: list[str]) -> dict[str, dict[int, float]]:
    """For each of these skills, the tools that are most like its own words: 1 for the best, less for the others."""
    request = run.request
    described = skill_words(run.space, request.tenant_id)
    wanted = [skill_id for skill_id in skill_ids if skill_id in described]
    if not wanted:
        return {}
    try:
        with timed(run.timings_ms, "typical"):
            found = typical_tools(
                {s: embed(run.space, described[s], time_for("embedding", run.deadline)) for s in wanted},
                space=run.space,
                tenant_id=request.tenant_id,
                item_type=request.item_type,
                timeout=time_for("tools", run.deadline),
            )
    except (EmbeddingFailed, QueryFailed) as exc:
        log.warning("search.capabilities_failed", error=exc.message)
        return {}
    return {skill_id: _shares(fits) for skill_id, fits in found.items()}


def _shares(fits: dict[int, float]) -> dict[int, float]:
    best = max(fits.values())
    return {tool_id: fit / best for tool_id, fit in fits.items() if fit > 0}


def find_candidates(run: SearchRun, tool_ids: list[int]) -> tuple[list[tuple[ToolHit, float | None]], int, str | None]:
    """The nearest tools and these, with their similarities; how many pass by similarity alone; what failed."""
    request = run.request
    try:
        with timed(run.timings_ms, "tools"):
            found, passed = candidates(
                run.vector,
                space=run.space,
                tenant_id=request.tenant_id,
                item_type=request.item_type,
                tool_ids=tool_ids,
                threshold=request.tool_threshold,
                limit=POOL,
                timeout=time_for("tools", run.deadline),
            )
            return found, passed, None
    except QueryFailed as exc:
        log.error("search.degraded", stage="tool_search", error=exc.message)
        return [], 0, "tool_search"


def load_schemas(tool_ids: list[int], deadline: float) -> tuple[dict[int, ToolSchemas], str | None]:
    """Never fails: a tool without its schema is better than no tool."""
    try:
        return tool_schemas(tool_ids, timeout=time_for("schemas", deadline)), None
    except QueryFailed as exc:
        log.error("search.degraded", stage="schema_load", error=exc.message)
        return {}, "schema_load"
