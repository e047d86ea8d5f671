from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from core.api import ApiView, json_response, validated
from core.errors import ValidationFailed
from tenants.types import caller_of
from tools_catalog import schemas
from tools_catalog.models import Server, Tool
from tools_catalog.selectors import servers_visible, tools_listed
from tools_catalog.serializers import CallInput, PageInput, ToolListInput

CONFIRM_HEADER = "X-Toolscript-Confirm"


class ServerListView(ApiView):
    @extend_schema(**schemas.SERVERS)
    def get(self, request: Request) -> HttpResponse:
        values = validated(PageInput, request.query_params.dict())
        servers = servers_visible(caller_of(request).tenant_id)
        return page(servers, values, server_body)


class ToolListView(ApiView):
    @extend_schema(**schemas.TOOLS)
    def get(self, request: Request) -> HttpResponse:
        values = validated(ToolListInput, request.query_params.dict())
        tenant_id = caller_of(request).tenant_id
        tools = tools_listed(values["filter"], item_type=values["item_type"], tenant_id=tenant_id)
        if values["include_schemas"]:
            return page(tools, values, lambda tool: {**tool_body(tool), **schemas_body(tool)})
        return page(tools.defer("input_schema", "output_schema", "annotations"), values, tool_body)


class ToolCallView(ApiView):
    @extend_schema(**schemas.CALL)
    def post(self, request: Request, tool_id: str) -> HttpResponse:
        from tools_catalog.services.gateway import tool_call  # brings the SDK

        values = validated(CallInput, request.query_params.dict())
        arguments = {} if request.stream is None else request.data  # a tool without arguments needs no body
        confirmed = values["confirm"] or confirmed_by_header(request)
        answer = tool_call(tool_id, arguments, caller=caller_of(request), confirmed=confirmed, server=values["server"])
        return json_response(answer)


def confirmed_by_header(request: Request) -> bool:
    given = request.headers.get(CONFIRM_HEADER, "false").strip().lower()
    if given not in {"true", "false"}:
        raise ValidationFailed(
            f"{CONFIRM_HEADER} is either true or false.", {"fields": {CONFIRM_HEADER: ["Either true or false."]}}
        )
    return given == "true"


def page(rows: QuerySet[Any], values: dict[str, Any], body: Any) -> HttpResponse:
    """A plain array, and how many there are in all in a header."""
    start = values["offset"]
    found = [body(row) for row in rows[start : start + values["limit"]]]
    return json_response(found, headers={"X-Total-Count": str(rows.count())})


def server_body(server: Server) -> dict[str, Any]:
    """Nothing of how it is reached: that is for those who run it."""
    return {
        "name": server.name,
        "title": server.title,
        "description": server.description,
        "transport": server.transport or None,
        "callable": bool(server.transport),
        "stale": server.is_stale,
        "synced_at": server.synced_at.isoformat() if server.synced_at else None,
        "tools": server.tool_count,  # type: ignore[attr-defined]
        "prompts": server.prompt_count,  # type: ignore[attr-defined]
        "resources": server.resource_count,  # type: ignore[attr-defined]
    }


def tool_body(tool: Tool) -> dict[str, Any]:
    return {
        "id": f"{tool.server.name}__{tool.name}",
        "type": tool.type,
        "server": tool.server.name,
        "name": tool.name,
        "description": tool.description,
        "uri": tool.uri or None,
        "callable": bool(tool.server.transport),
    }


def schemas_body(tool: Tool) -> dict[str, Any]:
    return {
        "input_schema": tool.input_schema,
        "output_schema": tool.output_schema,
        "annotations": tool.annotations,
    }
