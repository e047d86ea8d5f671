"""`toolscript sync`, as it is called."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from pytest_django import Settings

from cli.main import toolscript
from tests.mcp_servers.made import RAW, tool
from tools_catalog.models import SyncRun, Tool

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def config(tmp_path: Path, settings: Settings) -> Path:
    """Two servers in a file: one that works, and one that is not there."""
    published = tmp_path / "published.json"
    published.write_text(json.dumps({"tools": [tool("one"), {"name": "bad", "inputSchema": {}}]}))
    works = {"command": sys.executable, "args": [str(RAW), str(published)], "timeout": 10}
    path = tmp_path / "servers.json"
    path.write_text(json.dumps({"mcpServers": {"works": works, "away": {"url": "http://127.0.0.1:9/"}}}))
    settings.CONFIG_FILES = [str(path)]
    return path


def run(*args: str) -> Any:
    return CliRunner().invoke(toolscript, ["sync", *args])


def test_all_servers_of_the_file(config: Path) -> None:
    result = run("--no-index")
    assert result.exit_code == 1
    assert "works: 1 created, 1 refused" in result.stdout
    assert "refused tool 'bad': inputSchema.type: Field required" in result.stdout
    assert "away: failed: nobody answers at its address." in result.stderr
    assert {r.trigger for r in SyncRun.objects.all()} == {"command"}


def test_one_server_as_json_and_searchable_at_once(config: Path) -> None:
    result = run("works", "--output", "json")
    assert result.exit_code == 0
    [row] = json.loads(result.stdout)["servers"]
    assert (row["server"], row["state"], row["created"], row["refused"]) == ("works", "done", 1, 1)
    assert Tool.objects.get().vectors.get().is_active


def test_a_server_that_does_not_exist(config: Path) -> None:
    result = run("work")
    assert result.exit_code == 2
    assert "Did you mean works?" in result.output


def test_a_broken_file_is_said_and_known_servers_are_synced(config: Path) -> None:
    run("works", "--no-index")
    config.write_text('{"mcpServers": {"x": {}}}')
    result = run("works", "--no-index")
    assert result.exit_code == 1
    assert "mcpServers.x: a command" in result.stderr
    assert "works: 1 unchanged" in result.stdout


def test_nothing_to_sync(settings: Settings, tmp_path: Path) -> None:
    settings.CONFIG_FILES = [str(tmp_path / "none.json")]
    result = run()
    assert result.exit_code == 0
    assert "There is no server to sync" in result.stdout
