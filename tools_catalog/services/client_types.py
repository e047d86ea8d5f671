"""The TypeScript module for what a caller may see and call."""

import difflib
from collections.abc import Iterable, Iterator

from django.db.models import Q

from core.errors import NotFound
from tools_catalog.models import Tool
from tools_catalog.selectors import tools_served
from tools_catalog.typescript.module import CallableTool, example_call, render

SEPARATOR = "__"


def typescript_module(wanted: list[str] | None, *, tenant_id: int | None, base_url: str, compact: bool = False) -> str:
    """`wanted` names servers and tools (`server`, `server__tool`); None means all."""
    return render(callable_tools(wanted, tenant_id=tenant_id), base_url=base_url, compact=compact)


def typescript_example(wanted: list[str], *, tenant_id: int | None) -> str:
    return example_call(callable_tools(wanted, tenant_id=tenant_id))


def callable_tools(wanted: list[str] | None, *, tenant_id: int | None) -> list[CallableTool]:
    rows = tools_served().filter(type=Tool.Type.TOOL).filter(_seen_by(tenant_id)).select_related("server")
    if wanted is not None:
        rows = rows.filter(_named(wanted))
    # Where a tenant has a server of the same name as a shared one, its own is meant.
    found: dict[str, CallableTool] = {}
    for tool in sorted(rows, key=lambda tool: tool.server.tenant_id is not None):
        made = CallableTool(tool.server.name, tool.name, tool.description, tool.input_schema, tool.output_schema)
        found[made.id] = made
    _refuse_unknown(wanted or [], found.values(), tenant_id)
    return list(found.values())


def _seen_by(tenant_id: int | None) -> Q:
    return Q(server__tenant=None) | Q(server__tenant_id=tenant_id) if tenant_id else Q(server__tenant=None)


def _named(words: Iterable[str]) -> Q:
    named = Q(pk__in=[])
    for word in words:
        named |= Q(server__name=word)
        for server, tool in _splits(word):
            named |= Q(server__name=server, name=tool)
    return named


def _splits(word: str) -> Iterator[tuple[str, str]]:
    """Both halves may hold the separator themselves, so every place is tried."""
    at = word.find(SEPARATOR)
    while at > 0:
        yield word[:at], word[at + len(SEPARATOR) :]
        at = word.find(SEPARATOR, at + 1)


def _refuse_unknown(wanted: list[str], found: Iterable[CallableTool], tenant_id: int | None) -> None:
    known = {name for tool in found for name in (tool.server, tool.id)}
    missing = [word for word in wanted if word not in known]
    if not missing:
        return
    rows = tools_served().filter(type=Tool.Type.TOOL).filter(_seen_by(tenant_id)).values_list("server__name", "name")
    names = {name for server, tool in rows for name in (server, f"{server}{SEPARATOR}{tool}")}
    close = difflib.get_close_matches(missing[0], names, n=1)
    hint = f" Did you mean {close[0]}?" if close else ""
    raise NotFound(f"There is no server or tool named {missing[0]}.{hint}", {"unknown": missing})
