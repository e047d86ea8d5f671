"""The endpoint over standard input and output: one caller for as long as it runs."""

from mcp.server.stdio import stdio_server

from mcp_endpoint.server import server
from mcp_endpoint.types import caller_now
from tenants.types import Caller


async def serve(caller: Caller) -> None:
    caller_now.set(caller)
    endpoint = server()
    async with stdio_server() as (read, write):
        await endpoint.run(read, write, endpoint.create_initialization_options())
