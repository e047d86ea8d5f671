from typing import Any

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from orjson import Fragment
from rest_framework.request import Request

from core.api import ApiView, json_body, json_response, validated
from core.errors import NotReady
from search import schemas
from search.ranking import contributions
from search.serializers import GatewaySearchInput, SearchInput, SkillSearchInput, ToolSearchInput
from search.services import gateway_search, readiness, search_skills, search_tools, search_tools_in
from search.services.gateway import GatewayHit, GatewayResult
from search.types import Part, SearchRequest, SearchResult
from skills.types import SkillHit
from tenants.types import caller_of
from tools_catalog.selectors import live_space
from tools_catalog.types import ToolHit, ToolSchemas

TIMINGS = {
    "query_embedding_time_ms": "embedding",
    "skill_search_time_ms": "skills",
    "tool_search_time_ms": "tools",
    "schema_load_time_ms": "schemas",
    "total_time_ms": "total",
}


class SearchView(ApiView):
    only_reads = True

    @extend_schema(**schemas.SEARCH)
    def post(self, request: Request) -> HttpResponse:
        values = validated(SearchInput, json_body(request))
        result = search_tools(SearchRequest(**values, tenant_id=caller_of(request).tenant_id))
        return json_response(search_body(result))


class SkillSearchView(ApiView):
    @extend_schema(**schemas.SEARCH_SKILLS)
    def get(self, request: Request) -> HttpResponse:
        values = validated(SkillSearchInput, request.query_params.dict())
        hits, degraded = search_skills(
            values["query"],
            limit=values["limit"],
            threshold=values["threshold"],
            tenant_id=caller_of(request).tenant_id,
        )
        return json_response([skill_body(hit) for hit in hits], headers=_degraded(degraded))


class ToolSearchView(ApiView):
    @extend_schema(**schemas.SEARCH_TOOLS)
    def get(self, request: Request) -> HttpResponse:
        values = validated(ToolSearchInput, request.query_params.dict())
        search = SearchRequest(
            query=values["query"],
            item_type=values["item_type"],
            limit=values["limit"],
            tool_threshold=values["threshold"],
            tenant_id=caller_of(request).tenant_id,
        )
        hits, degraded = search_tools_in(search, values["skill_ids"])
        return json_response([tool_body(hit) for hit in hits], headers=_degraded(degraded))


class GatewaySearchView(ApiView):
    """The gateway's search for tools. (`POST /search` is another: documents.)"""

    @extend_schema(**schemas.GATEWAY_SEARCH)
    def get(self, request: Request) -> HttpResponse:
        values = validated(GatewaySearchInput, request.query_params.dict())
        result = gateway_search(
            values["q"],
            limit=values["limit"],
            threshold=values["threshold"],
            alpha=values["alpha"],
            item_type=values["item_type"],
            tenant_id=caller_of(request).tenant_id,
        )
        return json_response(gateway_body(result, explain=values["explain"]))


def gateway_body(result: GatewayResult, *, explain: bool = False) -> dict[str, Any]:
    return {
        "query": result.query,
        "results": [gateway_hit_body(hit, explain) for hit in result.hits],
        "totalResults": len(result.hits),
        "threshold": result.threshold,
        "degraded": result.degraded is not None,
    }


def gateway_hit_body(hit: GatewayHit, explain: bool) -> dict[str, Any]:
    tool, evidence = hit.tool, hit.evidence
    body = {
        "toolId": f"{tool.server}__{tool.name}",
        "serverName": tool.server,
        "toolName": tool.name,
        "confidence": hit.confidence,
        "reason": hit.reason,
        "description": tool.description,
    }
    if explain:
        sides = {"semantic": round(evidence.semantic, 4), "fuzzy": round(evidence.match, 4)}
        body["explain"] = {**sides, **explain_body(hit.parts)}
    return body


def explain_body(parts: list[Part]) -> dict[str, Any]:
    """Each part's own value, and how much of the score it accounts for."""
    shares = contributions(parts)
    return {
        "parts": [
            {"part": part.name, "value": round(part.value, 4), "contribution": round(shares[part.name], 4)}
            for part in parts
        ]
    }


def search_body(result: SearchResult) -> dict[str, Any]:
    found = result.found
    return {
        "query": result.request.query,
        "tools": [found_body(hit, result) for hit in found.tools],
        "matched_skills": [skill_body(hit) for hit in found.skills],
        "metadata": {
            "strategy_used": found.strategy_used,
            "skill_ids_used": found.skill_ids_used,
            "stage1_skill_count": len(found.skills),
            "stage2_candidate_count": found.candidate_count,
            "final_count": len(found.tools),
            **{name: round(result.timings_ms.get(stage, 0.0), 3) for name, stage in TIMINGS.items()},
            "fallback": found.fallback,
            "degraded": result.degraded,
        },
    }


def found_body(hit: ToolHit, result: SearchResult) -> dict[str, Any]:
    body = {**tool_body(hit), **schema_body(result.schemas.get(hit.id))}
    if result.request.explain:
        parts = result.found.parts.get(hit.id, [Part("semantic", hit.score, hit.score)])
        body["explain"] = explain_body(parts)
    return body


def tool_body(hit: ToolHit) -> dict[str, Any]:
    return {
        "id": str(hit.id),
        "db_id": hit.id,
        "type": hit.type,
        "name": hit.name,
        "server": hit.server,
        "description": hit.description,
        "score": hit.score,
        "skill_ids": hit.skill_ids,
        "primary_skill_id": hit.primary_skill_id,
    }


def schema_body(schemas: ToolSchemas | None) -> dict[str, Any]:
    if schemas is None:
        return {"input_schema": None, "output_schema": None, "annotations": None}
    return {
        "input_schema": _fragment(schemas.input_schema),
        "output_schema": _fragment(schemas.output_schema),
        "annotations": _fragment(schemas.annotations),
    }


def skill_body(hit: SkillHit) -> dict[str, Any]:
    return {
        "id": hit.id,
        "name": hit.name,
        "description": hit.description,
        "score": hit.score,
        "tool_count": hit.tool_count,
    }


def _fragment(text: str | None) -> Fragment | None:
    return None if text is None else Fragment(text)


def _degraded(stage: str | None) -> dict[str, str] | None:
    return {"X-Toolscript-Degraded": stage} if stage else None


class ReadyView(ApiView):
    """Whether a search would be answered: the database, the index and the embedding model are asked."""

    authentication_classes = []

    @extend_schema(**schemas.READY)
    def get(self, request: Request) -> HttpResponse:
        checks = readiness()
        if set(checks.values()) != {"ok"}:
            raise NotReady("Not ready to search.", {"checks": checks})
        space = live_space()
        return json_response({"status": "ok", "checks": checks, "model": space.model if space else None})
