"""Calls of tools, prompts and resources on their servers. REST and MCP come through here alike."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from django.conf import settings
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types import (
    HEADER_MISMATCH,
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    GetPromptRequest,
    GetPromptRequestParams,
    GetPromptResult,
    InputRequiredResult,
    ReadResourceRequest,
    ReadResourceRequestParams,
    ReadResourceResult,
)
from pydantic import BaseModel, TypeAdapter, ValidationError

from core import loop
from core.errors import Conflict, NotFound, UpstreamError
from tenants.types import Caller
from tools_catalog.arguments import arguments_check
from tools_catalog.models import Server, Tool, ToolCall
from tools_catalog.selectors import server_target, tool_by_id
from tools_catalog.services.calls import call_recorded
from tools_catalog.services.sync_requests import announced
from tools_catalog.sessions import Limits, Pool, drop_pool, shared_pool

ANSWERS: TypeAdapter[Any] = TypeAdapter(CallToolResult | InputRequiredResult)
PROMPTS: TypeAdapter[Any] = TypeAdapter(GetPromptResult | InputRequiredResult)
RESOURCES: TypeAdapter[Any] = TypeAdapter(ReadResourceResult | InputRequiredResult)
NOT_FOR_CALLERS = {"resultType", "ttlMs", "cacheScope"}
SERVER_STAMP = "io.modelcontextprotocol/serverInfo"


def tool_call(
    tool_id: str, arguments: Any, *, caller: Caller, confirmed: bool = False, server: str | None = None
) -> dict[str, Any]:
    """Calls `server__tool` and returns its answer as the protocol writes it: content, structuredContent, isError."""
    with call_recorded(tool_id, arguments, caller=caller) as call:
        tool = _found(tool_id, "tool", caller, server)
        call.belongs_to(tool)
        arguments_check(tool.input_schema, arguments, key=tool.content_hash)
        _refuse_unconfirmed(tool, confirmed=confirmed)
        params = CallToolRequestParams(name=tool.name, arguments=arguments)
        answer = _ask(tool.server, lambda client: _call_tool(client, params, settings.GATEWAY_TIMEOUT))
        failed = bool(answer.get("isError"))
        call.finish(ToolCall.Outcome.TOOL_ERROR if failed else ToolCall.Outcome.OK)
    return answer


def prompt_get(prompt_id: str, arguments: Any, *, caller: Caller, server: str | None = None) -> dict[str, Any]:
    """The messages of `server__prompt`, as the protocol writes them."""
    with call_recorded(prompt_id, arguments, caller=caller) as call:
        prompt = _found(prompt_id, "prompt", caller, server)
        call.belongs_to(prompt)
        arguments_check(prompt.input_schema, arguments, key=prompt.content_hash)
        request = GetPromptRequest(params=GetPromptRequestParams(name=prompt.name, arguments=arguments or None))
        answer = _ask(prompt.server, lambda client: _send(client, request, PROMPTS, settings.GATEWAY_TIMEOUT))
        call.finish(ToolCall.Outcome.OK)
    return answer


def resource_read(
    resource_id: str, *, caller: Caller, uri: str | None = None, server: str | None = None
) -> dict[str, Any]:
    """The contents of `server__resource`. A template needs the `uri` that was made from it."""
    with call_recorded(resource_id, {"uri": uri} if uri else {}, caller=caller) as call:
        resource = _found(resource_id, "resource", caller, server)
        call.belongs_to(resource)
        request = ReadResourceRequest(params=ReadResourceRequestParams(uri=_uri(resource, uri)))
        answer = _ask(resource.server, lambda client: _send(client, request, RESOURCES, settings.GATEWAY_TIMEOUT))
        call.finish(ToolCall.Outcome.OK)
    return answer


def _uri(resource: Tool, given: str | None) -> str:
    """Only what the catalogue serves can be read: the resource itself, or an instance of its template."""
    head, is_template, _ = resource.uri.partition("{")
    if not is_template:
        return resource.uri
    if not given or not given.startswith(head) or "{" in given:
        raise Conflict(f"{resource.name} is a template. Give a uri that was made from {resource.uri}.")
    return given


def _found(item_id: str, item_type: str, caller: Caller, server: str | None) -> Tool:
    found = tool_by_id(item_id, item_type=item_type, tenant_id=caller.tenant_id, server=server)
    if not found:
        raise NotFound(f"There is no {item_type} {item_id[:200]} to call. GET /tools lists what there is.")
    item = the_one(found, item_id)
    if not item.server.transport:
        raise Conflict(
            f"{item.server.name} is in the catalogue only: there is no connection to it, so nothing is called."
        )
    return item


def the_one(found: list[Tool], item_id: str) -> Tool:
    """An id that can be read in two ways is nobody's."""
    if len(found) > 1:
        names = sorted(f"{item.server.name} / {item.name}" for item in found)
        raise Conflict(
            f"{item_id} is the name of more than one {found[0].type}. Say which with `server`: {'; '.join(names)}.",
            {"candidates": names},
        )
    return found[0]


