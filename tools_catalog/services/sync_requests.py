"""Asking for a sync. The wish is a column of the server, so that neither a lost message nor a crash forgets it."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import TYPE_CHECKING

import structlog
from django.db import connection
from django.db.models import Q
from django.utils import timezone

from core.scope import ALL, scoped
from tools_catalog.models import Server, SyncRun

if TYPE_CHECKING:
    from mcp.client.session import IncomingMessage, MessageHandlerFnT

log = structlog.get_logger("toolscript.sync")


def sync_request(server_id: int, trigger: str, *, at: datetime | None = None) -> None:
    """Notes that this server is to be synced (now, unless told otherwise). An earlier wish stands."""
    when = at or timezone.now()
    later = Q(due_at=None) | Q(due_at__gt=when)
    Server.objects.filter(later, pk=server_id).update(due_at=when, due_trigger=trigger)


def change_handler(server_id: int) -> MessageHandlerFnT:
    """For whoever holds a session: passes on what the server announces. Goes into `connect(message_handler=…)`."""

    from mcp_types import PromptListChangedNotification, ResourceListChangedNotification, ToolListChangedNotification

    changes = (ToolListChangedNotification, PromptListChangedNotification, ResourceListChangedNotification)

    async def handle(message: IncomingMessage) -> None:
        if isinstance(message, changes):
            await announced(server_id)

    return handle


async def announced(server_id: int) -> None:
    log.info("sync.change_announced", server_id=server_id)
    await asyncio.to_thread(_request_and_close, server_id)


def _request_and_close(server_id: int) -> None:
    try:
        with scoped(ALL):  # whoever opened the session, the server speaks for itself
            sync_request(server_id, SyncRun.Trigger.CHANGE)
    finally:
        connection.close()  # this thread may never be asked again
