"""What is served over standard input and output. The process itself is in test_processes."""

import threading

import anyio
import pytest

from mcp_endpoint.server import served
from mcp_endpoint.stdio import in_threads
from tenants.types import Caller

LONG = 30.0


@pytest.mark.django_db(transaction=True)
def test_a_tool_that_takes_long_holds_up_nobody_else() -> None:
    asked = threading.Event()
    in_time: list[bool] = []

    def slow(caller: Caller) -> None:
        in_time.append(asked.wait(LONG))

    def quick(caller: Caller) -> None:
        asked.set()

    async def both() -> None:
        with in_threads():
            async with anyio.create_task_group() as group:
                group.start_soon(served, slow)
                await anyio.sleep(0.2)  # so that it is the first in any queue
                group.start_soon(served, quick)

    anyio.run(both)
    assert in_time == [True]
