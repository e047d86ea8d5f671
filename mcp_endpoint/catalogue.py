"""Prompts and resources of the catalogue, listed and read through the endpoint.

A prompt is called `server__prompt`. A resource is `toolscript://server/` and its own URI, because two servers may
publish the same one.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from django.db.models import Exists, OuterRef, QuerySet
from mcp_types import (
    GetPromptResult,
    Prompt,
    PromptArgument,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
)

from core.errors import NotFound, ValidationFailed
from tenants.types import Caller
from tools_catalog.models import Tool
from tools_catalog.selectors import tools_visible
from tools_catalog.services.gateway import prompt_get, resource_read

T = TypeVar("T")
PAGE = 100
SCHEME = "toolscript://"


def prompts(caller: Caller, cursor: str | None) -> tuple[list[Prompt], str | None]:
    return _page(_offered(caller, "prompt"), cursor, _prompt)


def resources(caller: Caller, cursor: str | None) -> tuple[list[Resource], str | None]:
    plain = _offered(caller, "resource").exclude(uri__contains="{").exclude(uri="")
    return _page(plain, cursor, _resource)


def templates(caller: Caller, cursor: str | None) -> tuple[list[ResourceTemplate], str | None]:
    return _page(_offered(caller, "resource").filter(uri__contains="{"), cursor, _template)


def prompt(caller: Caller, name: str, arguments: dict[str, str]) -> GetPromptResult:
    return GetPromptResult.model_validate(prompt_get(name, arguments, caller=caller))


def resource(caller: Caller, uri: str) -> ReadResourceResult:
    head, _, theirs = uri.removeprefix(SCHEME).partition("/")
    if not uri.startswith(SCHEME) or not head or not theirs or "\0" in uri:  # which no text in Postgres holds
        raise NotFound(f"There is no resource {uri[:200]}.")
    offered = _offered(caller, "resource").filter(server__name=head)
    found = offered.filter(uri=theirs).first() or next(
        (t for t in offered.filter(uri__contains="{") if theirs.startswith(t.uri.partition("{")[0])), None
    )
    if found is None:
        raise NotFound(f"There is no resource {uri[:200]}.")
    item = f"{head}__{found.name}"
    answer = resource_read(item, caller=caller, uri=theirs if "{" in found.uri else None, server=head)
    return ReadResourceResult.model_validate(answer)


def _offered(caller: Caller, item_type: str) -> QuerySet[Tool]:
    """Without what is shared where the tenant has its own of the same id: that one would be got under its name."""
    visible = tools_visible(caller.tenant_id, item_type)
    if caller.tenant_id is None:
        return visible
    same = visible.filter(server__name=OuterRef("server__name"), name=OuterRef("name")).exclude(pk=OuterRef("pk"))
    return visible.exclude(Exists(same.filter(server__tenant=caller.tenant_id)))


def _page(rows: QuerySet[Tool], cursor: str | None, made: Callable[[Tool], T]) -> tuple[list[T], str | None]:
    """By id, so that a list that changes meanwhile neither repeats nor skips what stays."""
    if cursor is not None and not (cursor.isascii() and cursor.isdigit() and len(cursor) < 19):
        raise ValidationFailed("The cursor is not one of ours.")
    found = list(rows.filter(pk__gt=int(cursor or 0)).order_by("pk")[: PAGE + 1])
    more = str(found[PAGE - 1].pk) if len(found) > PAGE else None
    return [made(tool) for tool in found[:PAGE]], more


def _prompt(tool: Tool) -> Prompt:
    schema: Any = tool.input_schema if isinstance(tool.input_schema, dict) else {}
    required = set(schema.get("required") or ())
    arguments = [
        PromptArgument(name=name, description=about.get("description") or None, required=name in required)
        for name, about in (schema.get("properties") or {}).items()
    ]
    return Prompt(name=f"{tool.server.name}__{tool.name}", description=tool.description or None, arguments=arguments)


def _resource(tool: Tool) -> Resource:
    return Resource(uri=f"{SCHEME}{tool.server.name}/{tool.uri}", **_about(tool))


def _template(tool: Tool) -> ResourceTemplate:
    return ResourceTemplate(uri_template=f"{SCHEME}{tool.server.name}/{tool.uri}", **_about(tool))


def _about(tool: Tool) -> dict[str, Any]:
    hints = tool.annotations if isinstance(tool.annotations, dict) else {}
    mime_type = hints.get("mimeType")
    about: dict[str, Any] = {"name": f"{tool.server.name}__{tool.name}", "description": tool.description or None}
    return {**about, "mime_type": mime_type} if isinstance(mime_type, str) else about
