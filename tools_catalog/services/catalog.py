"""Writes to the catalogue. Whoever learns of servers and tools (sync, import, demo, admin) comes through here."""

from collections.abc import Iterable
from dataclasses import dataclass

from django.db import transaction
from django.utils import timezone

from tenants.models import Tenant
from tools_catalog.models import Server, Tool
from tools_catalog.services.review import definitions_take_in
from tools_catalog.services.tool_index import payload_sync
from tools_catalog.signals import tools_published
from tools_catalog.text import content_hash, index_key
from tools_catalog.types import ServerSpec, ToolSpec


@dataclass(frozen=True, slots=True)
class UpsertReport:
    created: int
    changed: int
    unchanged: int


@transaction.atomic
def server_upsert(spec: ServerSpec, *, tenant: Tenant | None = None) -> tuple[Server, UpsertReport]:
    texts = {"title": spec.title, "description": spec.description}
    server, created = Server.objects.select_for_update().get_or_create(tenant=tenant, name=spec.name, defaults=texts)
    if not created and (server.title, server.description) != (spec.title, spec.description):
        server.title, server.description = spec.title, spec.description
        server.save(update_fields=[*texts, "updated_at"])
    return server, tools_upsert(server, spec.items)


@transaction.atomic
def tools_upsert(server: Server, specs: tuple[ToolSpec, ...]) -> UpsertReport:
    """Takes items in as published. What is the same as before costs no write; what was switched off stays off."""
    known = {(t.type, t.name): t for t in Tool.objects.select_for_update().filter(server=server)}
    created, changed = [], []
    for spec in specs:
        tool = known.get((spec.type, spec.name))
        digest = content_hash(spec)
        if tool is None:
            created.append(_filled(Tool(server=server, type=spec.type, name=spec.name), spec, server, digest))
        elif tool.content_hash != digest or spec.requests not in {None, tuple(tool.requests)}:
            changed.append(_filled(tool, spec, server, digest))
    Tool.objects.bulk_create(created)
    for tool in changed:
        tool.save()
    definitions_take_in(server, created + changed, is_first=not known)
    payload_sync([t.pk for t in changed])
    tools_published.send(sender=Server, server_id=server.pk)
    return UpsertReport(len(created), len(changed), len(specs) - len(created) - len(changed))


def _filled(tool: Tool, spec: ToolSpec, server: Server, digest: str) -> Tool:
    tool.description = spec.description
    tool.uri = spec.uri
    tool.input_schema = spec.input_schema
    tool.output_schema = spec.output_schema
    tool.annotations = spec.annotations
    if spec.requests is not None:
        tool.requests = list(spec.requests)
    tool.content_hash = digest
    tool.index_key = index_key(server.name, spec.name, spec.description, spec.input_schema, tool.requests)
    return tool


@transaction.atomic
def tools_mark_missing(server: Server, published: Iterable[tuple[str, str]]) -> tuple[int, int]:
    """What is not among the published (type, name) is missing from now on; what is, is back. How many of each."""
    there = set(published)
    tools = Tool.objects.select_for_update().filter(server=server)
    rows = list(tools.values_list("pk", "type", "name", "missing_since"))
    gone = [pk for pk, kind, name, since in rows if since is None and (kind, name) not in there]
    back = [pk for pk, kind, name, since in rows if since is not None and (kind, name) in there]
    if gone:
        tools.filter(pk__in=gone).update(missing_since=timezone.now())
    if back:
        tools.filter(pk__in=back).update(missing_since=None)
    if gone or back:
        payload_sync(gone + back)
    return len(gone), len(back)


@transaction.atomic
def server_set_active(server: Server, *, active: bool) -> None:
    server.is_active = active
    server.save(update_fields=["is_active", "updated_at"])
    payload_sync(list(server.tools.values_list("pk", flat=True)))


@transaction.atomic
def tool_set_active(tool: Tool, *, active: bool) -> None:
    tool.is_active = active
    tool.save(update_fields=["is_active", "updated_at"])
    payload_sync([tool.pk])
