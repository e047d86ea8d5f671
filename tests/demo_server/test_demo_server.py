"""The demo server through the official client, as any other server."""

import asyncio
import sys
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp_types import CallToolResult, ReadResourceResult, TextResourceContents

from demo_server.arithmetic import evaluate
from demo_server.sandbox import Sandbox
from demo_server.server import build
from demo_server.store import Store
from tests.processes import ROOT


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "desk"


def use(folder: Path, *calls: tuple[str, dict[str, Any]]) -> list[CallToolResult]:
    async def run() -> list[CallToolResult]:
        async with Client(build(folder)) as client:
            return [await client.call_tool(name, arguments) for name, arguments in calls]

    return asyncio.run(run())


def one(folder: Path, tool: str, /, **arguments: Any) -> Any:
    [answer] = use(folder, (tool, arguments))
    assert not answer.is_error, answer.content
    assert answer.structured_content is not None
    return answer.structured_content


def refused(folder: Path, tool: str, /, **arguments: Any) -> str:
    [answer] = use(folder, (tool, arguments))
    assert answer.is_error
    return str(answer.content)


def with_client(folder: Path, ask: Any) -> Any:
    async def run() -> Any:
        async with Client(build(folder)) as client:
            asked: Coroutine[Any, Any, Any] = ask(client)
            return await asked

    return asyncio.run(run())


def test_it_runs_as_a_program_and_every_tool_says_what_it_does(folder: Path) -> None:
    command = StdioServerParameters(
        command=sys.executable, args=["-m", "demo_server", "--folder", str(folder)], cwd=ROOT
    )

    async def listed() -> tuple[Any, Any, Any]:
        async with Client(command) as client:
            tools, prompts = (await client.list_tools()).tools, (await client.list_prompts()).prompts
            return tools, prompts, (await client.list_resources()).resources

    tools, prompts, resources = asyncio.run(listed())
    assert len(tools) >= 12
    assert (len(prompts), len(resources)) == (2, 2)
    for tool in tools:
        assert tool.description
        assert tool.output_schema is not None
        assert tool.annotations.read_only_hint is not None
    destructive = {tool.name for tool in tools if tool.annotations.destructive_hint}
    assert destructive == {
        "delete_note", "remove_event", "write_sandbox_file", "delete_sandbox_file",
    }  # fmt: skip


def test_notes_are_written_found_and_deleted(folder: Path) -> None:
    note = one(folder, "add_note", title="Milk", text="Buy two litres.")
    one(folder, "add_note", title="Bread")
    assert [n["title"] for n in one(folder, "search_notes", words="MILK litres")["result"]] == ["Milk"]
    assert [n["title"] for n in one(folder, "search_notes")["result"]] == ["Bread", "Milk"]
    assert one(folder, "delete_note", note_id=note["id"])["title"] == "Milk"
    assert "no note" in refused(folder, "delete_note", note_id=note["id"])


def test_todos_are_ticked_off(folder: Path) -> None:
    late = one(folder, "add_todo", task="Write report", due="2026-12-01")
    one(folder, "add_todo", task="Call Ada", due="2026-11-20")
    assert [t["task"] for t in one(folder, "list_todos")["result"]] == ["Call Ada", "Write report"]
    assert one(folder, "complete_todo", todo_id=late["id"])["done"] is True
    assert [t["task"] for t in one(folder, "list_todos")["result"]] == ["Call Ada"]
    assert len(one(folder, "list_todos", include_done=True)["result"]) == 2
    assert "no task" in refused(folder, "complete_todo", todo_id=99)


