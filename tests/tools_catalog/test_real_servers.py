"""Syncs of servers that others wrote, over all three transports."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.service import free_port
from tests.mcp_servers.made import url_server
from tests.mcp_servers.sdk import http_server
from tests.node import npm_package
from tests.processes import eventually
from tests.pypi import pypi_server
from tools_catalog.models import Server, SyncRun, Tool
from tools_catalog.services.sync import server_sync

pytestmark = pytest.mark.django_db(transaction=True)
BIN = Path(sys.executable).parent
EVERYTHING = "@modelcontextprotocol/server-everything"


def sync(server: Server) -> SyncRun:
    run = server_sync(server.pk, trigger="manual")
    assert run is not None
    assert (run.state, run.error) == ("done", "")
    return run


def stdio(name: str, command: str, *args: str, **variables: str) -> Server:
    env: Any = variables
    return Server.objects.create(
        name=name, source="admin", transport="stdio", command=command, args=list(args), env=env, timeout_seconds=60
    )


def names(kind: str = "tool") -> set[str]:
    return set(Tool.objects.filter(type=kind).values_list("name", flat=True))


def test_mcp_server_time() -> None:
    run = sync(stdio("time", str(BIN / "mcp-server-time"), "--local-timezone", "UTC"))
    assert (run.created, names()) == (2, {"get_current_time", "convert_time"})
    schema = Tool.objects.get(name="convert_time").input_schema
    assert set(schema["required"]) == {"source_timezone", "time", "target_timezone"}


def test_mcp_server_git(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    run = sync(stdio("git", str(BIN / "mcp-server-git"), "--repository", str(tmp_path)))
    assert {"git_status", "git_commit", "git_diff"} <= names()
    assert (run.created, run.refused) == (run.seen, 0)


def test_mcp_server_calculator() -> None:
    """Made with the first generation of the SDK, so it runs with libraries of its own."""
    home = pypi_server("mcp-server-calculator", "mcp<2")
    server = stdio("calculator", sys.executable, "-m", "mcp_server_calculator", PYTHONPATH=str(home))
    sync(server)
    assert names() == {"calculate"}
    assert sync(server).unchanged == 1


def check_everything(server: Server) -> None:
    run = sync(server)
    assert {"echo", "get-sum"} <= names()
    assert names("prompt")
    assert names("resource")
    assert run.seen == run.created + run.refused
    again = sync(server)
    assert (again.created, again.changed, again.missing) == (0, 0, 0)


def test_everything_over_stdio() -> None:
    folder = npm_package(EVERYTHING)
    check_everything(stdio("everything", "node", str(folder / "dist/index.js"), "stdio"))


@pytest.fixture
def everything_over_http() -> Iterator[str]:
    folder, port = npm_package(EVERYTHING), free_port()
    command = ["node", str(folder / "dist/index.js"), "streamableHttp"]
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(command, env={**os.environ, "PORT": str(port)}, stdout=quiet, stderr=quiet)
    try:
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.kill()
        process.wait()


def test_everything_over_streamable_http(everything_over_http: str) -> None:
    server = url_server("everything", "http", everything_over_http, timeout=20)
    assert eventually(lambda: is_there(server))
    check_everything(server)


def is_there(server: Server) -> bool:
    run = server_sync(server.pk, trigger="manual")
    found = run is not None and run.state == "done"
    if found:
        Tool.objects.all().delete()
    return found


@pytest.mark.parametrize(("transport", "path"), [("http", "/mcp"), ("sse", "/sse")])
def test_a_server_of_the_sdk_over_http(transport: str, path: str) -> None:
    with http_server(transport) as there:
        server = url_server("polite", transport, there.url(path), headers={"X-Team": "tools"})
        assert sync(server).created == 1
        assert all(seen["x-team"] == "tools" for seen in there.headers_seen)
    tool = Tool.objects.get()
    assert (tool.name, tool.description) == ("greet", "Greet a person by name.")
    assert json.dumps(tool.input_schema["properties"])
    assert Server.objects.get().title == "Polite server"
