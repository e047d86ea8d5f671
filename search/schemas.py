"""The OpenAPI description of the search endpoints: written by hand, because answers have no serializers."""

from typing import Any

from core.openapi import Schema, array, nullable, record, responses
from search.serializers import GatewaySearchInput, SearchInput, SkillSearchInput, ToolSearchInput
from search.types import STRATEGY_NAMES
from tools_catalog.types import ITEM_TYPES

TEXT: Schema = {"type": "string"}
COUNT: Schema = {"type": "integer", "minimum": 0}
SCORE: Schema = {"type": "number", "minimum": 0, "maximum": 1}
MILLISECONDS: Schema = {"type": "number", "minimum": 0}

SKILL = record({"id": TEXT, "name": TEXT, "description": TEXT, "score": SCORE, "tool_count": COUNT})
TOOL_FIELDS: dict[str, Schema] = {
    "id": TEXT,
    "db_id": {"type": "integer"},
    "type": {"type": "string", "enum": list(ITEM_TYPES)},
    "name": TEXT,
    "server": TEXT,
    "description": TEXT,
    "score": SCORE,
    "skill_ids": array(TEXT),
    "primary_skill_id": nullable("string"),
}
TOOL = record(TOOL_FIELDS)
PARTS = array(record({"part": TEXT, "value": SCORE, "contribution": SCORE}))
TOOL_WITH_SCHEMAS = record(
    {
        **TOOL_FIELDS,
        "input_schema": nullable("object"),
        "output_schema": nullable("object"),
        "annotations": nullable("object"),
    },
    {"explain": record({"parts": PARTS})},
)
GATEWAY_HIT = record(
    {
        "toolId": TEXT,
        "serverName": TEXT,
        "toolName": TEXT,
        "confidence": SCORE,
        "reason": TEXT,
        "description": TEXT,
    },
    {"explain": record({"semantic": SCORE, "fuzzy": SCORE, "parts": PARTS})},
)
GATEWAY_RESULT = record(
    {
        "query": TEXT,
        "results": array(GATEWAY_HIT),
        "totalResults": COUNT,
        "threshold": SCORE,
        "degraded": {"type": "boolean"},
    }
)
METADATA = record(
    {
        "strategy_used": {"type": "string", "enum": list(STRATEGY_NAMES)},
        "skill_ids_used": {"type": ["array", "null"], "items": TEXT},
        "stage1_skill_count": COUNT,
        "stage2_candidate_count": COUNT,
        "final_count": COUNT,
        "query_embedding_time_ms": MILLISECONDS,
        "skill_search_time_ms": MILLISECONDS,
        "tool_search_time_ms": MILLISECONDS,
        "schema_load_time_ms": MILLISECONDS,
        "total_time_ms": MILLISECONDS,
        "fallback": nullable("string"),
        "degraded": nullable("string"),
    }
)
RESULT = record(
    {"query": TEXT, "tools": array(TOOL_WITH_SCHEMAS), "matched_skills": array(SKILL), "metadata": METADATA}
)

SEARCH: dict[str, Any] = {
    "operation_id": "search",
    "summary": "Search: skills first, then tools, then schemas",
    "tags": ["search"],
    "request": SearchInput,
    "responses": responses(RESULT, 400, 413, 415, 422, 503),
}
SEARCH_SKILLS: dict[str, Any] = {
    "operation_id": "search_skills",
    "summary": "Search skills only (stage 1)",
    "tags": ["search"],
    "parameters": [SkillSearchInput],
    "responses": responses(array(SKILL), 422, 503),
}
SEARCH_TOOLS: dict[str, Any] = {
    "operation_id": "search_tools",
    "summary": "Search tools only (stage 2), with your own choice of skills",
    "tags": ["search"],
    "parameters": [ToolSearchInput],
    "responses": responses(array(TOOL), 422, 503),
}
GATEWAY_SEARCH: dict[str, Any] = {
    "operation_id": "gateway_search",
    "summary": "The gateway's search: a few tools, each with a confidence and a reason",
    "tags": ["gateway"],
    "parameters": [GatewaySearchInput],
    "responses": responses(GATEWAY_RESULT, 422, 503),
}
READY: dict[str, Any] = {
    "operation_id": "ready",
    "tags": ["operations"],
    "responses": responses(record({"status": {"type": "string", "enum": ["ok"]}, "checks": {"type": "object"}}), 503),
}
