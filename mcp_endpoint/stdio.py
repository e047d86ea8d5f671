"""The endpoint over standard input and output, for as long as its input lasts."""

from collections.abc import Callable

from mcp.server.stdio import stdio_server

from mcp_endpoint.server import server
from mcp_endpoint.types import find_caller
from tenants.types import Caller


async def serve(identify: Callable[[], Caller]) -> None:
    """`identify` is asked at every request, so that a revoked key ends with the next one."""
    find_caller.set(identify)
    endpoint = server()
    async with stdio_server() as (read, write):
        await endpoint.run(read, write, endpoint.create_initialization_options())
