"""`search_knowledge`: passages and extractions, merged by score. REST and MCP join here."""

import time

import structlog
from django.conf import settings

from core import metrics, tracing
from core.errors import EmbeddingFailed, NotReady
from knowledge.selectors.passages import knowledge_by_words, knowledge_nearest
from knowledge.types import KnowledgeHit, KnowledgeRequest, KnowledgeResult
from search.services import embed
from tools_catalog.selectors import live_space

log = structlog.get_logger("toolscript.knowledge")


def knowledge_search(request: KnowledgeRequest) -> KnowledgeResult:
    """Semantic; by words alone while the model does not answer, and the result says so."""
    started = time.perf_counter()
    with tracing.span("search.execute") as span:
        hits, degraded = _find(request)
        result = KnowledgeResult(
            request, hits, "keyword" if degraded else "semantic", degraded, (time.perf_counter() - started) * 1000
        )
        _observe(result, span)
    return result


def _find(request: KnowledgeRequest) -> tuple[list[KnowledgeHit], str | None]:
    space = live_space()
    if space is None:
        raise NotReady("The search index is being built. Try again shortly.")
    timeout = settings.SEARCH_TIMEOUTS["tools"]
    try:
        vector = embed(space, request.query, settings.SEARCH_TIMEOUTS["embedding"])
    except EmbeddingFailed as exc:
        log.error("knowledge.degraded", stage="embedding", error=exc.message)
        return knowledge_by_words(request, timeout=timeout), "embedding"
    return knowledge_nearest(vector, request, space=space, timeout=timeout), None


def _observe(result: KnowledgeResult, span: object) -> None:
    metrics.observe_knowledge("search_knowledge", result.search_type, result.degraded, result.took_ms)
    facts: dict[str, str | int | float | bool] = {
        "search_type": result.search_type,
        "result_count": len(result.hits),
        "latency_ms": round(result.took_ms, 2),
        "degraded": result.degraded or "",
    }
    tracing.annotate(span, facts)
    log.info("knowledge.searched", query=result.request.query, **facts)
