"""The TypeScript module for what a caller may see and call."""

import difflib
from collections.abc import Iterable

from core.errors import NotFound
from tools_catalog.models import Tool
from tools_catalog.selectors import servers_visible, tools_listed
from tools_catalog.typescript.module import CallableTool, render

NO_ADDRESS = "toolscript.no_address"
"""In the environment of a WSGI request: it came from inside this process, so its host and port are made up."""


def typescript_module(wanted: list[str] | None, *, tenant_id: int | None, base_url: str, compact: bool = False) -> str:
    """`wanted` names servers and tools (`server`, `server__tool`); None means all."""
    return render(callable_tools(wanted, tenant_id=tenant_id), base_url=base_url, compact=compact)


def callable_tools(wanted: list[str] | None, *, tenant_id: int | None) -> list[CallableTool]:
    rows = tools_listed(wanted, item_type=Tool.Type.TOOL, tenant_id=tenant_id)
    # Where a tenant has a server of the same name as a shared one, its own is meant.
    found: dict[tuple[str, str], CallableTool] = {}
    for tool in sorted(rows, key=lambda tool: tool.server.tenant_id is not None):
        made = CallableTool(tool.server.name, tool.name, tool.description, tool.input_schema, tool.output_schema)
        found[made.server, made.name] = made
    _refuse_unknown(wanted or [], found.values(), tenant_id)
    return list(found.values())


def _refuse_unknown(wanted: list[str], found: Iterable[CallableTool], tenant_id: int | None) -> None:
    known = {name for tool in found for name in (tool.server, tool.id)}
    missing = [word for word in wanted if word not in known]
    if missing:  # a server may publish prompts alone
        known.update(servers_visible(tenant_id).filter(name__in=missing).values_list("name", flat=True))
        missing = [word for word in missing if word not in known]
    if not missing:
        return
    rows = tools_listed(None, item_type=Tool.Type.TOOL, tenant_id=tenant_id).values_list("server__name", "name")
    names = {name for server, tool in rows for name in (server, f"{server}__{tool}")}
    close = difflib.get_close_matches(missing[0], names, n=1)
    hint = f" Did you mean {close[0]}?" if close else ""
    raise NotFound(f"There is no server or tool named {missing[0][:200]}.{hint}", {"unknown": missing[:50]})
