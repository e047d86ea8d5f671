"""Syncs that are killed, that meet, and that are asked for while one runs."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from django.db import connection, connections, transaction

from tests.mcp_servers.made import RawServer, raw_server, tool
from tests.processes import ROOT, celery_worker, environment, eventually, kill_family
from tools_catalog.models import Server, SyncRun, Tool
from tools_catalog.services.sync import claimed, runs_reap, server_sync
from tools_catalog.services.sync_requests import sync_request
from tools_catalog.tasks import sync_server

pytestmark = pytest.mark.django_db(transaction=True)
TOOLS = [tool(f"tool_{i}") for i in range(5)]


def database_url() -> str:
    """The database of the tests, for other processes."""
    values = connection.settings_dict
    host = quote(str(values["HOST"]), safe="")
    return f"postgresql://{values['USER']}:{quote(str(values['PASSWORD']), safe='')}@{host}/{values['NAME']}"


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A Celery worker that finds one task waiting: the sync of whatever is due."""
    env = environment({"DATABASE_URL": database_url(), "TOOLSCRIPT_DATA_DIR": str(tmp_path / "data")})
    env |= {"PYTHONPATH": str(ROOT), "DJANGO_SETTINGS_MODULE": "config.settings"}
    send = "from tools_catalog.tasks import sync_start_due; sync_start_due()"
    subprocess.run([sys.executable, "manage.py", "shell", "-c", send], cwd=ROOT, env=env, check=True, timeout=120)
    with celery_worker(env, tmp_path / "worker.log") as process:
        yield process


@pytest.fixture
def due(tmp_path: Path) -> RawServer:
    server = raw_server(tmp_path, tools=TOOLS)
    sync_request(server.row.pk, "manual")
    return server


def is_writing() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")
        return bool(cursor.fetchone()[0])


def test_a_worker_killed_while_it_writes_loses_and_duplicates_nothing(
    due: RawServer, request: pytest.FixtureRequest
) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        # Makes the worker wait in the middle of its transaction, after its tools are written.
        cursor.execute("LOCK TABLE mcp_unified_search IN ACCESS EXCLUSIVE MODE")
        process = request.getfixturevalue("worker")
        assert eventually(is_writing, 120)
        kill_family(process)
    assert SyncRun.objects.get().state == "running"
    assert not Tool.objects.exists()

    assert eventually(lambda: runs_reap() == [due.row.pk])
    killed = SyncRun.objects.get()
    assert killed.state == "interrupted"
    assert killed.finished_at is not None
    assert not Tool.objects.exists()
    assert Server.objects.get().due_trigger == "resume"

    sync_server(due.row.pk)
    done = SyncRun.objects.exclude(pk=killed.pk).get()
    assert (done.state, done.trigger, done.created) == ("done", "resume", 5)
    assert Tool.objects.count() == 5
    assert Server.objects.get().due_at is None


def test_the_next_sync_marks_what_a_dead_one_left(due: RawServer) -> None:
    left = SyncRun.objects.create(server=due.row, trigger="manual")
    run = server_sync(due.row.pk, trigger="manual")
    left.refresh_from_db()
    assert left.state == "interrupted"
    assert run is not None
    assert (run.state, run.created) == ("done", 5)


class Elsewhere(threading.Thread):
    """Syncs in another database session."""

    def __init__(self, server_id: int) -> None:
        super().__init__()
        self.server_id = server_id
        self.result: list[SyncRun | None] = []

    def run(self) -> None:
        self.result.append(server_sync(self.server_id, trigger="manual"))
        connections.close_all()


def test_no_two_syncs_of_one_server_at_once(due: RawServer) -> None:
    with claimed(due.row.pk) as is_ours:
        assert is_ours
        other = Elsewhere(due.row.pk)
        other.start()
        other.join(30)
    assert other.result == [None]
    assert not SyncRun.objects.exists()


def test_a_running_sync_is_not_taken_for_a_dead_one(due: RawServer) -> None:
    due.define(tools=TOOLS, on={"tools/list": "hang"})
    Server.objects.update(timeout_seconds=2)
    other = Elsewhere(due.row.pk)
    other.start()
    assert eventually(lambda: SyncRun.objects.filter(state="running").exists())
    assert runs_reap() == []
    other.join(30)
    assert SyncRun.objects.get().state == "failed"


def test_a_wish_during_a_sync_is_kept_for_the_next(due: RawServer) -> None:
    def ask(text: str) -> None:
        if text == "comparing":
            sync_request(due.row.pk, "change")

    server_sync(due.row.pk, trigger="manual", stage=ask)
    assert Server.objects.get().due_trigger == "change"
    sync_server(due.row.pk)
    sync_server(due.row.pk)
    assert [run.trigger for run in SyncRun.objects.all()] == ["change", "manual"]
