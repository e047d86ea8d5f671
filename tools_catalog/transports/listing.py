"""Everything a server publishes: all lists, all pages, within one deadline."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types import METHOD_NOT_FOUND

from core.errors import UpstreamError, UpstreamTimeout
from tools_catalog.transports.cleaner import Cleaner
from tools_catalog.transports.client import connect
from tools_catalog.transports.references import resolve
from tools_catalog.transports.tolerant import Tap
from tools_catalog.types import Listing, Target

MAX_PAGES = 1000
MAX_ITEMS = 50_000
CONNECT_SHARE = 0.7
"""How much of the deadline connecting may take: the lists need some of it too."""

Stage = Callable[[str], None]
"""Told what is being done now."""


@dataclass(frozen=True, slots=True)
class _List:
    what: str
    fetch: Callable[..., Awaitable[Any]]


async def listing(target: Target, *, seconds: float, stage: Stage) -> Listing:
    tap = Tap()
    loop = asyncio.get_running_loop()
    deadline = loop.time() + seconds
    stage("connecting")
    async with connect(target, seconds=seconds * CONNECT_SHARE, tap=tap) as client:
        left = max(deadline - loop.time(), seconds * (1 - CONNECT_SHARE))
        try:
            async with asyncio.timeout(left):
                for each in _lists(client):
                    stage(f"reading {each.what}")
                    await _read(each, tap)
        except TimeoutError:
            raise UpstreamTimeout(f"{target.name} did not answer within {seconds:g} seconds.") from None
        return _listing(client, target, tap)


def _lists(client: Client) -> list[_List]:
    """Tools are asked for always. A server without tools says so, and some forget to announce theirs."""
    can = client.server_capabilities
    lists = [_List("tools", client.list_tools)]
    if can.prompts is not None:
        lists.append(_List("prompts", client.list_prompts))
    if can.resources is not None:
        lists.append(_List("resources", client.list_resources))
        lists.append(_List("resource templates", client.list_resource_templates))
    return lists


async def _read(each: _List, tap: Tap) -> None:
    cursor: str | None = None
    seen: set[str] = set()
    try:
        for _ in range(MAX_PAGES):
            page = await each.fetch(cursor=cursor, cache_mode="bypass")
            cursor = page.next_cursor
            if not cursor:
                return
            if cursor in seen or len(tap.items) > MAX_ITEMS:
                raise UpstreamError(f"Its list of {each.what} does not end.")
            seen.add(cursor)
        raise UpstreamError(f"Its list of {each.what} has more than {MAX_PAGES} pages.")
    except MCPError as exc:
        if exc.code != METHOD_NOT_FOUND:  # announced, or not, and unknown to the server: there are none
            raise


def _listing(client: Client, target: Target, tap: Tap) -> Listing:
    _, secrets = resolve(target)
    clean = Cleaner(secrets)
    can = client.server_capabilities
    announces = any(part is not None and part.list_changed for part in (can.tools, can.prompts, can.resources))
    info = client.server_info
    return Listing(
        items=[clean.item(*item) for item in tap.items],
        protocol=client.protocol_version,
        announces=announces,
        title=secrets.hide((info.title if info else None) or ""),
        instructions=secrets.hide(client.instructions or ""),
    )