def _refuse_unconfirmed(tool: Tool, *, confirmed: bool) -> None:
    hints = tool.annotations if isinstance(tool.annotations, dict) else {}
    destructive = hints.get("destructiveHint") is True and hints.get("readOnlyHint") is not True
    if settings.CONFIRM_DESTRUCTIVE and destructive and not confirmed:
        raise Conflict(
            f"{tool.name} may destroy something, so it asks for a confirmation. To confirm, send the same again: in "
            "call_tool with confirm, over HTTP with ?confirm=true or with the header X-Toolscript-Confirm: true.",
            {"confirm": "X-Toolscript-Confirm: true"},
        )


async def _call_tool(client: Client, params: CallToolRequestParams, seconds: float) -> Any:
    """Not `client.call_tool`: that lists all tools first, to hold the answer against an output schema."""
    request = CallToolRequest(params=params)
    try:
        return await _send(client, request, ANSWERS, seconds)
    except MCPError as exc:
        if exc.code != HEADER_MISMATCH:
            raise
        await client.list_tools(cache_mode="refresh")  # the server wants arguments as headers, which its list names
        return await _send(client, request, ANSWERS, seconds)


async def _send(client: Client, request: Any, answers: TypeAdapter[Any], seconds: float) -> Any:
    return await client.session.send_request(request, answers, request_read_timeout_seconds=seconds)


def _ask(server: Server, action: Callable[[Client], Awaitable[BaseModel]]) -> dict[str, Any]:
    seconds = settings.GATEWAY_TIMEOUT
    call = pool().call(server.pk, server_target(server), action, timeout=seconds)
    try:
        answer = loop.run(call, seconds + settings.GATEWAY_CONNECT_TIMEOUT + 5)
    except ValidationError:
        raise UpstreamError(f"The answer of {server.name} is not of the form that the protocol asks for.") from None
    if isinstance(answer, InputRequiredResult):
        raise UpstreamError(f"{server.name} asks for more input, which the gateway cannot give.")
    return _body(answer)


def _body(answer: BaseModel) -> dict[str, Any]:
    body: dict[str, Any] = answer.model_dump(by_alias=True, mode="json", exclude_none=True)
    meta = {key: value for key, value in body.pop("_meta", {}).items() if key != SERVER_STAMP}
    plain = {key: value for key, value in body.items() if key not in NOT_FOR_CALLERS}
    return {**plain, "_meta": meta} if meta else plain


def pool() -> Pool:
    limits = Limits(settings.GATEWAY_CONNECT_TIMEOUT, settings.GATEWAY_IDLE, settings.GATEWAY_SESSIONS)
    return shared_pool(lambda: Pool(limits, announced))


def sessions_close() -> None:
    """Ends all sessions of this process, and with them the servers that it started."""
    open_pool = drop_pool()
    if open_pool is not None:
        asyncio.run_coroutine_threadsafe(open_pool.close(), loop.background_loop()).result(15)
