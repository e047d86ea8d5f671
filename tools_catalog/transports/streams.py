"""What the transports share: the pair of streams they yield, and the HTTP client."""

import ipaddress

import httpx2
from mcp.client import Transport
from mcp.client._transport import TransportStreams

from tools_catalog.transports.diagnosis import Diagnosis
from tools_catalog.types import Target

Streams = TransportStreams
__all__ = ["Streams", "Transport", "http_client"]

CONNECT_SECONDS = 10.0
SILENCE_SECONDS = 300.0
"""How long a stream may say nothing. Requests have time-outs of their own."""


def http_client(target: Target, diagnosis: Diagnosis) -> httpx2.AsyncClient:
    async def note(response: httpx2.Response) -> None:
        diagnosis.http_status = f"HTTP {response.status_code}" if response.status_code >= 400 else ""

    return httpx2.AsyncClient(
        headers=dict(target.headers),
        timeout=httpx2.Timeout(CONNECT_SECONDS, read=SILENCE_SECONDS),
        event_hooks={"response": [note]},
        trust_env=not _is_local(target.url),  # no proxy leads to this machine
    )


def _is_local(url: str) -> bool:
    host = httpx2.URL(url).host
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
