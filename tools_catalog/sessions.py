"""Open sessions with MCP servers, shared by all calls of one process. Everything here runs on the background loop.

Each session is a task of its own, because the SDK wants a client to be left by the task that entered it. A session
that ended is replaced at the next call. One that is not used is closed, and there are never more than a set number.
"""

import asyncio
import contextlib
import os
import re
import threading
import time
from collections.abc import Awaitable, Callable
from contextvars import Context
from dataclasses import dataclass, replace
from typing import TypeVar

import structlog
from mcp import Client
from mcp.client.session import IncomingMessage
from mcp.client.subscriptions import SubscriptionLost
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CONNECTION_CLOSED,
    REQUEST_TIMEOUT,
    PromptListChangedNotification,
    ResourceListChangedNotification,
    ToolListChangedNotification,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from core.errors import NotReady, ToolscriptError, UpstreamError, UpstreamTimeout
from tools_catalog.transports.client import connect
from tools_catalog.transports.diagnosis import STATUSES
from tools_catalog.transports.watch import Watch
from tools_catalog.types import Target

log = structlog.get_logger("toolscript.gateway")
T = TypeVar("T")
Action = Callable[[Client], Awaitable[T]]
Changed = Callable[[int], Awaitable[None]]
"""Told the id of a server that announced other lists."""

LIST_CHANGED = (ToolListChangedNotification, PromptListChangedNotification, ResourceListChangedNotification)
LAST_WORDS_SECONDS = 1.0
"""How long a failed call waits for its session to end, to learn why."""
GRACE = 2.0
SESSION_REFUSED = re.compile("session|Server returned an error response", re.IGNORECASE)
"""Servers say it in their own words; the second is what the SDK says for those it cannot read."""


@dataclass(frozen=True, slots=True)
class Limits:
    connect: float
    idle: float
    sessions: int


class NotSent(Exception):
    """The request was never taken in, so sending it again cannot do anything twice."""

    def __init__(self, otherwise: ToolscriptError) -> None:
        super().__init__()
        self.otherwise = otherwise
        """What to say if it fails again."""


