"""Many calls at once through the whole service, while servers are killed and come back."""

import asyncio
import json
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import httpx2
import psutil
import pytest

from tests.config.service import Service, running
from tests.processes import ROOT, eventually
from tests.tools_catalog.gateway_world import HttpProgram, bin_path, http_test_program

PROGRAM = ROOT / "tests" / "tools_catalog" / "gateway_server.py"


@pytest.fixture(scope="module")
def program() -> Iterator[HttpProgram]:
    with http_test_program() as program:
        yield program


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory, program: HttpProgram) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("calls")
    servers: dict[str, Any] = {
        "clock": {"command": bin_path("mcp-server-time"), "args": ["--local-timezone", "UTC"]},
        "parrot": {"command": sys.executable, "args": [str(PROGRAM)]},
        "remote": {"type": "http", "url": program.url},
    }
    (folder / "data.toolscript.json").write_text(json.dumps({"mcpServers": servers}))
    with running(folder / "data") as service:
        yield service


def call(service: Service, tool_id: str, **arguments: Any) -> Any:
    answer = service.http.post(f"/tools/{tool_id}", json=arguments, headers=service.credential())
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_all_servers_are_synced(service: Service) -> None:
    def synced() -> bool:
        servers = service.http.get("/servers").json()
        return {s["name"] for s in servers if s["tools"] and not s["stale"]} == {"clock", "parrot", "remote"}

    assert eventually(synced, 60), service.said()


def test_200_calls_over_http_while_servers_are_killed_and_come_back(service: Service, program: HttpProgram) -> None:
    async def one(http: httpx2.AsyncClient, number: int) -> tuple[int, bool]:
        name = ("clock", "parrot", "remote")[number % 3]
        if name == "clock":
            body = {"source_timezone": "UTC", "time": f"{number % 24:02}:{number % 60:02}", "target_timezone": "UTC"}
            answer = await http.post("/tools/clock__convert_time", json=body)
            right = f"T{number % 24:02}:{number % 60:02}:00" in answer.text
        else:
            body = {"seconds": 0.02 * (number % 5), "text": f"{name} {number}"}  # type: ignore[dict-item]
            answer = await http.post(f"/tools/{name}__wait", json=body)
            right = f'"{name} {number}"' in answer.text
        if answer.status_code in (502, 504):
            return answer.status_code, answer.json()["error"]["code"] == "UPSTREAM_ERROR"
        return answer.status_code, right

    async def all_of_them() -> list[tuple[int, bool]]:
        limits = httpx2.Limits(max_connections=200)
        address = str(service.http.base_url)
        options: Any = {"timeout": 120, "limits": limits, "trust_env": False, "headers": service.credential()}
        async with httpx2.AsyncClient(base_url=address, **options) as http:
            calls = [asyncio.create_task(one(http, number)) for number in range(200)]
            await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
            for child in service.servers(PROGRAM):
                with suppress(psutil.NoSuchProcess):  # one that was not needed any more
                    child.kill()
            await asyncio.to_thread(program.kill)
            await asyncio.to_thread(program.start)
            return [await task for task in calls]

    results = asyncio.run(all_of_them())
    print(f"\n{sum(status == 200 for status, _ in results)} of 200 answered")
    assert {status for status, _ in results} <= {200, 502, 504}
    assert all(right for _, right in results)
    for name in ("parrot", "remote"):
        assert call(service, f"{name}__wait", seconds=0, text="after")["content"][0]["text"] == "after"


def test_no_server_is_left_when_it_stops(service: Service) -> None:
    servers = service.servers(PROGRAM)
    assert servers
    assert service.stop() == 0
    _, alive = psutil.wait_procs(servers, timeout=5)
    assert alive == []
