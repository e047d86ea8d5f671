"""The endpoint as the SDK serves it. Handlers only hand over: services run in a thread that may wait for a database."""

from collections.abc import Callable
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any, TypeVar

import structlog
from asgiref.sync import sync_to_async
from django.db import close_old_connections
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    GetPromptRequestParams,
    GetPromptResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    Tool,
)

from core.errors import Forbidden, ToolscriptError, Unauthorized
from mcp_endpoint import catalogue
from mcp_endpoint.tools import TOOLS, error_answer
from mcp_endpoint.types import Answer, find_caller, threads
from tenants.types import Caller
from tools_catalog.arguments import arguments_check

log = structlog.get_logger("toolscript.mcp")
T = TypeVar("T")
INSTRUCTIONS = (
    "One catalogue of many MCP servers. list_skills shows what there is, search_tools finds the right tool, get_tool "
    "shows its schema, call_tool calls it. search_knowledge searches documents."
)


def require_credential(caller: Caller, *, write: bool) -> None:
    if caller.is_anonymous:
        raise Unauthorized("This needs a credential: `Authorization: Bearer …` or `X-API-Key: …`.")
    if write and not caller.may_write:
        raise Forbidden("Your credential may read only.")


async def served(work: Callable[..., T], *args: Any) -> T:
    """Work for whoever asks. What goes wrong reaches the client as a protocol error, without a trace."""
    pool = threads.get()

    def run() -> T:
        if pool is not None:  # over HTTP, Django sees to its connections at every request
            close_old_connections()
        return work(find_caller.get()(), *args)

    try:
        return await sync_to_async(run, thread_sensitive=pool is None, executor=pool)()
    except ToolscriptError as exc:
        code = INVALID_PARAMS if exc.http_status < 500 else INTERNAL_ERROR
        raise MCPError(code, exc.message, {"code": exc.code, "details": exc.details}) from None
    except MCPError:
        raise
    except Exception as exc:
        log.error("unhandled", exc_info=exc)
        raise MCPError(INTERNAL_ERROR, "Something went wrong on our side.") from None


def _tools(caller: Caller) -> list[Tool]:
    return [
        Tool(
            name=tool.name,
            title=tool.title,
            description=tool.describe(caller),
            input_schema=tool.input_schema,
            output_schema=tool.output_schema,
            annotations=tool.annotations,
        )
        for tool in TOOLS.values()
    ]


def _call(caller: Caller, name: str, arguments: dict[str, Any]) -> Answer:
    """Errors of a tool are answers: the model reads them and corrects itself."""
    tool = TOOLS.get(name)
    if tool is None:
        raise MCPError(INVALID_PARAMS, f"There is no tool {name[:100]!r}. Known are: {', '.join(TOOLS)}.")
    try:
        if tool.needs_write:
            require_credential(caller, write=True)
        arguments_check(tool.input_schema, arguments, key=f"mcp:{name}")
        answer = tool.run(caller, arguments)
    except ToolscriptError as exc:
        answer = error_answer(exc)
    log.info("mcp.call", tool=name, caller=caller.name, tenant=caller.tenant_id, error=answer.is_error)
    return answer


async def list_tools(ctx: Any, params: PaginatedRequestParams | None) -> ListToolsResult:
    return ListToolsResult(tools=await served(_tools))


async def call_tool(ctx: Any, params: CallToolRequestParams) -> CallToolResult:
    answer = await served(_call, params.name, params.arguments or {})
    return CallToolResult(content=answer.content, structured_content=answer.structured, is_error=answer.is_error)


async def list_prompts(ctx: Any, params: PaginatedRequestParams | None) -> ListPromptsResult:
    found, cursor = await served(catalogue.prompts, params.cursor if params else None)
    return ListPromptsResult(prompts=found, next_cursor=cursor)


async def list_resources(ctx: Any, params: PaginatedRequestParams | None) -> ListResourcesResult:
    found, cursor = await served(catalogue.resources, params.cursor if params else None)
    return ListResourcesResult(resources=found, next_cursor=cursor)


async def list_templates(ctx: Any, params: PaginatedRequestParams | None) -> ListResourceTemplatesResult:
    found, cursor = await served(catalogue.templates, params.cursor if params else None)
    return ListResourceTemplatesResult(resource_templates=found, next_cursor=cursor)


async def get_prompt(ctx: Any, params: GetPromptRequestParams) -> GetPromptResult:
    def get(caller: Caller) -> GetPromptResult:
        require_credential(caller, write=False)
        return catalogue.prompt(caller, params.name, params.arguments or {})

    return await served(get)


async def read_resource(ctx: Any, params: ReadResourceRequestParams) -> ReadResourceResult:
    def read(caller: Caller) -> ReadResourceResult:
        require_credential(caller, write=False)
        return catalogue.resource(caller, str(params.uri))

    return await served(read)


def _version() -> str:
    try:
        return version("toolscript")
    except PackageNotFoundError:  # run from a folder, not installed
        return ""


@cache
def server() -> Server[Any]:
    """One for the process: it keeps nothing between requests."""
    return Server(
        "toolscript",
        version=_version(),
        title="Toolscript",
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
    )
