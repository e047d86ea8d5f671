"""The one way to search. REST, and whatever comes after it, joins here."""

import time

import structlog
from django.conf import settings

from core import metrics, tracing
from core.errors import EmbeddingFailed, NotReady, QueryFailed, ToolscriptError
from embeddings.queries import embed_query
from search.lexical.store import store
from search.query_vectors import embed
from search.stages import find_tools, load_schemas, time_for, timed
from search.strategies import strategy
from search.types import SearchRequest, SearchResult, SearchRun, StrategyResult
from skills.selectors import skill_ids_resolved, skill_matrix, skills_nearest
from skills.types import SkillHit
from tools_catalog.selectors import live_space
from tools_catalog.services.spaces import embedder_for
from tools_catalog.types import ToolHit, ToolSchemas

log = structlog.get_logger("toolscript.search")


def search_tools(request: SearchRequest) -> SearchResult:
    started = time.perf_counter()
    timings: dict[str, float] = {}
    with tracing.span("search.execute") as span:
        run, problem = _prepare(request, timings)
        found = strategy(request.strategy)(run) if run else _nothing(request)
        schemas: dict[int, ToolSchemas] = {}
        schema_problem = None
        if run and request.include_schemas and found.tools:
            with timed(timings, "schemas"):
                schemas, schema_problem = load_schemas([tool.id for tool in found.tools], run.deadline)
        timings["total"] = (time.perf_counter() - started) * 1000
        result = SearchResult(request, found, schemas, timings, problem or found.degraded or schema_problem)
        _observe(result, span)
    return result


def search_skills(
    query: str, *, limit: int, threshold: float, tenant_id: int | None = None
) -> tuple[list[SkillHit], str | None]:
    run, problem = _prepare(SearchRequest(query, tenant_id=tenant_id), {})
    if run is None:
        return [], problem
    hits, _ = skills_nearest(run.vector, space=run.space, tenant_id=tenant_id, threshold=threshold, limit=limit)
    return hits, None


def search_tools_in(request: SearchRequest, skill_ids: list[str] | None) -> tuple[list[ToolHit], str | None]:
    """Stage 2 alone, with the caller's own choice of skills."""
    run, problem = _prepare(request, {})
    if run is None:
        return [], problem
    found, degraded = find_tools(run, None if skill_ids is None else _current(skill_ids))
    return found.hits, degraded


def _current(skill_ids: list[str]) -> list[str]:
    """Ids of renamed and merged skills lead to what they are now. Where that cannot be read, they count as given."""
    try:
        return skill_ids_resolved(skill_ids)
    except QueryFailed as exc:
        log.warning("search.ids_not_resolved", error=exc.message)
        return skill_ids


def warm_up() -> None:
    """Loads what the first search needs. Whatever is not there yet is loaded by the search itself."""
    try:
        space = live_space()
        if space is not None:
            embed(space, "warm up", settings.SEARCH_TIMEOUTS["embedding"])
            skill_matrix(space)
        store.get(settings.SEARCH_TIMEOUTS["lexical"])
    except ToolscriptError as exc:
        log.warning("search.warm_up_failed", error=exc.message)


def _prepare(request: SearchRequest, timings: dict[str, float]) -> tuple[SearchRun | None, str | None]:
    """Embeds the query, once. Without a vector there is no run, and the problem says which stage failed."""
    deadline = time.monotonic() + settings.SEARCH_TIMEOUTS["request"]
    space = live_space()
    if space is None:
        raise NotReady("The search index is being built. Try again shortly.")
    try:
        with timed(timings, "embedding"):
            vector = embed(space, request.query, time_for("embedding", deadline))
    except EmbeddingFailed as exc:
        log.error("search.degraded", stage="embedding", error=exc.message)
        return None, "embedding"
    return SearchRun(request, space, vector, deadline, timings), None


def _nothing(request: SearchRequest) -> StrategyResult:
    return StrategyResult(request.strategy, [], None, [], 0)


def _observe(result: SearchResult, span: object) -> None:
    found = result.found
    metrics.observe_search(found.strategy_used, found.fallback, result.degraded, result.timings_ms)
    facts: dict[str, str | int | float | bool] = {
        "strategy": found.strategy_used,
        "fallback": found.fallback or "",
        "degraded": result.degraded or "",
        "skills": len(found.skills),
        "results": len(found.tools),
        "latency_ms": round(result.timings_ms["total"], 2),
    }
    tracing.annotate(span, facts)
    log.info("search.done", query=result.request.query, **facts)


def readiness() -> dict[str, str]:
    """Each thing a search needs, asked for real: `ok`, or what is wrong with it."""
    checks = {"database": "ok", "index": "ok", "model": "ok"}
    try:
        space = live_space()
    except ToolscriptError as exc:
        return {"database": exc.message, "index": "unknown", "model": "unknown"}
    if space is None:
        return {**checks, "index": "The search index is being built.", "model": "unknown"}
    try:
        skill_matrix(space)
    except ToolscriptError as exc:
        checks["index"] = exc.message
    try:
        # Past the cache: the question is whether the model answers now.
        embed_query(embedder_for(space), "ready", settings.SEARCH_TIMEOUTS["embedding"])
    except ToolscriptError as exc:
        checks["model"] = exc.message
    return checks
