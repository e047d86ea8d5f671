import time
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Cached(Generic[T]):
    """A value that is loaded again once it is older than `seconds`. A failing load keeps nothing.

    Two threads may load it at once: that costs less than one waiting for the other's slow database.
    """

    def __init__(self, load: Callable[[], T], seconds: Callable[[], float]) -> None:
        self._load = load
        self._seconds = seconds
        self._entry: tuple[float, T] | None = None

    def get(self) -> T:
        entry = self._entry
        if entry is None or time.monotonic() - entry[0] >= self._seconds():
            self._entry = None
            entry = self._entry = (time.monotonic(), self._load())
        return entry[1]
