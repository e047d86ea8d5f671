import asyncio
import signal
import time
from contextlib import suppress
from datetime import datetime
from typing import Any

from django.core.management.base import BaseCommand

from tools_catalog.services.listening import Listener
from tools_catalog.services.schedule import servers_due
from tools_catalog.services.sync import runs_reap
from tools_catalog.tasks import start_syncs

REAP_SECONDS = 5.0
AGAIN_SECONDS = 60.0


class Command(BaseCommand):
    help = (
        "Listens to servers that announce changes of their tools, and starts syncs within a second of being due. "
        "Runs until it is stopped. Without it, syncs that are due start within a minute, and announcements go unheard."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        asyncio.run(_run())


async def _run() -> None:
    task = asyncio.create_task(Listener(Starter()).run())
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    with suppress(asyncio.CancelledError):  # asked to stop
        await task


class Starter:
    """Starts what is due, each wish once; again after a while, in case the message was lost."""

    def __init__(self) -> None:
        self._started: dict[int, tuple[datetime | None, float]] = {}
        self._reaped = 0.0

    def __call__(self) -> None:
        now = time.monotonic()
        if now - self._reaped > REAP_SECONDS:
            self._reaped = now
            runs_reap()
        due = servers_due()
        fresh = [pk for pk, at in due.items() if self._is_new(pk, at, now)]
        start_syncs(fresh)
        self._started = {pk: (at, now) if pk in fresh else self._started[pk] for pk, at in due.items()}

    def _is_new(self, pk: int, at: datetime | None, now: float) -> bool:
        before = self._started.get(pk)
        return before is None or before[0] != at or now - before[1] > AGAIN_SECONDS
