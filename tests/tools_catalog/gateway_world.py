"""Real servers behind the gateway, in the catalogue of the tests."""

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import psutil

from benchmarks.service import free_port
from core import loop
from tests.processes import ROOT, cmdline, eventually
from tools_catalog.models import Server
from tools_catalog.published import prompt_spec, resource_spec, tool_spec
from tools_catalog.selectors import server_target
from tools_catalog.services.catalog import tools_upsert
from tools_catalog.transports.client import connect
from tools_catalog.types import ToolSpec

PROGRAM = ROOT / "tests" / "tools_catalog" / "gateway_server.py"


def add_server(name: str, **fields: Any) -> Server:
    """In the catalogue with all it publishes."""
    server = Server.objects.create(name=name, source="admin", **fields)
    publish(server)
    return server


_published: dict[Any, tuple[ToolSpec, ...]] = {}


def publish(server: Server) -> None:
    """Each is asked once: what they publish is the same every time."""
    key = (server.command, *server.args) if server.command else server.url
    if key not in _published:
        _published[key] = tuple(loop.run(listed(server), 30))
    tools_upsert(server, _published[key])


async def listed(server: Server) -> list[Any]:
    async with connect(server_target(server), seconds=20) as client:
        offered = client.server_capabilities
        tools = (await client.list_tools()).tools
        prompts = (await client.list_prompts()).prompts if offered.prompts else []
        resources: list[Any] = []
        if offered.resources:
            resources = [*(await client.list_resources()).resources]
            resources += (await client.list_resource_templates()).resource_templates
        return [
            *(tool_spec(plain(item)) for item in tools),
            *(prompt_spec(plain(item)) for item in prompts),
            *(resource_spec(plain(item)) for item in resources),
        ]


def plain(item: Any) -> dict[str, Any]:
    dumped: dict[str, Any] = item.model_dump(by_alias=True, mode="json", exclude_none=True)
    return dumped


def stdio(name: str, *command: str, **fields: Any) -> Server:
    return add_server(name, transport="stdio", command=command[0], args=list(command[1:]), **fields)


def test_server(name: str, **fields: Any) -> Server:
    return stdio(name, sys.executable, str(PROGRAM), **fields)


test_server.__test__ = False  # type: ignore[attr-defined]


def children(server: Server) -> list[psutil.Process]:
    """The processes that were started for this server."""
    wanted = [server.command, *server.args]
    return [p for p in psutil.Process().children(recursive=True) if cmdline(p)[-len(wanted) :] == wanted]


@dataclass
class HttpProgram:
    command: list[str]
    port: int
    env: dict[str, str] | None = None
    process: subprocess.Popen[bytes] | None = field(default=None)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    def start(self) -> None:
        quiet = subprocess.DEVNULL
        self.process = subprocess.Popen(self.command, stdout=quiet, stderr=quiet, env=self.env)
        assert eventually(self.answers, 30), "it did not start"

    def answers(self) -> bool:
        with contextlib.suppress(httpx2.TransportError):
            return httpx2.get(self.url, trust_env=False, timeout=5).status_code < 500
        return False

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()


@contextlib.contextmanager
def http_program(*command: str, env: dict[str, str] | None = None) -> Iterator[HttpProgram]:
    """`{port}` in the command becomes a free one."""
    port = free_port()
    program = HttpProgram([part.replace("{port}", str(port)) for part in command], port, env)
    if env is not None:
        program.env = {key: value.replace("{port}", str(port)) for key, value in env.items()}
    try:
        program.start()
        yield program
    finally:
        program.kill()


def http_test_program() -> "contextlib.AbstractContextManager[HttpProgram]":
    return http_program(sys.executable, str(PROGRAM), "--port", "{port}")


def bin_path(name: str) -> str:
    return str(Path(sys.executable).parent / name)
