"""A newcomer with two servers in `.toolscript.json`, and no other configuration."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.config.service import Service, running
from tests.processes import eventually

BIN = Path(sys.executable).parent


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("servers")
    repository = folder / "repository"
    subprocess.run(["git", "init", "-q", str(repository)], check=True)
    time = {"command": str(BIN / "mcp-server-time"), "args": ["--local-timezone", "UTC"]}
    git = {"command": str(BIN / "mcp-server-git"), "args": ["--repository", str(repository)]}
    (folder / "data.toolscript.json").write_text(json.dumps({"mcpServers": {"time": time, "git": git}}))
    with running(folder / "data") as service:
        yield service


def found(service: Service, query: str) -> list[str]:
    answer = service.http.post("/api/v1/search", json={"query": query, "strategy": "direct"}).json()
    return [tool["name"] for tool in answer["tools"]]


def test_sees_both_synced(service: Service) -> None:
    said = service.said()
    assert f"Configuration: 2 servers in {service.config}" in said
    for name in ("time", "git"):
        assert f"  {name}: " in said
    assert "not synced" not in said


def test_finds_their_tools(service: Service) -> None:
    assert eventually(lambda: found(service, "what time is it in Tokyo")[:1] == ["get_current_time"], 60)
    assert eventually(
        lambda: found(service, "show the working tree status of the repository")[:1] == ["git_status"], 60
    )


def test_calls_a_tool(service: Service) -> None:
    body = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}
    answer = service.http.post("/tools/time__convert_time", json=body, headers=service.credential()).json()
    assert "T21:00:00+09:00" in answer["content"][0]["text"]
    assert answer["isError"] is False


def test_changes_the_file_and_starts_again(service: Service) -> None:
    servers = json.loads(service.config.read_text())["mcpServers"]
    service.config.write_text(json.dumps({"mcpServers": {"time": servers["time"], "hangs": {"command": "cat"}}}))
    service.stop()
    service.start()
    assert "No longer configured, so not served: git" in service.said()
    assert "  hangs: " in service.said()
    assert found(service, "show the working tree status of the repository")[:1] != ["git_status"]
