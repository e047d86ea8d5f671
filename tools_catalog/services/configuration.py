"""Brings the servers of `.toolscript.json` into the catalogue. A file that is broken changes nothing."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import structlog
from django.conf import settings
from django.db import connection, transaction
from django.db.models import Q
from django.utils import timezone

from core.errors import ToolscriptError
from tools_catalog import config_file
from tools_catalog.config_file import Merged, Problem
from tools_catalog.models import ConfigFile, Server, SyncRun
from tools_catalog.services.sync_requests import sync_request
from tools_catalog.services.tool_index import payload_sync
from tools_catalog.types import ServerConfig

log = structlog.get_logger("toolscript.sync")
LOCK = 0x746F6F6D

DEFINITION = (
    "transport",
    "command",
    "args",
    "env",
    "cwd",
    "url",
    "headers",
    "include_tools",
    "exclude_tools",
    "timeout_seconds",
)


@dataclass(slots=True)
class ConfigReport:
    files: dict[str, int] = field(default_factory=dict)
    added: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    returned: list[str] = field(default_factory=list)


def configuration_apply(*, authoritative: bool = False, trigger: str = SyncRun.Trigger.COMMAND) -> ConfigReport:
    """Reads the files and writes what differs. A new or changed server is due for a sync at once.

    Servers that are gone from the files read now are no longer served. `authoritative`: these are all the files
    there are, so servers of other files are gone too.
    """
    paths = config_file.files(settings.CONFIG_FILES)
    try:
        merged = config_file.read_all(paths)
        report = _apply(merged, authoritative=authoritative, trigger=trigger)
    except ToolscriptError as exc:
        _note_problem(exc, paths)
        raise
    _note_files(paths, merged)
    return report


@transaction.atomic
def _apply(merged: Merged, *, authoritative: bool, trigger: str) -> ConfigReport:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK])
    report = ConfigReport(files=merged.per_file)
    wanted = {name: config for name, config in merged.servers.items() if not config.disabled}
    known = {s.name: s for s in Server.objects.select_for_update().filter(tenant=None)}
    for name, config in wanted.items():
        _apply_one(known.get(name), config, report, trigger)
    gone = [s for s in known.values() if s.source == Server.Source.FILE and s.removed_at is None]
    for server in gone:
        ours = authoritative or server.config_path in merged.per_file or not Path(server.config_path).exists()
        if server.name not in wanted and ours:
            _remove(server, report)
    return report


def _apply_one(server: Server | None, config: ServerConfig, report: ConfigReport, trigger: str) -> None:
    if server is None:
        server = Server(name=config.name, source=Server.Source.FILE)
        report.added.append(config.name)
    elif server.source == Server.Source.ADMIN:
        raise Problem(
            Path(config.path),
            f"mcpServers.{config.name}",
            "a server of this name was made in the admin. Rename one of the two, or delete that one.",
        )
    elif server.removed_at is not None:
        report.returned.append(config.name)
    elif definition(server) != definition(config) or server.source != Server.Source.FILE:
        report.changed.append(config.name)
    elif server.config_path == config.path:
        return
    server.source, server.config_path, server.removed_at = Server.Source.FILE, config.path, None
    define(server, config)
    payload_sync(list(server.tools.values_list("pk", flat=True)))
    sync_request(server.pk, trigger)


def define(server: Server, config: ServerConfig) -> None:
    """Writes the definition. What was learnt over the old connection is no longer known."""
    for name in DEFINITION:
        value = getattr(config, name)
        setattr(server, name, list(value) if isinstance(value, tuple) else value)
    server.protocol, server.announces, server.failures, server.retry_at = "", False, 0, None
    server.save()


def definition(source: Server | ServerConfig) -> list[Any]:
    values = [getattr(source, name) for name in DEFINITION]
    return [list(v) if isinstance(v, tuple) else v for v in values]


def _remove(server: Server, report: ConfigReport) -> None:
    server.removed_at, server.due_at = timezone.now(), None
    server.save(update_fields=["removed_at", "due_at", "updated_at"])
    payload_sync(list(server.tools.values_list("pk", flat=True)))
    report.removed.append(server.name)


def _note_files(paths: Iterable[Path], merged: Merged) -> None:
    for path in paths:
        if path.exists():
            values = {"exists": True, "servers": merged.per_file[str(path)], "error": "", "read_at": timezone.now()}
            ConfigFile.objects.update_or_create(path=str(path), defaults=values)
    gone = ConfigFile.objects.filter(Q(path__in=[str(p) for p in paths if not p.exists()]), exists=True)
    gone.update(exists=False, servers=0, error="", read_at=timezone.now())


def _note_problem(exc: ToolscriptError, paths: list[Path]) -> None:
    log.error("config.refused", error=exc.message)
    path = exc.details.get("file") or str(paths[-1])
    values = {"exists": True, "error": exc.message, "read_at": timezone.now()}
    ConfigFile.objects.update_or_create(path=path, defaults=values)
