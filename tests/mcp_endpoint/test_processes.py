"""The endpoint as it is run: several web workers, and a process that speaks over its standard input."""

import os
import sys

import anyio
import httpx2
import pytest
from mcp import Client, StdioServerParameters

from tests.config.service import Service
from tests.mcp_endpoint.agent import MODES, Mode, agent
from tests.processes import ROOT

SEARCH = {"query": "schedule a meeting with John", "limit": 1}


def url(service: Service) -> str:
    return str(service.http.base_url).rstrip("/")


@pytest.mark.parametrize("mode", MODES)
def test_every_worker_answers_any_request_of_a_session(service: Service, mode: Mode) -> None:
    """Many agents at once, each with requests in a row: with sessions kept in one worker, some would be lost."""
    workers = {child.pid for child in service.program("granian").children()}
    assert len(workers) >= 2

    async def work() -> list[str]:
        found: list[str] = []

        async def one() -> None:
            async with agent(url(service), service.key(), mode) as client:
                for _ in range(4):
                    answer = await client.call_tool("search_tools", SEARCH)
                    found.append(answer.structured_content["tools"][0]["id"])

        async with anyio.create_task_group() as group:
            for _ in range(6):
                group.start_soon(one)
        return found

    assert anyio.run(work) == ["slotwren__create_event"] * 24


def test_the_printed_key_opens_what_a_write_needs(service: Service) -> None:
    path = service.folder / "api_key"
    assert path.read_text() == service.key()
    assert path.stat().st_mode & 0o777 == 0o600
    for headers, status in (({}, 401), ({"X-API-Key": service.key()}, 409)):  # the demo's servers are fictional
        answer = httpx2.post(f"{url(service)}/tools/slotwren__create_event", json=EVENT, headers=headers)
        assert answer.status_code == status, answer.text


EVENT = {"title": "x", "start": "2026-11-15T10:00:00Z", "end": "2026-11-15T11:00:00Z"}


@pytest.mark.parametrize("mode", MODES)
def test_over_standard_input(service: Service, mode: Mode) -> None:
    command = StdioServerParameters(
        command=sys.executable,
        args=["-m", "cli", "mcp"],
        cwd=str(ROOT),
        env={"TOOLSCRIPT_DATA_DIR": str(service.folder), "PATH": os.environ["PATH"], "TOOLSCRIPT_LOG_LEVEL": "ERROR"},
    )

    async def work() -> tuple[list[str], str]:
        async with Client(command, mode=mode) as client:
            tools = [tool.name for tool in (await client.list_tools()).tools]
            answer = await client.call_tool("search_tools", SEARCH)
            return tools, answer.structured_content["tools"][0]["id"]

    tools, best = anyio.run(work)
    assert len(tools) == 5
    assert best == "slotwren__create_event"
