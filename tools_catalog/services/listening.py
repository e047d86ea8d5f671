"""Keeps a session open with servers that announce changes, and starts the syncs that are due.

One long-lived process does this. Sessions of the call gateway pass announcements on as well, but they come and go.
"""

import asyncio
import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import structlog
from django.conf import settings
from django.db import DatabaseError, connection
from django.db.models import Case, IntegerField, Value, When
from mcp import Client
from mcp_types import EmptyResult, PingRequest
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from core.errors import ToolscriptError
from tools_catalog.selectors import server_target, servers_connected
from tools_catalog.services.sync_requests import announced, change_handler
from tools_catalog.transports.client import connect
from tools_catalog.types import Target

log = structlog.get_logger("toolscript.sync")
LOOK_SECONDS = 1.0
PING_SECONDS = 15.0
LONGEST_WAIT = 300.0
CANCEL_SECONDS = 2.0
STEADY_SECONDS = 30.0
"""A connection that held this long was a good one: the next attempt need not wait as long as the last."""

Held = tuple[Target, asyncio.Task[None]]


class Listener:
    def __init__(self, start_due: Callable[[], None]) -> None:
        self._start_due = start_due
        self._held: dict[int, Held] = {}
        # One thread, so that one database connection is enough.
        self._database = ThreadPoolExecutor(1, thread_name_prefix="listener")

    async def run(self) -> None:
        """Runs until it is cancelled."""
        loop = asyncio.get_running_loop()
        try:
            while True:
                try:
                    targets = await loop.run_in_executor(self._database, self._look)
                    await self._hold_only(targets)
                except DatabaseError as exc:
                    log.warning("database.unavailable", error=str(exc))
                    await loop.run_in_executor(self._database, _close)
                await asyncio.sleep(LOOK_SECONDS)
        finally:
            await self._hold_only({})
            await loop.run_in_executor(self._database, _close)
            self._database.shutdown(wait=False)

    def _look(self) -> dict[int, Target]:
        self._start_due()
        return announcing()

    async def _hold_only(self, targets: dict[int, Target]) -> None:
        ended = set()
        for server_id, (target, task) in list(self._held.items()):
            if targets.get(server_id) != target:
                ended.add(task)
                del self._held[server_id]
        await _end(ended)
        for server_id, target in targets.items():
            if server_id not in self._held:
                self._held[server_id] = (target, asyncio.create_task(_hold(server_id, target)))


async def _end(tasks: set[asyncio.Task[None]]) -> None:
    """A cancellation that meets a connection in the act of failing can get lost in it, so it is said again."""
    left = tasks
    while left:
        for task in left:
            task.cancel()
        _, left = await asyncio.wait(left, timeout=CANCEL_SECONDS)
    await asyncio.gather(*tasks, return_exceptions=True)  # how they ended is of no interest


def _close() -> None:
    connection.close()  # that of the thread this runs in


def announcing() -> dict[int, Target]:
    """The servers to listen to. A remote one costs a connection, a local one a process: the former come first."""
    if not settings.LISTEN_LIMIT:
        return {}
    cost = Case(When(transport="stdio", then=Value(1)), default=Value(0), output_field=IntegerField())
    servers = servers_connected().filter(announces=True).order_by(cost, "pk")[: settings.LISTEN_LIMIT]
    return {server.pk: server_target(server) for server in servers}


async def _hold(server_id: int, target: Target) -> None:
    loop = asyncio.get_running_loop()
    wait, was_away = 1.0, False
    while True:
        since: float | None = None
        try:
            async with connect(
                target, seconds=settings.SYNC_TIMEOUT, message_handler=change_handler(server_id)
            ) as client:
                log.info("listen.started", server=target.name)
                since = loop.time()
                if was_away:
                    with suppress(DatabaseError):
                        await announced(server_id)  # what it said meanwhile went unheard
                await _until_lost(client)
        except ToolscriptError as exc:
            log.info("listen.lost", server=target.name, error=exc.message)
        was_away = True
        if since is not None and loop.time() - since >= STEADY_SECONDS:
            wait = 1.0
        await asyncio.sleep(wait * random.uniform(0.8, 1.2))  # noqa: S311 - no secret
        wait = min(wait * 2, LONGEST_WAIT)


async def _until_lost(client: Client) -> None:
    """Announcements reach the message handler by themselves; here we only notice when there will be no more."""
    if client.protocol_version in MODERN_PROTOCOL_VERSIONS:
        async with client.listen(
            tools_list_changed=True, prompts_list_changed=True, resources_list_changed=True
        ) as events:
            async for _ in events:
                pass
        return
    while True:
        await asyncio.sleep(PING_SECONDS)
        await client.session.send_request(PingRequest(), EmptyResult, request_read_timeout_seconds=PING_SECONDS)
