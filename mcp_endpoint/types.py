from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from mcp_types import ContentBlock, TextContent, ToolAnnotations

from tenants.types import Caller

find_caller: ContextVar[Callable[[], Caller]] = ContextVar("mcp_caller", default=Caller)
"""Tells who asks, once a request: set by whoever lets requests in, HTTP or stdio. By default nobody in particular."""
threads: ContextVar[ThreadPoolExecutor | None] = ContextVar("mcp_threads", default=None)
"""Where services run. None: in the thread that asked, which is what HTTP gives each request."""
client_now: ContextVar[str] = ContextVar("mcp_client", default="")
"""Who is counted where callers are limited. Empty: nobody, on the machine itself."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a tool gives: words for the model, and the same as data."""

    content: list[ContentBlock]
    structured: dict[str, Any] | None = None
    is_error: bool = False


def in_words(text: str, structured: dict[str, Any]) -> Answer:
    return Answer([TextContent(type="text", text=text)], structured)


Run = Callable[[Caller, Mapping[str, Any]], Answer]


@dataclass(frozen=True, slots=True)
class EndpointTool:
    name: str
    title: str
    describe: Callable[[Caller], str]
    run: Run
    input_schema: dict[str, Any]
    output_schema: dict[str, Any] | None = None
    annotations: ToolAnnotations = field(
        default_factory=lambda: ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
    )
    needs_write: bool = False
