"""The endpoint over standard input and output, for as long as its input lasts."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from mcp.server.stdio import stdio_server

from mcp_endpoint.server import server
from mcp_endpoint.types import find_caller, threads
from tenants.types import Caller

AT_ONCE = 8


async def serve(identify: Callable[[], Caller]) -> None:
    """`identify` is asked at every request, so that a revoked key ends with the next one."""
    find_caller.set(identify)
    endpoint = server()
    with in_threads():
        async with stdio_server() as (read, write):
            await endpoint.run(read, write, endpoint.create_initialization_options())


@contextmanager
def in_threads() -> Iterator[None]:
    """An agent asks several things at once: a tool that takes long must not hold up its searches."""
    with ThreadPoolExecutor(AT_ONCE, "mcp") as pool:
        token = threads.set(pool)
        try:
            yield
        finally:
            threads.reset(token)
