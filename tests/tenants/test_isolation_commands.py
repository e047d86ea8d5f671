"""Every command with each tenant's key: it finds nothing of the other's, and changes nothing of theirs."""

import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from django.db import connection
from mcp import Client, StdioServerParameters
from pytest_django.live_server_helper import LiveServer

from cli.main import COMMANDS
from core import scope
from knowledge.models import Source
from skills.models import Suggestion
from tenants.services.keys import key_create
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


def test_the_command_line(sides: tuple[Side, Side]) -> None:
    """`toolscript mcp` with a tenant's key, as a process of its own on the same database."""
    settings = connection.settings_dict
    url = f"postgresql://{settings['USER']}@/{settings['NAME']}?host={settings['HOST']}"
    for mine, other in (sides, sides[::-1]):
        command = StdioServerParameters(
            command=sys.executable,
            args=["-m", "cli", "mcp"],
            cwd=str(ROOT),
            env={
                "DATABASE_URL": url,
                "PATH": os.environ["PATH"],
                "TOOLSCRIPT_API_KEY": mine.key,
                "TOOLSCRIPT_DATA_DIR": os.environ["TOOLSCRIPT_DATA_DIR"],
                "TOOLSCRIPT_LOG_LEVEL": "ERROR",
            },
        )

        async def work(command: StdioServerParameters = command) -> str:
            async with Client(command) as client:
                found = [str(await client.list_tools())]
                for name in ("search_tools", "search_knowledge"):
                    found.append(str(await client.call_tool(name, {"query": "calendar event", "limit": 20})))
                return "".join([*found, str(await client.call_tool("list_skills", {}))])

        text = anyio.run(work)
        assert mine.mark in text
        assert other.mark not in text
