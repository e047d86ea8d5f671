"""The reading connection, against a Postgres that misbehaves."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress

import psycopg
import pytest

from core import db
from core.errors import QueryFailed, QueryTimeout

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def backend() -> Iterator[int]:
    """The server process behind this thread's connection."""
    db.fetch("SELECT 1", timeout=5)
    assert db._local.held is not None
    pid = db._local.held.conn.info.backend_pid
    yield pid
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGCONT)


def test_a_dropped_connection_is_replaced_silently(backend: int) -> None:
    os.kill(backend, signal.SIGTERM)
    time.sleep(0.2)
    assert db.fetch("SELECT 7", timeout=5) == [(7,)]
    assert db._local.held is not None
    assert db._local.held.conn.info.backend_pid != backend


def test_a_frozen_server_process_is_given_up_and_replaced(backend: int) -> None:
    os.kill(backend, signal.SIGSTOP)
    assert db.fetch("SELECT 7", timeout=1.5) == [(7,)]
    assert db._local.held is not None
    assert db._local.held.conn.info.backend_pid != backend


def test_a_slow_statement_is_cut_off_and_the_connection_stays(backend: int) -> None:
    with pytest.raises(QueryTimeout):
        db.fetch("SELECT pg_sleep(5)", timeout=0.1)
    assert db.fetch("SELECT 7", timeout=5) == [(7,)]
    assert db._local.held is not None
    assert db._local.held.conn.info.backend_pid == backend


def test_a_refused_statement_is_one_kind_of_error(backend: int) -> None:
    with pytest.raises(QueryFailed):
        db.fetch("SELECT * FROM no_such_table", timeout=5)
    assert db.fetch("SELECT 7", timeout=5) == [(7,)]


def test_nothing_can_be_written(backend: int) -> None:
    with pytest.raises(QueryFailed) as caught:
        db.fetch("DELETE FROM tools_catalog_tool RETURNING id", timeout=5)
    assert isinstance(caught.value.__cause__, psycopg.errors.ReadOnlySqlTransaction)
