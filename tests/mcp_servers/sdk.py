"""A server made with the official SDK, over streamable HTTP and SSE, in a thread of the tests."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from mcp.server.mcpserver import MCPServer
from mcp.server.subscriptions import InMemorySubscriptionBus
from mcp.shared.subscriptions import ToolsListChanged

from benchmarks.service import free_port


@dataclass
class HttpServer:
    port: int
    app: Any
    bus: InMemorySubscriptionBus
    server: MCPServer
    headers_seen: list[dict[str, str]] = field(default_factory=list)
    token: str = ""
    """Asked for in the Authorization header, where it is set."""
    loop: asyncio.AbstractEventLoop | None = None

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    def announce(self) -> None:
        assert self.loop is not None
        asyncio.run_coroutine_threadsafe(self.bus.publish(ToolsListChanged()), self.loop).result(5)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            self.loop = asyncio.get_running_loop()
        elif scope["type"] == "http":
            headers = {k.decode(): v.decode() for k, v in scope["headers"]}
            self.headers_seen.append(headers)
            if self.token and headers.get("authorization") != f"Bearer {self.token}":
                await send({"type": "http.response.start", "status": 401, "headers": []})
                await send({"type": "http.response.body", "body": headers.get("authorization", "").encode()})
                return
        await self.app(scope, receive, send)


def greet(name: str) -> str:
    """Greet a person by name."""
    return f"Hello, {name}!"


def part(name: str) -> str:
    """Say goodbye to a person."""
    return f"Goodbye, {name}!"


@contextmanager
def http_server(kind: str = "http") -> Iterator[HttpServer]:
    bus = InMemorySubscriptionBus()
    mcp = MCPServer("polite", title="Polite server", instructions="Greets.", subscriptions=bus)
    mcp.add_tool(greet)
    app = mcp.streamable_http_app() if kind == "http" else mcp.sse_app()
    server = HttpServer(free_port(), app, bus, mcp)
    config = uvicorn.Config(server, port=server.port, log_level="critical", timeout_graceful_shutdown=1)
    uvi = uvicorn.Server(config)
    thread = threading.Thread(target=uvi.run, daemon=True)
    thread.start()
    while not uvi.started:
        assert thread.is_alive()
        thread.join(0.01)
    try:
        yield server
    finally:
        uvi.should_exit = True
        thread.join(10)
