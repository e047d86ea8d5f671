"""HTTP with server-sent events: what servers spoke before streamable HTTP."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
from mcp.client.sse import sse_client

from tools_catalog.transports.diagnosis import Diagnosis
from tools_catalog.transports.streams import Streams, http_client
from tools_catalog.types import Target


@asynccontextmanager
async def streams(target: Target, diagnosis: Diagnosis) -> AsyncIterator[Streams]:
    def factory(headers: Any = None, timeout: Any = None, auth: Any = None) -> httpx2.AsyncClient:
        return http_client(target, diagnosis)

    async with sse_client(target.url, httpx_client_factory=factory) as pair:
        yield pair
