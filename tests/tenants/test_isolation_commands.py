"""Every command with each tenant's key: it finds nothing of the other's, and changes nothing of theirs."""

import json
import os
import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from django.db import connection
from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError
from pytest_django.live_server_helper import LiveServer

from cli.main import COMMANDS
from core import scope
from knowledge.models import Source
from skills.models import Suggestion
from tenants.models import ApiKey, Tenant
from tenants.services.keys import key_create, key_revoke
from tests.cli.terminal import Done, invoked
from tests.processes import ROOT
from tests.tenants.people import Side
from tests.tenants.walls import QUERY, state_of
from tools_catalog.models import Server

WITHOUT_TENANTS = {"completion", "config", "eval", "serve", "up"}
"""What a shell, a settings page, a database of one's own and a service's start are: none of them shows rows."""
REFUSED = "is for whoever runs the service"


def ways(mine: Side, other: Side, folder: Path) -> dict[str, list[list[str]]]:
    """Command → how to run it, with ids of the other side."""
    note, published = folder / "note.md", folder / "published.json"
    note.write_text(f"# Note\n\nFrom {mine.mark}.\n")
    tool = {"name": "from_file", "description": f"Made for {mine.mark}.", "inputSchema": {"type": "object"}}
    published.write_text(json.dumps({"server": "alpha", "tools": [tool]}))
    theirs = str(Suggestion.objects.get(tenant=other.tenant).pk)
    wide = ["--threshold", "0", "--limit", "50"]
    return {
        "search": [["search", QUERY, *wide, "--output", "json"], ["search", QUERY, *wide, "--output", "types"]],
        "types": [["types"], ["types", "alpha"], ["types", "alpha__create_event"]],
        "call": [["call", "alpha__create_event", "{}"], ["call", f"alpha__{other.mark}", "{}"]],
        "status": [["status"]],
        "skills": [
            ["skills", "list", "--all", "--output", "json"],
            ["skills", "suggestions", "--status", "all", "--output", "json"],
            ["skills", "approve", theirs],
            ["skills", "merge", theirs, mine.skill.pk],
            ["skills", "reject", theirs],
            ["skills", "undo", theirs],
            ["skills", "propose", "--all"],
            ["skills", "classify", "--retry"],
        ],
        "ingest": [
            ["ingest", str(note), "--root", str(folder), "--output", "json"],
            ["ingest", str(note), "--tenant", other.tenant.slug],
            ["ingest", str(folder), "--root", str(folder), "--prune", "--output", "json"],
        ],
        "import": [["import", str(published), "--output", "json"]],
        "sync": [["sync"]],
    }


def run(side: Side, args: list[str], settings: Any, gateway: str = "") -> Done:
    settings.API_KEY = side.key
    env = {"TOOLSCRIPT_API_KEY": side.key, "TOOLSCRIPT_DATA_DIR": os.environ["TOOLSCRIPT_DATA_DIR"]}
    with scope.scoped(scope.ALL):  # as a process of its own begins
        return invoked(*args, env=env | ({"TOOLSCRIPT_GATEWAY_URL": gateway} if gateway else {}))


def said(done: Done, other: Side) -> str:
    """Without what was asked for."""
    return (done.stdout + done.stderr).replace(QUERY, "").replace(f"alpha__{other.mark}", "")


@pytest.mark.usefixtures("locks")
def test_every_command_on_the_database(sides: tuple[Side, Side], tmp_path: Path, settings: Any) -> None:
    for mine, other in (sides, sides[::-1]):
        folder = tmp_path / mine.mark
        folder.mkdir()
        before = state_of(other)
        calls = ways(mine, other, folder)
        assert {*calls, "mcp"} | WITHOUT_TENANTS == set(COMMANDS)
        own = set()
        for name, lines in calls.items():
            for args in lines:
                done = run(mine, args, settings)
                text = said(done, other)
                assert other.mark not in text, (args, text[:2000])
                assert "Traceback" not in text, (args, text[:2000])
                own |= {name} if mine.mark in text else set()
                if args[0] == "sync" or args[1:2] in (["propose"], ["classify"]):
                    assert REFUSED in text, (args, text)
                if args[1:2] in (["approve"], ["merge"], ["reject"], ["undo"]) or "--tenant" in args:
                    assert done.returncode != 0, (args, text)
        assert {"search", "types", "skills"} <= own
        assert Source.objects.get(path="note.md", tenant=mine.tenant).chunks.count() == 1
        assert Server.objects.get(name="alpha", tenant=mine.tenant).tools.filter(name="from_file").exists()
        assert state_of(other) == before


