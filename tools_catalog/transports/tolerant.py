"""Takes out of a server's lists what the SDK would refuse the whole list for.

One tool whose schema lacks a `type` makes `list_tools()` raise, and with it every call of another tool that the
client has to look up first. So the items are looked at one by one while they come in, and the bad ones are put aside.
"""

from collections.abc import Mapping
from typing import Any

from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCResponse
from mcp_types.methods import validate_server_result
from mcp_types.version import LATEST_HANDSHAKE_VERSION, LATEST_MODERN_VERSION
from pydantic import ValidationError

from tools_catalog.transports.streams import Streams

LISTS = {
    "tools": "tools/list",
    "prompts": "prompts/list",
    "resources": "resources/list",
    "resourceTemplates": "resources/templates/list",
}
MODERN_FRAME = {"resultType": "complete", "ttlMs": 0, "cacheScope": "public"}


class Tap:
    """Keeps what passes by, exactly as the server wrote it: (list, item, why the SDK would refuse it or nothing)."""

    def __init__(self) -> None:
        self.items: list[tuple[str, Any, str]] = []


class TolerantReader:
    """A read stream whose list results hold only items that pass."""

    def __init__(self, inner: Any, tap: Tap | None) -> None:
        self._inner = inner
        self._tap = tap
        self._version = LATEST_MODERN_VERSION

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def receive(self) -> Any:
        return self._mended(await self._inner.receive())

    def __aiter__(self) -> "TolerantReader":
        return self

    async def __anext__(self) -> Any:
        return self._mended(await self._inner.__anext__())

    async def __aenter__(self) -> "TolerantReader":
        await self._inner.__aenter__()
        return self

    async def __aexit__(self, *exc: Any) -> bool | None:
        closed: bool | None = await self._inner.__aexit__(*exc)
        return closed

    async def aclose(self) -> None:
        await self._inner.aclose()

    def _mended(self, item: Any) -> Any:
        message = item.message if isinstance(item, SessionMessage) else None
        if isinstance(message, JSONRPCResponse) and isinstance(message.result, dict):
            self._mend(message.result)
        return item

    def _mend(self, result: dict[str, Any]) -> None:
        if "protocolVersion" in result:
            self._version = LATEST_HANDSHAKE_VERSION
        for key in LISTS:
            items = result.get(key)
            if isinstance(items, list) and "content" not in result:
                reasons = [objection(key, item, self._version) for item in items]
                if self._tap is not None:
                    self._tap.items += [(key, item, why) for item, why in zip(items, reasons, strict=True)]
                result[key] = [item for item, why in zip(items, reasons, strict=True) if not why]


def objection(key: str, item: Any, version: str = LATEST_HANDSHAKE_VERSION) -> str:
    """Why the protocol refuses this item, or nothing."""
    frame: Mapping[str, Any] = MODERN_FRAME if version == LATEST_MODERN_VERSION else {}
    try:
        validate_server_result(LISTS[key], version, {key: [item], **frame})
    except ValidationError as exc:
        return _why(exc)
    return ""


def _why(error: ValidationError) -> str:
    """The first complaint in words, without the value: it can be long, and it is the server's."""
    first = error.errors(include_input=False, include_url=False)[0]
    path = ".".join(str(part) for part in first["loc"][2:])
    return f"{path}: {first['msg']}" if path else first["msg"]


def tolerant(pair: Streams, tap: Tap | None) -> Streams:
    reader, writer = pair
    return TolerantReader(reader, tap), writer
