"""One HTTP request handed to the SDK's ASGI application and its answer, for a server that speaks WSGI.

The request is stateless: a transport of its own, a short-lived event loop of its own, and JSON instead of a stream,
so that any worker can answer any request. What handlers do in threads runs in the thread that asked, on its own
database connections.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from asgiref.sync import async_to_sync
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings

from mcp_endpoint.server import server


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    status: int
    headers: dict[str, str]
    body: bytes


def exchange(headers: Mapping[str, str], body: bytes, *, host: str, origins: list[str], limit: int) -> HttpAnswer:
    """`host` was checked already; `origins` are the web pages that may ask."""
    security = TransportSecuritySettings(allowed_hosts=[host], allowed_origins=origins)
    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": "/mcp",
        "raw_path": b"/mcp",
        "root_path": "",
        "query_string": b"",
        "headers": [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()],
        "client": None,
        "server": None,
    }
    return async_to_sync(_answered)(scope, body, security, limit)


async def _answered(scope: dict[str, Any], body: bytes, security: TransportSecuritySettings, limit: int) -> HttpAnswer:
    manager = StreamableHTTPSessionManager(
        app=server(), json_response=True, stateless=True, security_settings=security, max_request_body_size=limit
    )
    sent: list[dict[str, Any]] = []
    unread = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> dict[str, Any]:
        if unread:
            return unread.pop()
        await asyncio.Event().wait()  # the caller stays: WSGI cannot say that it went away
        raise AssertionError

    async def send(message: Any) -> None:
        sent.append(message)

    async with manager.run():
        await manager.handle_request(scope, receive, send)
    start = next(message for message in sent if message["type"] == "http.response.start")
    content = b"".join(message.get("body", b"") for message in sent if message["type"] == "http.response.body")
    return HttpAnswer(
        start["status"], {name.decode("latin-1"): value.decode("latin-1") for name, value in start["headers"]}, content
    )
