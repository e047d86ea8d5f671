"""The gateway's search: a few tools with a confidence and a reason in words, for people and agents at a terminal."""

import time
from dataclasses import dataclass, field, replace

import structlog
from django.conf import settings

from core import metrics
from core.errors import EmbeddingFailed, NotReady
from search.lexical.query import Keywords
from search.query_vectors import embed
from search.ranking import Evidence, best_skill, capped, gateway_parts, name_strength, score_of
from search.reasons import reason
from search.selectors import tools_by_id
from search.stages import find_candidates, find_keywords, find_typical, match_skills, respelled, time_for, timed
from search.types import Part, SearchRequest, SearchRun
from skills.selectors import capabilities, skill_names
from skills.types import SkillHit
from tools_catalog.selectors import live_space
from tools_catalog.selectors import score_of as rounded
from tools_catalog.types import ToolHit

log = structlog.get_logger("toolscript.search")


@dataclass(frozen=True, slots=True)
class GatewayHit:
    tool: ToolHit
    confidence: float
    reason: str
    evidence: Evidence
    parts: list[Part]


@dataclass(frozen=True, slots=True)
class GatewayResult:
    query: str
    hits: list[GatewayHit]
    threshold: float
    alpha: float
    degraded: str | None
    """The side that is missing: `embedding` (keywords alone) or `lexical` (meaning alone)."""


def gateway_search(
    query: str,
    *,
    limit: int | None = None,
    threshold: float | None = None,
    alpha: float | None = None,
    item_type: str | None = "tool",
    tenant_id: int | None = None,
) -> GatewayResult:
    """`alpha * semantic + (1 - alpha) * fuzzy`, raised by the name, the skills and their capabilities.

    What is not given comes from the settings. Without a model, keywords alone; without either, NotReady.
    """
    started = time.perf_counter()
    threshold = settings.SEARCH_THRESHOLD if threshold is None else threshold
    alpha = settings.SEARCH_ALPHA if alpha is None else alpha
    request = SearchRequest(query, item_type=item_type, tenant_id=tenant_id, tool_threshold=0)
    timings: dict[str, float] = {}
    names: dict[str, str] = {}
    run, degraded = _prepare(request, timings)
    if run is None:
        hits = _by_keywords(request, timings)
        alpha = 0.0
    else:
        hits, names, problem = _by_both(run, alpha)
        degraded = degraded or problem
    ranked = [
        replace(hit, reason=reason(hit.evidence, hit.parts, alpha, hit.tool, names))
        for hit in sorted(hits, key=lambda h: (-h.confidence, -score_of(h.parts), h.tool.id))
        if hit.confidence >= threshold
    ]
    timings["total"] = (time.perf_counter() - started) * 1000
    best = ranked[: settings.SEARCH_LIMIT if limit is None else limit]
    metrics.observe_search("gateway", None, degraded, timings)
    log.info("search.done", query=query, strategy="gateway", degraded=degraded or "", results=len(best))
    return GatewayResult(query, best, threshold, alpha, degraded)


def _prepare(request: SearchRequest, timings: dict[str, float]) -> tuple[SearchRun | None, str | None]:
    deadline = time.monotonic() + settings.SEARCH_TIMEOUTS["request"]
    space = live_space()
    try:
        if space is None:
            raise EmbeddingFailed("No embedding model has been at work yet.")
        with timed(timings, "embedding"):
            vector = embed(space, request.query, time_for("embedding", deadline))
    except EmbeddingFailed as exc:
        log.warning("search.degraded", stage="embedding", error=exc.message)
        return None, "embedding"
    return SearchRun(request, space, vector, deadline, timings), None


@dataclass(frozen=True, slots=True)
class _Side:
    """What is known about the query, to judge each tool by."""

    keywords: Keywords | None
    alpha: float
    matched: dict[str, float] = field(default_factory=dict)
    """Matched skills and their scores."""
    serving: dict[str, tuple[float, str]] = field(default_factory=dict)
    """Skills whose tools serve a matched one: how well, and which."""
    typical: dict[str, dict[int, float]] = field(default_factory=dict)
    """How much each of the best tools of a serving skill is what the skill says."""
    filed: dict[str, float] = field(default_factory=dict)
    """The best confidence among the tools that are filed under each matched skill."""