class Session:
    def __init__(self, key: int, target: Target, limits: Limits, changed: Changed) -> None:
        self.key = key
        self.target = target
        self.in_flight = 0
        self.used_at = time.monotonic()
        self.answered_at = self.used_at
        self.error: ToolscriptError | None = None
        self._limits = limits
        self._changed = changed
        self._watch = Watch()
        self._leave = asyncio.Event()
        self._ready: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        self._ready.add_done_callback(lambda future: future.cancelled() or future.exception())  # or asyncio complains
        # It outlives the request that needs it first, and knows nothing of it.
        self.task = asyncio.create_task(self._live(), name=f"session {target.name}", context=Context())

    @property
    def is_over(self) -> bool:
        return self.task.done() or self._leave.is_set() or (self._ready.done() and self._watch.ended.is_set())

    def retire(self) -> None:
        """Takes no more calls, and ends when those under way have."""
        self._leave.set()

    async def call(self, action: Action[T]) -> T:
        """Many calls may be under way at once."""
        self.in_flight += 1
        try:
            client = await asyncio.shield(self._ready)
            if self.is_over:
                raise NotSent(UpstreamError(f"{self.target.name} ended before the call was sent."))
            started = time.monotonic()
            result = await self._answer(action, client, started)
            self.answered_at = time.monotonic()
            return result
        finally:
            self.in_flight -= 1
            self.used_at = time.monotonic()

    async def _answer(self, action: Action[T], client: Client, started: float) -> T:
        statuses: list[int] = []
        token = STATUSES.set(statuses)
        try:
            return await action(client)
        except MCPError as exc:
            if exc.code == REQUEST_TIMEOUT:
                self._give_up_if_silent(started)
                raise UpstreamTimeout(f"{self.target.name} did not answer in time.") from None
            if exc.code == CONNECTION_CLOSED:
                raise await self._why_it_ended() from None
            message = self._watch.secrets.hide(exc.message)[:500]
            error = UpstreamError(f"{self.target.name} answered with an error: {message}", {"code": exc.code})
            if _is_forgotten(exc, statuses):
                self.retire()
                raise NotSent(error) from None
            self.answered_at = time.monotonic()
            raise error from None
        except TimeoutError:
            self._give_up_if_silent(started)
            raise UpstreamTimeout(f"{self.target.name} did not answer in time.") from None
        finally:
            STATUSES.reset(token)

    def _give_up_if_silent(self, started: float) -> None:
        """A server that answered nobody since this call began may hang: the next call starts a new session."""
        if self.answered_at < started:
            self.retire()

    async def _why_it_ended(self) -> ToolscriptError:
        self.retire()
        if self._watch.ended.is_set():
            await asyncio.wait([self.task], timeout=LAST_WORDS_SECONDS)
        return self._public(self.error or UpstreamError(f"{self.target.name} ended before it answered."))

    def _public(self, error: ToolscriptError) -> ToolscriptError:
        """What a caller may know: not what the server wrote to stderr, and not how its connection is configured."""
        if isinstance(error, UpstreamError):
            return type(error)(error.message.removesuffix(self._watch.hint()))
        return UpstreamError(
            f"The connection to {self.target.name} is not set up completely; the log says what is missing."
        )

    async def _live(self) -> None:
        try:
            async with connect(
                self.target, seconds=self._limits.connect, message_handler=self._on_message, watch=self._watch
            ) as client:
                self._ready.set_result(client)
                listener = asyncio.create_task(self._listen(client))
                try:
                    await self._until_over()
                finally:
                    listener.cancel()
                    await asyncio.wait([listener])
        except ToolscriptError as exc:
            self.error = exc
            log.warning("gateway.session_failed", server=self.target.name, error=exc.message)
        finally:
            if not self._ready.done():
                self._ready.set_exception(self._public(self.error or UpstreamError(f"{self.target.name} was closed.")))
        if self._watch.ended.is_set() and not self._leave.is_set():
            log.warning("gateway.session_ended", server=self.target.name, hint=self._watch.hint())

    async def _until_over(self) -> None:
        """Until it is to leave and nobody waits, the server is gone, or nobody called for long."""
        over = [asyncio.create_task(self._watch.ended.wait()), asyncio.create_task(self._leave.wait())]
        try:
            while not self._watch.ended.is_set():
                idle = time.monotonic() - self.used_at
                if not self.in_flight and (self._leave.is_set() or idle >= self._limits.idle):
                    return
                pause = 0.05 if self._leave.is_set() else max(0.05, self._limits.idle - idle)
                waiting = over[:1] if self._leave.is_set() else over
                await asyncio.wait(waiting, timeout=pause, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in over:
                task.cancel()

    async def _listen(self, client: Client) -> None:
        """Since 2026-07-28 a server tells only those who ask what changed."""
        if client.protocol_version not in MODERN_PROTOCOL_VERSIONS or not _announces(client):
            return
        with contextlib.suppress(MCPError, SubscriptionLost, TimeoutError):
            async with client.listen(
                tools_list_changed=True, prompts_list_changed=True, resources_list_changed=True
            ) as changes:
                async for _ in changes:
                    pass  # each reaches the message handler by itself

    async def _on_message(self, message: IncomingMessage) -> None:
        if isinstance(message, LIST_CHANGED):
            await self._changed(self.key)


class Pool:
    def __init__(self, limits: Limits, changed: Changed) -> None:
        self._limits = limits
        self._changed = changed
        self.sessions: dict[int, Session] = {}

    async def call(self, key: int, target: Target, action: Action[T], *, timeout: float) -> T:
        """One more attempt where the request was never sent; otherwise it might be done twice."""
        try:
            async with asyncio.timeout(self._limits.connect + timeout + GRACE):
                try:
                    return await self._session(key, target).call(action)
                except NotSent:
                    return await self._session(key, target).call(action)
        except TimeoutError:
            raise UpstreamTimeout(f"{target.name} did not answer in time.") from None
        except NotSent as exc:
            raise exc.otherwise from None

    def _session(self, key: int, target: Target) -> Session:
        known = self.sessions.get(key)
        if known is not None and not known.is_over and _same(known.target, target):
            return known
        if known is not None:
            known.retire()
        self.sessions = {k: s for k, s in self.sessions.items() if not s.is_over}
        if len(self.sessions) >= self._limits.sessions:
            self._make_room()
        session = Session(key, target, self._limits, self._changed)
        self.sessions[key] = session
        session.task.add_done_callback(lambda _: self._forget(session))
        return session

    def _make_room(self) -> None:
        idle = [s for s in self.sessions.values() if not s.in_flight]
        if not idle:
            raise NotReady(f"All {self._limits.sessions} sessions are busy. Try again shortly.")
        oldest = min(idle, key=lambda s: s.used_at)
        oldest.retire()
        del self.sessions[oldest.key]

    def _forget(self, session: Session) -> None:
        if self.sessions.get(session.key) is session:
            del self.sessions[session.key]

    async def close(self) -> None:
        tasks = [session.task for session in self.sessions.values()]
        for session in list(self.sessions.values()):
            session.retire()
        if tasks:
            await asyncio.wait(tasks, timeout=10)


def _is_forgotten(exc: MCPError, statuses: list[int]) -> bool:
    """A server behind HTTP that was restarted knows nothing of its old sessions, and refuses what belongs to them."""
    status = statuses[-1] if statuses else 0
    return status == 404 or (status == 400 and bool(SESSION_REFUSED.search(exc.message)))


def _announces(client: Client) -> bool:
    offered = client.server_capabilities
    return any(part is not None and part.list_changed for part in (offered.tools, offered.prompts, offered.resources))


def _same(one: Target, other: Target) -> bool:
    return replace(one, protocol="") == replace(other, protocol="")


_lock = threading.Lock()
_pool: tuple[int, Pool] | None = None


def shared_pool(make: Callable[[], Pool]) -> Pool:
    """One a process; a forked child has its own."""
    global _pool  # noqa: PLW0603
    with _lock:
        if _pool is None or _pool[0] != os.getpid():
            _pool = (os.getpid(), make())
        return _pool[1]


def drop_pool() -> Pool | None:
    global _pool  # noqa: PLW0603
    with _lock:
        pool = _pool[1] if _pool is not None and _pool[0] == os.getpid() else None
        _pool = None
        return pool
