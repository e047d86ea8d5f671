"""Streamable HTTP."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from mcp.client.streamable_http import streamable_http_client

from tools_catalog.transports.diagnosis import Diagnosis
from tools_catalog.transports.streams import Streams, http_client
from tools_catalog.types import Target


@asynccontextmanager
async def streams(target: Target, diagnosis: Diagnosis) -> AsyncIterator[Streams]:
    # Without a limit for one event: lists of some megabytes exist, and the deadline bounds what may come.
    async with (
        http_client(target, diagnosis) as client,
        streamable_http_client(target.url, http_client=client, max_sse_event_size=None) as pair,
    ):
        yield pair
