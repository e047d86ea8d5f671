"""Calls of tools on servers that others wrote, and many calls while a server dies and comes back."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from mcp_types import CallToolRequestParams

from core import loop
from core.errors import ToolscriptError, UpstreamError
from tenants.types import Caller
from tests.node import npm_package
from tests.processes import cmdline, eventually
from tests.pypi import pypi_server
from tests.tools_catalog.gateway_world import (
    add_server,
    bin_path,
    children,
    http_program,
    http_test_program,
    stdio,
    test_server,
)
from tools_catalog.models import Server, ToolCall
from tools_catalog.selectors import server_target
from tools_catalog.services.gateway import (
    _call_tool,
    pool,
    prompt_get,
    resource_read,
    sessions_close,
    tool_call,
)

pytestmark = pytest.mark.django_db(transaction=True)
ME = Caller("tests")
EVERYTHING = "@modelcontextprotocol/server-everything"


@pytest.fixture(autouse=True)
def no_sessions_left() -> Iterator[None]:
    yield
    sessions_close()


def call(tool_id: str, **arguments: Any) -> dict[str, Any]:
    return tool_call(tool_id, arguments, caller=ME)


def text(answer: dict[str, Any]) -> str:
    return str(answer["content"][0]["text"])


def test_mcp_server_time() -> None:
    stdio("time", bin_path("mcp-server-time"), "--local-timezone", "UTC")
    answer = call("time__convert_time", source_timezone="UTC", time="12:00", target_timezone="Asia/Tokyo")
    assert "T21:00:00+09:00" in text(answer)
    wrong = call("time__get_current_time", timezone="Nowhere/City")
    assert wrong["isError"] is True


def test_mcp_server_git(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", "-b", "main", str(tmp_path)], check=True)
    (tmp_path / "new.txt").write_text("x")
    stdio("git", bin_path("mcp-server-git"), "--repository", str(tmp_path))
    assert "new.txt" in text(call("git__git_status", repo_path=str(tmp_path)))


def test_mcp_server_calculator() -> None:
    home = pypi_server("mcp-server-calculator", "mcp<2")
    stdio("calculator", sys.executable, "-m", "mcp_server_calculator", env={"PYTHONPATH": str(home)})
    assert text(call("calculator__calculate", expression="6 * 7")) == "42"


def check_everything() -> None:
    assert text(call("everything__echo", message="hello")) == "Echo: hello"
    structured = call("everything__get-structured-content", location="New York")
    assert set(structured["structuredContent"]) == {"temperature", "conditions", "humidity"}
    image = call("everything__get-tiny-image")
    assert "image" in {part["type"] for part in image["content"]}
    with pytest.raises(ToolscriptError) as caught:
        call("everything__get-sum", a="one", b=2)
    assert list(caught.value.details["fields"]) == ["a"]


def test_everything_over_stdio() -> None:
    folder = npm_package(EVERYTHING)
    stdio("everything", "node", str(folder / "dist/index.js"), "stdio")
    check_everything()


def test_everything_over_http() -> None:
    folder = npm_package(EVERYTHING)
    env = {**os.environ, "PORT": "{port}"}
    with http_program("node", str(folder / "dist/index.js"), "streamableHttp", env=env) as program:
        add_server("everything", transport="http", url=program.url)
        check_everything()
        program.kill()
        program.start()  # it refuses the session that it no longer knows; the caller does not notice
        assert text(call("everything__echo", message="again")) == "Echo: again"


def test_prompts_and_resources() -> None:
    test_server("made")
    answer = prompt_get("made__greet", {"name": "Ada"}, caller=ME)
    assert answer["messages"][0]["content"]["text"] == "Say hello to Ada."
    assert resource_read("made__fixed", caller=ME)["contents"][0]["text"] == "fixed text"
    assert resource_read("made__item", uri="test://item/7", caller=ME)["contents"][0]["text"] == "item 7"
    for uri in (None, "file:///etc/hosts", "test://item/{number}"):
        with pytest.raises(ToolscriptError, match="template"):
            resource_read("made__item", uri=uri, caller=ME)
    with pytest.raises(ToolscriptError) as caught:
        prompt_get("made__greet", {}, caller=ME)
    assert list(caught.value.details["fields"]) == ["name"]
    assert ToolCall.objects.filter(outcome="ok").count() == 3


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_an_announced_change_makes_the_server_due_for_a_sync(transport: str) -> None:
    with http_test_program() as program:
        server = test_server("made") if transport == "stdio" else add_server("made", transport="http", url=program.url)
        names = (f"juggle_{number}" for number in range(100_000))

        def is_noticed() -> bool:
            call("made__learn", name=next(names))
            return Server.objects.get(pk=server.pk).due_trigger == "change"

        assert eventually(is_noticed)


def test_200_calls_at_once_while_a_server_is_killed_and_comes_back() -> None:
    """In one process, 200 requests under way together. Each gets its own right answer, or a 502 or 504."""
    with http_test_program() as program:
        local = test_server("local")
        second = stdio("second", sys.executable, "-X", "utf8", *local.args)
        remote = add_server("remote", transport="http", url=program.url)
        targets = {server.name: (server.pk, server_target(server)) for server in (local, second, remote)}
        for name in targets:
            call(f"{name}__echo", text="warm")

        async def one(number: int) -> tuple[str, str, Any]:
            name = list(targets)[number % 3]
            said = f"{name} {number}"
            request = CallToolRequestParams(name="wait", arguments={"seconds": 0.1 * (number % 7), "text": said})
            try:
                answer = await pool().call(*targets[name], lambda client: _call_tool(client, request, 20), timeout=20)
                return name, said, answer.content[0].text
            except UpstreamError as exc:
                return name, said, exc.http_status

        async def all_of_them() -> list[tuple[str, str, Any]]:
            first = [asyncio.create_task(one(number)) for number in range(150)]
            await asyncio.sleep(0)  # they are on their way
            for child in children(local):
                child.kill()
            await asyncio.to_thread(program.kill)
            await asyncio.to_thread(program.start)
            rest = [asyncio.create_task(one(number)) for number in range(150, 200)]
            return [await task for task in [*first, *rest]]

        results = loop.run(all_of_them(), 120)
        failed = [r for r in results if r[2] in (502, 504)]
        print(f"\n{200 - len(failed)} answered, {len(failed)} with 502 or 504")
        assert [r for r in results if r[2] != r[1] and r not in failed] == []
        assert {r[0] for r in failed} <= {"local", "remote"}
        for name in targets:
            assert text(call(f"{name}__wait", seconds=0, text="after")) == "after"


def test_a_server_that_ignores_everything_ends_with_the_process(tmp_path: Path) -> None:
    """Neither a closed stdin nor SIGTERM ends it, and its client is killed without a chance to do anything."""
    stubborn = tmp_path / "stubborn.py"
    stubborn.write_text("import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\ntime.sleep(600)\n")
    target = {"name": "stubborn", "transport": "stdio", "command": sys.executable, "args": [str(stubborn)]}
    client = (
        "import asyncio, json, sys\n"
        "from tools_catalog.transports.client import connect\n"
        "from tools_catalog.types import Target\n"
        "async def main():\n"
        f"    target = Target(**json.loads({json.dumps(json.dumps(target))}))\n"
        "    async with connect(target, seconds=300): pass\n"
        "asyncio.run(main())\n"
    )
    env = {**os.environ, "DJANGO_SETTINGS_MODULE": "config.settings"}
    process = subprocess.Popen([sys.executable, "-c", client], env=env)
    try:
        assert eventually(lambda: bool(running(process.pid, "stubborn.py")))
        [child] = running(process.pid, "stubborn.py")
        process.kill()
        process.wait()
        assert eventually(lambda: not child.is_running())
    finally:
        process.kill()


def running(pid: int, word: str) -> list[psutil.Process]:
    found = psutil.Process(pid).children(recursive=True)
    return [p for p in found if any(arg.endswith(word) for arg in cmdline(p)[1:2])]
