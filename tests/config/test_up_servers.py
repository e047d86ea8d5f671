"""A newcomer with servers in `.toolscript.json`, and no other configuration: found, called all at once, gone again."""

import asyncio
import json
import subprocess
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
    folder = tmp_path_factory.mktemp("servers")
    repository = folder / "repository"
    subprocess.run(["git", "init", "-q", str(repository)], check=True)
    servers: dict[str, Any] = {
        "time": {"command": bin_path("mcp-server-time"), "args": ["--local-timezone", "UTC"]},
        "git": {"command": bin_path("mcp-server-git"), "args": ["--repository", str(repository)]},
        "parrot": {"command": sys.executable, "args": [str(PROGRAM)]},
        "remote": {"type": "http", "url": program.url},
    }
    (folder / "data.toolscript.json").write_text(json.dumps({"mcpServers": servers}))
    with running(folder / "data") as service:
        yield service


def found(service: Service, query: str) -> list[str]:
    answer = service.http.post("/api/v1/search", json={"query": query, "strategy": "direct"}).json()
    return [tool["name"] for tool in answer["tools"]]


def test_sees_all_synced(service: Service) -> None:
    said = service.said()
    assert f"Configuration: 4 servers in {service.config}" in said
    for name in ("time", "git", "parrot", "remote"):
        assert f"  {name}: " in said
    assert "not synced" not in said


def test_finds_their_tools(service: Service) -> None:
    assert eventually(lambda: found(service, "what time is it in Tokyo")[:1] == ["get_current_time"], 60)
    assert eventually(
        lambda: found(service, "show the working tree status of the repository")[:1] == ["git_status"], 60
    )


def call(service: Service, tool_id: str, **arguments: Any) -> Any:
    answer = service.http.post(f"/tools/{tool_id}", json=arguments, headers=service.credential())
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_calls_a_tool(service: Service) -> None:
    body = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}
    answer = service.http.post("/tools/time__convert_time", json=body, headers=service.credential()).json()
    assert "T21:00:00+09:00" in answer["content"][0]["text"]
    assert answer["isError"] is False


def test_200_calls_over_http_while_servers_are_killed_and_come_back(service: Service, program: HttpProgram) -> None:
    async def one(http: httpx2.AsyncClient, number: int) -> tuple[int, bool]:
        name = ("time", "parrot", "remote")[number % 3]
        if name == "time":
            body = {"source_timezone": "UTC", "time": f"{number % 24:02}:{number % 60:02}", "target_timezone": "UTC"}
            answer = await http.post("/tools/time__convert_time", json=body)
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


def test_changes_the_file_and_starts_again(service: Service) -> None:
    servers = json.loads(service.config.read_text())["mcpServers"]
    kept = {"time": servers["time"], "parrot": servers["parrot"], "hangs": {"command": "cat"}}
    service.config.write_text(json.dumps({"mcpServers": kept}))
    service.stop()
    service.start()
    assert "No longer configured, so not served: git" in service.said()
    assert "  hangs: " in service.said()
    assert found(service, "show the working tree status of the repository")[:1] != ["git_status"]


def test_no_server_is_left_when_it_stops(service: Service) -> None:
    call(service, "parrot__wait", seconds=0, text="once more")
    servers = service.servers(PROGRAM)
    assert servers
    assert service.stop() == 0
    _, alive = psutil.wait_procs(servers, timeout=5)
    assert alive == []
