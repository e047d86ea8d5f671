"""One event loop per process, in a thread of its own, for what is asynchronous by nature: sessions with MCP servers."""

import asyncio
import os
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

from core.errors import UpstreamTimeout

T = TypeVar("T")

_lock = threading.Lock()
_running: tuple[int, asyncio.AbstractEventLoop] | None = None


def background_loop() -> asyncio.AbstractEventLoop:
    """Started on first use. A forked child does not inherit the thread, so it gets a loop of its own."""
    global _running  # noqa: PLW0603
    with _lock:
        if _running is None or _running[0] != os.getpid():
            loop = asyncio.new_event_loop()
            threading.Thread(target=loop.run_forever, name="background-loop", daemon=True).start()
            _running = (os.getpid(), loop)
        return _running[1]


def run(coroutine: Coroutine[Any, Any, T], timeout: float) -> T:
    """Runs it on the background loop and waits for it. When time is up it is cancelled."""
    future = asyncio.run_coroutine_threadsafe(coroutine, background_loop())
    try:
        return future.result(timeout)
    except TimeoutError:
        if future.done():  # the coroutine's own time-out, not ours
            raise
        future.cancel()
        raise UpstreamTimeout(f"No answer within {timeout:g} seconds.") from None
