"""`POST /search`: documents by meaning, by words or by both, inside what the filters leave."""

import time
import uuid
from typing import Any

import structlog
from django.conf import settings

from core import metrics, tracing
from core.errors import EmbeddingFailed, NotReady
from knowledge.rerankers import DEPTH, Candidate, reranker
from knowledge.selectors.documents import (
    Ranking,
    Shown,
    documents_by_words,
    documents_filtered,
    documents_nearest,
    documents_shown,
)
from knowledge.snippets import snippet
from knowledge.types import DocumentHit, DocumentRequest, DocumentResult, Ranked
from search.fusion import rrf, zscore
from search.services import embed
from tenants.plans import Plan
from tools_catalog.selectors import live_space, score_of

log = structlog.get_logger("toolscript.knowledge")


def documents_search(request: DocumentRequest, plan: Plan) -> DocumentResult:
    started = time.perf_counter()
    query_id = str(uuid.uuid4())
    with tracing.span("search.execute") as span:
        ranked, total, ran, degraded = _ranked(request)
        shown = documents_shown(ranked, timeout=_timeout())
        hits = [_hit(request, plan, r, shown[r.source_id]) for r in ranked if r.source_id in shown]
        took = (time.perf_counter() - started) * 1000
        result = DocumentResult(request, hits, total, ran, degraded, took, query_id)
        _observe(result, span)
    return result


def _ranked(request: DocumentRequest) -> tuple[list[Ranked], int, str, str | None]:
    """The page that was asked for, the total, what ran, and what failed on the way."""
    start, end = request.offset, request.offset + request.top_k
    if not request.query:
        page, total = documents_filtered(request, limit=request.top_k, offset=start, timeout=_timeout())
        return page, total, "filter", None
    first, last = (0, max(end, DEPTH)) if request.rerank else (start, end)
    if request.search_type == "keyword":
        (ranked, total), ran, degraded = _by_words(request, first, last), "keyword", None
    elif request.search_type == "semantic":
        (ranked, total), ran, degraded = _nearest(request, first, last), "semantic", None
    else:
        ranked, total, ran, degraded = _hybrid(request)
        ranked = ranked[first:last]
    if request.rerank:
        ranked = _reranked(request, ranked)[start:end]
    return ranked, total, ran, degraded


def _by_words(request: DocumentRequest, first: int, last: int | None) -> Ranking:
    limit = None if last is None else last - first
    return documents_by_words(request, limit=limit, offset=first, timeout=_timeout())


def _nearest(request: DocumentRequest, first: int, last: int | None) -> Ranking:
    space = live_space()
    if space is None:
        raise NotReady("The search index is being built. Try again shortly.")
    vector = embed(space, request.query, settings.SEARCH_TIMEOUTS["embedding"])
    limit = None if last is None else last - first
    return documents_nearest(vector, request, space=space, limit=limit, offset=first, timeout=_timeout())


def _hybrid(request: DocumentRequest) -> tuple[list[Ranked], int, str, str | None]:
    """Both rankings whole, so that every page is cut from the same list."""
    words, total = _by_words(request, 0, None)
    try:
        nearest, _ = _nearest(request, 0, None)
    except EmbeddingFailed as exc:
        log.error("knowledge.degraded", stage="embedding", error=exc.message)
        return words, total, "keyword", "embedding"
    by_words, by_meaning = ({r.source_id: r for r in ranking} for ranking in (words, nearest))
    if request.fusion == "zscore":
        scores = zscore(*({i: r.score for i, r in found.items()} for found in (by_words, by_meaning)))
    else:
        scores = rrf(list(by_words), list(by_meaning))
    # The passage that holds the words is the one to show: it is the match that a reader sees.
    passages = {**by_meaning, **by_words}
    order = sorted(scores, key=lambda source_id: (-scores[source_id], source_id))
    return [Ranked(i, passages[i].chunk_id, scores[i]) for i in order], len(order), "hybrid", None


def _reranked(request: DocumentRequest, ranked: list[Ranked]) -> list[Ranked]:
    """The first ones in a new order; those behind them stay behind them."""
    head, tail = ranked[:DEPTH], ranked[DEPTH:]
    shown = documents_shown(head, timeout=_timeout())
    head = [r for r in head if r.source_id in shown]
    candidates = [Candidate(shown[r.source_id].content, r.score) for r in head]
    scores = reranker(str(request.rerank))(request.query, candidates)
    again = [Ranked(r.source_id, r.chunk_id, score) for r, score in zip(head, scores, strict=True)]
    again.sort(key=lambda r: (-r.score, r.source_id))
    lowest = again[-1].score if again else 1.0
    return again + [Ranked(r.source_id, r.chunk_id, min(r.score, lowest)) for r in tail]


def _hit(request: DocumentRequest, plan: Plan, ranked: Ranked, shown: Shown) -> DocumentHit:
    text = snippet(shown.content, request.query, request.snippet_max_chars) if request.include_snippets else None
    return DocumentHit(ranked.source_id, score_of(ranked.score), _metadata(request, plan, shown), text)


def _metadata(request: DocumentRequest, plan: Plan, shown: Shown) -> dict[str, Any]:
    """The fields that were asked for, null where the document has none; else all that the plan shows."""
    if request.metadata_fields is None:
        return {name: value for name, value in shown.facets.items() if plan.may_use(name)}
    values = {**shown.facets, **shown.place}
    return {name: values.get(name) for name in request.metadata_fields}


def _timeout() -> float:
    return float(settings.SEARCH_TIMEOUTS["tools"])


def _observe(result: DocumentResult, span: object) -> None:
    metrics.observe_knowledge("search", result.search_type, result.degraded, result.took_ms)
    facts: dict[str, str | int | float | bool] = {
        "query_id": result.query_id,
        "search_type": result.search_type,
        "result_count": len(result.hits),
        "total": result.total,
        "latency_ms": round(result.took_ms, 2),
        "degraded": result.degraded or "",
    }
    tracing.annotate(span, facts)
    log.info("documents.searched", query=result.request.query, **facts)
