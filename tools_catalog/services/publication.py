"""Takes in the complete list of what a server publishes, whether it came from the server itself or from a file."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction
from django.utils import timezone

from core.errors import Conflict, ValidationFailed
from tenants.models import Tenant
from tools_catalog.acceptance import KINDS, accepted
from tools_catalog.models import SERVER_NAME, Server, SyncRun, Tool
from tools_catalog.services.catalog import tools_mark_missing, tools_upsert
from tools_catalog.types import Refusal, ToolSpec

REFUSALS_KEPT = 500
MAX_SERVER_NAME = 128


@dataclass(frozen=True, slots=True)
class ImportReport:
    server: str
    seen: int
    counts: dict[str, int]
    refusals: list[Refusal] = field(default_factory=list)

    @property
    def wrote(self) -> bool:
        return any(count for name, count in self.counts.items() if name != "unchanged")


def items_apply(server: Server, specs: list[ToolSpec]) -> dict[str, int]:
    """The complete list of a server's items becomes the truth."""
    report = tools_upsert(server, tuple(specs))
    missing, returned = tools_mark_missing(server, [(spec.type, spec.name) for spec in specs])
    return {
        "created": report.created,
        "changed": report.changed,
        "unchanged": report.unchanged,
        "missing": missing,
        "returned": returned,
    }


def refused(refusals: list[Refusal]) -> dict[str, Any]:
    rows = [{"type": r.type, "name": r.name, "reason": r.reason} for r in refusals[:REFUSALS_KEPT]]
    return {"refused": len(refusals), "refusals": rows}


@transaction.atomic
def published_import(data: Any, *, tenant_id: int | None = None) -> ImportReport:
    """Takes one server in the published form. The same form again writes nothing at all."""
    from tools_catalog.transports.tolerant import objection  # brings the SDK

    name, items = _checked(data)
    server = _server(name, data, tenant_id)
    known = set(Tool.objects.filter(server=server).values_list("content_hash", flat=True))
    specs, refusals = accepted([(kind, item, objection(kind, item)) for kind, item in items], known)
    report = ImportReport(name, len(items), items_apply(server, specs), refusals)
    if report.wrote:
        SyncRun.objects.create(
            server=server,
            trigger=SyncRun.Trigger.IMPORT,
            state=SyncRun.State.DONE,
            finished_at=timezone.now(),
            seen=len(items),
            **report.counts,
            **refused(refusals),
        )
    return report


def _server(name: str, data: Mapping[str, Any], tenant_id: int | None) -> Server:
    tenant = Tenant.objects.get(pk=tenant_id) if tenant_id is not None else None
    server, _ = Server.objects.select_for_update().get_or_create(tenant=tenant, name=name)
    if server.transport:
        raise Conflict(
            f"{name} is synced from the server itself, and the next sync would undo the import. "
            "Import it under another name, or remove its connection."
        )
    texts = {key: data[key] for key in ("title", "description") if data.get(key) and data[key] != getattr(server, key)}
    if texts:
        for key, value in texts.items():
            setattr(server, key, value)
        server.save(update_fields=[*texts, "updated_at"])
    return server


def _checked(data: Any) -> tuple[str, list[tuple[str, Any]]]:
    if not isinstance(data, Mapping):
        raise ValidationFailed('An object is expected: {"server": "name", "tools": […]}.')
    name = data.get("server")
    if not isinstance(name, str) or not re.fullmatch(SERVER_NAME, name) or len(name) > MAX_SERVER_NAME:
        raise _bad("server", "a name of letters, digits, `_`, `.` and `-` is expected, at most 128 characters long.")
    for key, limit in (("title", 255), ("description", 5000)):
        text = data.get(key, "")
        if not isinstance(text, str) or len(text) > limit or "\0" in text:
            raise _bad(key, f"a text of at most {limit} characters is expected.")
    items = []
    for kind in KINDS:
        found = data.get(kind, None if kind == "tools" else [])
        if not isinstance(found, list):
            raise _bad(kind, "a list is expected.")
        items += [(kind, item) for item in found]
    return name, items


def _bad(field_name: str, what: str) -> ValidationFailed:
    return ValidationFailed(f"{field_name}: {what}", {"fields": {field_name: [what]}})
