"""Tasks through the broker that needs no server, and through Redis."""

import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import pytest
from django.db import connection
from kombu import Connection

from benchmarks.service import free_port
from tests.processes import celery_worker, environment, eventually, kill_family, manage
from tests.world import Entry, make_tools
from tools_catalog.models import ToolVector
from tools_catalog.services.reindex import LOCK
from tools_catalog.tasks import refresh_index

pytestmark = pytest.mark.django_db(transaction=True)

NEED_REDIS = pytest.mark.skipif(shutil.which("redis-server") is None, reason="there is no redis-server here")


@contextmanager
def redis_server(folder: Path) -> Iterator[str]:
    port = free_port()
    command = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        process.terminate()
        process.wait()


@pytest.fixture(params=["files", pytest.param("redis", marks=NEED_REDIS)])
def env(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[dict[str, str]]:
    """An environment whose worker works on the database of this test."""
    params = connection.get_connection_params()
    database = f"postgresql://postgres@{quote(params['host'], safe='')}/{params['dbname']}"
    values = {"TOOLSCRIPT_DATA_DIR": str(tmp_path / "data"), "DATABASE_URL": database}
    if request.param == "files":
        yield environment(values)
        return
    with redis_server(tmp_path) as url:
        yield environment({**values, "REDIS_URL": url})


def ask_for_refresh(env: dict[str, str]) -> None:
    """As the web server would, through the broker of that environment."""
    folder = Path(env["TOOLSCRIPT_DATA_DIR"], "broker")
    folders = {"data_folder_in": "messages", "data_folder_out": "messages", "control_folder": "control"}
    options = {} if "REDIS_URL" in env else {name: str(folder / part) for name, part in folders.items()}
    for path in options.values():
        Path(path).mkdir(parents=True, exist_ok=True)
    with Connection(env.get("REDIS_URL", "folder://localhost"), transport_options=options) as broker:
        refresh_index.apply_async(connection=broker)  # type: ignore[call-arg]


def embedded() -> set[str]:
    return set(ToolVector.objects.values_list("tool__name", flat=True))


def test_a_task_that_waits_is_done_when_a_worker_comes(env: dict[str, str], tmp_path: Path) -> None:
    make_tools(Entry("create_event", "Create a calendar event.", ()))
    ask_for_refresh(env)
    log = tmp_path / "worker.log"
    with celery_worker(env, log):
        assert eventually(lambda: embedded() == {"create_event"}, 120), log.read_text()


def test_a_worker_that_is_killed_loses_nothing(env: dict[str, str], tmp_path: Path) -> None:
    make_tools(*(Entry(f"tool_{i}", f"Does thing number {i}. " * 8, ()) for i in range(120)))
    ask_for_refresh(env)
    log = tmp_path / "worker.log"
    with celery_worker(env, log) as process:
        assert eventually(lambda: len(embedded()) > 0, 120), log.read_text()
        kill_family(process)
    done = len(embedded())
    assert 0 < done < 120
    with celery_worker(env, log):
        ask_for_refresh(env)
        assert eventually(lambda: len(embedded()) == 120, 120), log.read_text()
    assert ToolVector.objects.count() == 120


def test_a_task_that_finds_another_at_work_comes_back(env: dict[str, str], tmp_path: Path) -> None:
    make_tools(Entry("create_event", "Create a calendar event.", ()))
    log = tmp_path / "worker.log"
    other = connection.copy()
    try:
        with other.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_lock(%s)", [LOCK])
        ask_for_refresh(env)
        with celery_worker(env, log):
            assert eventually(lambda: "index.busy" in log.read_text(), 120), log.read_text()
            assert embedded() == set()
            other.close()
            assert eventually(lambda: embedded() == {"create_event"}, 120), log.read_text()
    finally:
        other.close()


@NEED_REDIS
def test_a_broker_that_is_away_is_said_and_breaks_nothing(tmp_path: Path) -> None:
    values = {"TOOLSCRIPT_DATA_DIR": str(tmp_path), "REDIS_URL": f"redis://127.0.0.1:{free_port()}/0"}
    started = time.monotonic()
    script = "from tools_catalog.tasks import request_refresh; request_refresh(); print('went on')"
    done = manage("shell", "-c", script, env=environment(values))
    assert "went on" in done.stdout, done.stderr
    assert "tasks.broker_unavailable" in done.stderr
    assert time.monotonic() - started < 60