def test_the_calendar_is_a_file_that_other_programs_read(folder: Path) -> None:
    event = one(folder, "add_event", title="Lunch; with Ada", start="2026-11-30T12:00", end="2026-11-30T13:00")
    assert one(folder, "list_events", day="2026-12-01")["result"] == []
    assert one(folder, "list_events", day="2026-11-30")["result"] == [event]
    assert "after the start" in refused(
        folder, "add_event", title="x", start="2026-11-30T12:00", end="2026-11-30T11:00"
    )
    read: ReadResourceResult = with_client(folder, lambda client: client.read_resource("desk://calendar"))
    assert isinstance(read.contents[0], TextResourceContents)
    assert "SUMMARY:Lunch\\; with Ada\r\nDTSTART:20261130T120000" in read.contents[0].text
    one(folder, "remove_event", event_id=event["id"])
    assert one(folder, "list_events")["result"] == []


def test_text_and_time(folder: Path) -> None:
    counted = one(folder, "text_statistics", text="One two. Three!\nFour's five?")
    assert (counted["words"], counted["lines"], counted["sentences"]) == (5, 2, 3)
    assert "+b" in one(folder, "compare_texts", before="a", after="b")["result"]
    moved = one(folder, "convert_time_zone", time="2026-07-01T12:00", from_zone="Europe/Vienna", to_zone="Asia/Tokyo")
    assert moved["time"] == "2026-07-01T19:00:00+09:00"
    assert one(folder, "time_in_zone", zone="UTC")["utc_offset"] == "+0000"
    assert "no time zone" in refused(folder, "time_in_zone", zone="../../etc/passwd")


def test_prompts_use_what_is_on_the_desk(folder: Path) -> None:
    one(folder, "add_todo", task="Water the plants")
    got = with_client(folder, lambda client: client.get_prompt("plan_day", {"day": "2026-11-30"}))
    assert "Water the plants" in got.messages[0].content.text


@pytest.mark.parametrize(
    ("expression", "result"),
    [("1 + 2 * 3", 7), ("(2 + 3) * sqrt(16)", 20.0), ("-2 ** 2", -4), ("7 // 2 % 2", 1), ("round(pi, 2)", 3.14)],
)  # fmt: skip
def test_arithmetic(expression: str, result: float) -> None:
    assert evaluate(expression) == result


@pytest.mark.parametrize(
    "expression",
    [
        "__import__('os').system('id')", "().__class__", "open('x')", "'a' * 3", "x", "1 +", "", "lambda: 1",
        "9 ** 9 ** 9", "1 / 0", "10 ** 1001", "sqrt(-1)", "(-8) ** 0.5", "1e308 * 10", "True", "[1]", "max()",
        "1" * 501,
    ],
)  # fmt: skip
def test_arithmetic_runs_nothing_else(expression: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        evaluate(expression)


def test_files_live_in_their_folder(folder: Path) -> None:
    assert one(folder, "write_sandbox_file", name="a/b.txt", content="hellö")["bytes"] == 6
    assert one(folder, "list_sandbox_files")["result"] == ["a/b.txt"]
    assert one(folder, "read_sandbox_file", name="a/../a/b.txt")["result"] == "hellö"
    one(folder, "delete_sandbox_file", name="a/b.txt")
    assert "no file" in refused(folder, "read_sandbox_file", name="a/b.txt")


@pytest.mark.parametrize(
    "name", ["../notes.json", "/etc/passwd", "a/../../x", "link/x", "link", "..", ".", "", "a\0b", "~/x/../../../x"]
)
def test_nothing_outside_the_folder_is_reached(tmp_path: Path, name: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "x").write_text("secret")
    sandbox = Sandbox(tmp_path / "files")
    (sandbox.folder / "link").symlink_to(outside)
    for action in (sandbox.read, lambda n: sandbox.write(n, "x"), sandbox.delete):
        with pytest.raises((ValueError, OSError)):
            action(name)
    assert (outside / "x").read_text() == "secret"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["files", "outside"]


def test_two_servers_on_one_folder_lose_nothing(tmp_path: Path) -> None:
    stores = [Store(tmp_path), Store(tmp_path)]
    with ThreadPoolExecutor(8) as pool:
        ids = list(pool.map(lambda i: stores[i % 2].add("notes", {"n": i})["id"], range(60)))
    assert sorted(ids) == list(range(1, 61))
    assert len(stores[0].all("notes")) == 60
