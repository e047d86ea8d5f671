"""How many calls a process may have under way, and how many it may begin in a minute."""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

MINUTE = 60.0


class Limits:
    def __init__(
        self,
        concurrency: int,
        per_minute: int,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._slots = threading.BoundedSemaphore(concurrency)
        self._per_minute = per_minute
        self._begun: deque[float] = deque()
        self._lock = threading.Lock()
        self._clock = clock
        self._sleep = sleep

    @contextmanager
    def slot(self) -> Iterator[None]:
        """Waits until a call may begin."""
        with self._slots:
            while (wait := self._wait()) > 0:
                self._sleep(wait)
            yield

    def _wait(self) -> float:
        """0, and the call counts; or how long until one more may begin."""
        if not self._per_minute:
            return 0.0
        with self._lock:
            now = self._clock()
            while self._begun and now - self._begun[0] >= MINUTE:
                self._begun.popleft()
            if len(self._begun) < self._per_minute:
                self._begun.append(now)
                return 0.0
            return max(MINUTE - (now - self._begun[0]), 0.001)
