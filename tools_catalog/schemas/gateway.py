"""The OpenAPI description of the gateway."""

from typing import Any

from drf_spectacular.utils import OpenApiParameter

from core.openapi import Schema, array, nullable, record, responses
from tools_catalog.serializers.gateway import CallInput, PageInput, ToolListInput
from tools_catalog.types import ITEM_TYPES

TEXT: Schema = {"type": "string"}
COUNT: Schema = {"type": "integer", "minimum": 0}

SERVER = record(
    {
        "name": TEXT,
        "title": TEXT,
        "description": TEXT,
        "transport": {"type": ["string", "null"], "enum": ["stdio", "http", "sse", None]},
        "callable": {"type": "boolean"},
        "stale": {"type": "boolean"},
        "synced_at": nullable("string"),
        "tools": COUNT,
        "prompts": COUNT,
        "resources": COUNT,
    }
)
TOOL = record(
    {
        "id": TEXT,
        "type": {"type": "string", "enum": list(ITEM_TYPES)},
        "server": TEXT,
        "name": TEXT,
        "description": TEXT,
        "uri": nullable("string"),
        "callable": {"type": "boolean"},
    },
    {
        "input_schema": nullable("object"),
        "output_schema": nullable("object"),
        "annotations": nullable("object"),
    },
)
ANSWER = record(
    {"content": array({"type": "object"}), "isError": {"type": "boolean"}},
    {"structuredContent": {}, "_meta": {"type": "object"}},
)
CONFIRM = OpenApiParameter(
    "X-Toolscript-Confirm",
    {"type": "string", "enum": ["true", "false"]},
    OpenApiParameter.HEADER,
    description="The same as `confirm`.",
)

SERVERS: dict[str, Any] = {
    "operation_id": "list_servers",
    "summary": "The servers whose tools are served",
    "tags": ["gateway"],
    "parameters": [PageInput],
    "responses": responses(array(SERVER), 422, 503),
}
TOOLS: dict[str, Any] = {
    "operation_id": "list_tools",
    "summary": "The tools that can be searched and called",
    "tags": ["gateway"],
    "parameters": [ToolListInput],
    "responses": responses(array(TOOL), 422, 503),
}
CALL: dict[str, Any] = {
    "operation_id": "call_tool",
    "summary": "Call a tool on its server",
    "tags": ["gateway"],
    "parameters": [CallInput, CONFIRM],
    "request": {"application/json": {"type": "object"}},
    "responses": responses(ANSWER, 400, 404, 409, 413, 415, 422, 502, 503, 504),
}