def test_no_command_writes_with_a_key_that_only_reads(sides: tuple[Side, Side], tmp_path: Path, settings: Any) -> None:
    mine, _ = sides
    reader = replace(mine, key=key_create(name="reader", tenant=mine.tenant, may_write=False)[1])
    calls = ways(reader, mine, tmp_path)  # with ids of their own rows
    before = state_of(mine)
    for args in (line for lines in calls.values() for line in lines):
        done = run(reader, args, settings)
        text = done.stdout + done.stderr
        assert "Traceback" not in text, (args, text[:2000])
        if args[0] in {"ingest", "import", "call"} or args[1:2] in (["approve"], ["merge"], ["reject"], ["undo"]):
            assert done.returncode == 1, (args, text)
            assert "may read only" in text, (args, text)
        if args[0] == "search":
            assert mine.mark in text
    assert state_of(mine) == before
    assert not Source.objects.filter(path="note.md").exists()


def test_every_command_that_asks_a_gateway(
    sides: tuple[Side, Side], live_server: LiveServer, tmp_path: Path, settings: Any
) -> None:
    for mine, other in (sides, sides[::-1]):
        calls = ways(mine, other, tmp_path)
        for args in [line for name in ("search", "types", "call", "status") for line in calls[name]]:
            done = run(mine, args, settings, live_server.url)
            text = said(done, other)
            assert other.mark not in text, (args, text[:2000])
            if args[0] in {"search", "types"}:
                assert mine.mark in text, args


def mcp_command(key: str) -> StdioServerParameters:
    """`toolscript mcp` with this key, as a process of its own on the same database."""
    settings = connection.settings_dict
    return StdioServerParameters(
        command=sys.executable,
        args=["-m", "cli", "mcp"],
        cwd=str(ROOT),
        env={
            "DATABASE_URL": f"postgresql://{settings['USER']}@/{settings['NAME']}?host={settings['HOST']}",
            "PATH": os.environ["PATH"],
            "TOOLSCRIPT_API_KEY": key,
            "TOOLSCRIPT_DATA_DIR": os.environ["TOOLSCRIPT_DATA_DIR"],
            "TOOLSCRIPT_LOG_LEVEL": "ERROR",
        },
    )


def test_the_command_line(sides: tuple[Side, Side]) -> None:
    for mine, other in (sides, sides[::-1]):

        async def work(key: str = mine.key) -> str:
            async with Client(mcp_command(key)) as client:
                found = [str(await client.list_tools())]
                for name in ("search_tools", "search_knowledge"):
                    found.append(str(await client.call_tool(name, {"query": "calendar event", "limit": 20})))
                return "".join([*found, str(await client.call_tool("list_skills", {}))])

        text = anyio.run(work)
        assert mine.mark in text
        assert other.mark not in text


def test_a_key_that_ends_while_the_command_line_serves_ends_with_the_next_request(sides: tuple[Side, Side]) -> None:
    mine, _ = sides
    requests: dict[str, Callable[[Client], Awaitable[Any]]] = {
        "list_tools": lambda client: client.list_tools(),
        "search": lambda client: client.call_tool("search_tools", {"query": "calendar event"}),
        "call": lambda client: client.call_tool("call_tool", {"id": "alpha__create_event"}),
        "list_prompts": lambda client: client.list_prompts(),
        "list_resources": lambda client: client.list_resources(),
        "list_templates": lambda client: client.list_resource_templates(),
        "get_prompt": lambda client: client.get_prompt("alpha__plan_day", {}),
        "read_resource": lambda client: client.read_resource("toolscript://alpha/x"),
    }

    async def refusals(client: Client) -> dict[str, str]:
        said = {}
        for name, request in requests.items():
            try:
                said[name] = str(await request(client))
            except MCPError as exc:
                said[name] = f"{exc.error.data} {exc.error.message}"
        return said

    async def work() -> list[dict[str, str]]:
        """As it is, with its tenant switched off, switched on again, and revoked."""
        async with Client(mcp_command(mine.key)) as client:
            told = [await refusals(client)]
            for change in (lambda: switch(mine, False), lambda: switch(mine, True), lambda: revoke(mine)):
                await anyio.to_thread.run_sync(in_thread(change))
                told.append(await refusals(client))
            return told

    at_first, switched_off, on_again, revoked = anyio.run(work)
    for told in (at_first, on_again):
        assert mine.mark in told["search"]
        assert not any("UNAUTHORIZED" in said or "FORBIDDEN" in said for said in told.values()), told
    for name in requests:
        assert "FORBIDDEN" in switched_off[name], switched_off
        assert "switched off" in switched_off[name]
        assert "UNAUTHORIZED" in revoked[name], revoked
        assert "was revoked" in revoked[name]
        assert mine.mark not in switched_off[name] + revoked[name]


def switch(side: Side, on: bool) -> None:
    Tenant.objects.filter(pk=side.tenant.pk).update(is_active=on)


def revoke(side: Side) -> None:
    for key in ApiKey.objects.filter(tenant=side.tenant):
        key_revoke(key)


def in_thread(work: Callable[[], None]) -> Callable[[], None]:
    """A thread has a connection of its own, and nobody else closes it."""

    def done() -> None:
        try:
            work()
        finally:
            connection.close()

    return done
