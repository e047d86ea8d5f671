"""The official client, as an agent uses it."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Literal, TypeVar

import anyio
import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

T = TypeVar("T")
Mode = Literal["auto", "legacy"]
MODES: list[Mode] = ["auto", "legacy"]


@asynccontextmanager
async def agent(url: str, key: str = "", mode: Mode = "auto") -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=30) as http,
        Client(streamable_http_client(f"{url}/mcp", http_client=http), mode=mode) as client,
    ):
        yield client


def session(work: Callable[[Client], Awaitable[T]], url: str, key: str = "", mode: Mode = "auto") -> T:
    async def run() -> T | MCPError:
        async with agent(url, key, mode) as client:
            try:
                return await work(client)
            except MCPError as exc:  # raised in here it would come out wrapped in a group
                return exc

    result = anyio.run(run)
    if isinstance(result, MCPError):
        raise result
    return result


def call(url: str, key: str, tool: str, mode: Mode = "auto", **arguments: Any) -> Any:
    return session(lambda client: client.call_tool(tool, arguments), url, key, mode)


def words(result: Any) -> str:
    return "\n".join(block.text for block in result.content if block.type == "text")
