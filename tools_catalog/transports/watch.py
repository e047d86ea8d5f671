"""Tells the keeper of a session when the other side is gone, which the SDK tells only to requests under way."""

import asyncio
from typing import Any

from tools_catalog.transports.diagnosis import Diagnosis
from tools_catalog.transports.references import Secrets
from tools_catalog.transports.streams import Streams


class Watch:
    def __init__(self) -> None:
        self.ended = asyncio.Event()
        self.secrets = Secrets(set())
        self.diagnosis = Diagnosis()

    def hint(self) -> str:
        """What the server said last, for the log."""
        return self.diagnosis.hint(self.secrets)


class WatchedReader:
    def __init__(self, inner: Any, watch: Watch) -> None:
        self._inner = inner
        self._watch = watch

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def receive(self) -> Any:
        try:
            return await self._inner.receive()
        except BaseException:
            self._watch.ended.set()
            raise

    def __aiter__(self) -> "WatchedReader":
        return self

    async def __anext__(self) -> Any:
        try:
            return await self._inner.__anext__()
        except BaseException:
            self._watch.ended.set()
            raise

    async def __aenter__(self) -> "WatchedReader":
        await self._inner.__aenter__()
        return self

    async def __aexit__(self, *exc: Any) -> bool | None:
        closed: bool | None = await self._inner.__aexit__(*exc)
        return closed

    async def aclose(self) -> None:
        await self._inner.aclose()


def watched(pair: Streams, watch: Watch | None) -> Streams:
    reader, writer = pair
    return (WatchedReader(reader, watch), writer) if watch is not None else pair