def _by_keywords(request: SearchRequest, timings: dict[str, float]) -> list[GatewayHit]:
    """The only side there is, so nothing stands in for it."""
    deadline = time.monotonic() + settings.SEARCH_TIMEOUTS["request"]
    keywords = find_keywords(request, deadline, timings, alone=True)
    if keywords is None or (keywords.searched == 0 and live_space() is None):
        raise NotReady("The search is not ready: its index is being built. Try again shortly.")
    tools = tools_by_id(keywords.best)
    return [_hit(tools[i], None, _Side(keywords, 0.0)) for i in keywords.best if i in tools]


def _by_both(run: SearchRun, alpha: float) -> tuple[list[GatewayHit], dict[str, str], str | None]:
    keywords = find_keywords(run.request, run.deadline, run.timings_ms)
    run = respelled(run, keywords)
    skills, _ = match_skills(run)
    matched = {skill.id: skill.score for skill in skills}
    serving = _serving(skills, run.request.tenant_id)
    typical = find_typical(run, list(serving))
    side = _Side(keywords, alpha if keywords else 1.0, matched, serving, typical)
    able = {tool_id for shares in typical.values() for tool_id in shares}
    found, _, problem = find_candidates(run, [*(keywords.best if keywords else []), *able])
    if problem is not None:
        raise NotReady("The search is not ready: the database did not answer in time. Try again shortly.")
    needs = {need for _, need in side.serving.values()}
    for tool, similarity in found:
        if needs.intersection(tool.skill_ids):
            _note_filed(tool, _hit(tool, similarity, replace(side, typical={})).confidence, side)
    hits = [_hit(tool, similarity, side) for tool, similarity in found]
    return hits, skill_names(run.space, run.request.tenant_id), None if keywords else "lexical"


def _serving(skills: list[SkillHit], tenant_id: int | None) -> dict[str, tuple[float, str]]:
    relations = capabilities(tenant_id)
    serving: dict[str, tuple[float, str]] = {}
    for skill in skills:
        for provider, weight in relations.get(skill.id, ()):
            serving[provider] = max(serving.get(provider, (0.0, "")), (weight * skill.score, skill.id))
    return serving


def _hit(tool: ToolHit, similarity: float | None, side: _Side) -> GatewayHit:
    skill, skill_id = best_skill(tool.skill_ids, side.matched)
    capability, need, provider = _capability(tool, side)
    keywords = side.keywords
    evidence = Evidence(
        semantic=max(0.0, similarity or 0.0),
        lexical=keywords.evidence(tool.id) if keywords else 0.0,
        match=keywords.match(tool.id) if keywords else 0.0,
        name=name_strength(keywords, tool.id),
        skill=skill,
        skill_id=skill_id,
        capability=capability,
        provider_id=provider,
        need_id=need,
    )
    parts = gateway_parts(evidence, side.alpha)
    if need is not None and need in side.filed and capability:
        parts = capped(parts, "capability", side.filed[need])
    return GatewayHit(tool, rounded(score_of(parts)), "", evidence, parts)


def _note_filed(tool: ToolHit, confidence: float, side: _Side) -> None:
    for skill_id in tool.skill_ids:
        if skill_id in side.matched:
            side.filed[skill_id] = max(side.filed.get(skill_id, 0.0), confidence)


def _capability(tool: ToolHit, side: _Side) -> tuple[float, str | None, str | None]:
    """How well the tool serves a need of the query through one of its skills; not for a need it is filed under.

    Of the tools of the serving skill, the one that is most like the skill's own words counts in full: a shell, more
    than a list of processes. How near it is to the query counts already.
    """
    able = [
        (weight * side.typical[skill][tool.id], need, skill)
        for skill in tool.skill_ids
        if tool.id in side.typical.get(skill, ())
        for weight, need in [side.serving[skill]]
        if need not in tool.skill_ids
    ]
    return max(able) if able else (0.0, None, None)
