"""Ctrl-C during `toolscript sync`: the command ends at once, and takes the servers along that it started."""

import json
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.cli.terminal import Terminal
from tests.mcp_servers.made import RAW, tool
from tests.processes import eventually
from tests.tools_catalog.test_sync_crash import database_url
from tools_catalog.models import Server, SyncRun

pytestmark = pytest.mark.django_db(transaction=True)
FAR_AWAY = 120
"""Seconds that the sync would take."""


def families(path: Path) -> list[psutil.Process]:
    """The server, and what it started: both name the file of the server."""
    found = []
    for process in psutil.process_iter(["cmdline", "status"]):
        if str(path) in (process.info["cmdline"] or []) and process.info["status"] != psutil.STATUS_ZOMBIE:
            found.append(process)
    return found


def test_ctrl_c_ends_it_at_once_and_leaves_no_server_behind(tmp_path: Path) -> None:
    published = tmp_path / "published.json"
    published.write_text(json.dumps({"tools": [tool("one")], "on": {"tools/list": "hang"}}))
    deaf = f'trap "" TERM INT HUP; {sys.executable} {RAW} "$0"; exit'  # a wrapper, as npx and uvx are
    server = {"command": "sh", "args": ["-c", deaf, str(published)], "timeout": FAR_AWAY}
    config = tmp_path / "servers.json"
    config.write_text(json.dumps({"mcpServers": {"slow": server}}))
    env = {"DATABASE_URL": database_url(), "TOOLSCRIPT_DATA_DIR": str(tmp_path), "TOOLSCRIPT_CONFIG": str(config)}
    terminal = Terminal("sync", "--no-index", env=env)
    assert terminal.until("reading tools"), terminal.finish(1).text
    assert len(families(published)) >= 2
    pressed = time.monotonic()
    terminal.press(b"\x03")
    screen = terminal.finish(FAR_AWAY)
    assert time.monotonic() - pressed < FAR_AWAY / 4  # not a measurement: it waited for the server or it did not
    assert screen.code == 130, screen.text
    assert screen.lines[-1] == "Interrupted."
    for noise in ("Traceback", "Exception", "destroyed"):
        assert noise not in screen.text
    assert eventually(lambda: not families(published), 10)
    assert SyncRun.objects.get().state == SyncRun.State.RUNNING  # as after a crash: whoever comes next marks it
    assert Server.objects.get(name="slow").failures == 0
