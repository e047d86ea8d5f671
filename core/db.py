"""Raw statements for the hot path: one psycopg connection a thread, autocommit, read-only, reconnecting by itself.

Django's own connection keeps serving everything else. This one exists because a search needs server-side
prepared statements, a time-out per stage without a round trip to set it, and an answer at once when
Postgres is away.
"""

import threading
import weakref
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import Any, LiteralString

import psycopg
from django.db import connections
from pgvector.psycopg import register_vector
from psycopg.abc import RV, PQGen
from psycopg.pq import TransactionStatus

from core import scope
from core.errors import DatabaseUnavailable, QueryFailed, QueryTimeout

Row = tuple[Any, ...]
CONNECT_TIMEOUT = 2
NETWORK_TIMEOUT_MS = 5000
GRACE = 0.5
OPTIONS = "-c default_transaction_read_only=on -c jit=off -c application_name=toolscript-search"


class Connection(psycopg.Connection[Row]):
    """Waits for an answer a little longer than the server may take, then gives the connection up.

    Postgres keeps the time-out of a statement itself, unless it is frozen or out of reach.
    """

    patience: float = 5.0

    def wait(self, gen: PQGen[RV], interval: float = 0.1, timeout: float | None = None) -> RV:
        try:
            return super().wait(gen, interval, self.patience if timeout is None else timeout)
        except psycopg.OperationalError:
            if self.pgconn.transaction_status == TransactionStatus.ACTIVE:  # the statement is still under way
                self.pgconn.finish()
            raise


class _Held:
    """Closes its connection when the thread that used it is gone."""

    def __init__(self, conn: Connection) -> None:
        self.conn = conn
        self.timeout_ms: int | None = None
        self.told = scope.told(scope.ALL)

    def __del__(self) -> None:
        self.conn.close()


class _PerThread(threading.local):
    held: _Held | None = None


_local = _PerThread()
_opened: "weakref.WeakSet[Connection]" = weakref.WeakSet()


def fetch(
    sql: LiteralString,
    params: Sequence[Any] | Mapping[str, Any] = (),
    *,
    timeout: float,
    write: bool = False,
    any_scope: bool = False,
) -> list[Row]:
    """Runs one statement, which may only read unless it says otherwise. A dropped connection is replaced, silently.

    `any_scope`: it shows the same to everybody, so the connection need not be told whose rows to show.
    """
    try:
        return _execute(sql, params, timeout, write, any_scope)
    except psycopg.OperationalError:
        if _local.held is not None and not _local.held.conn.closed:
            raise QueryFailed("The database refused a query.") from None
        _local.held = None
    try:
        return _execute(sql, params, timeout, write, any_scope)
    except psycopg.OperationalError as exc:
        _local.held = None
        raise DatabaseUnavailable("The database is not reachable. Try again shortly.") from exc


def _execute(
    sql: LiteralString, params: Sequence[Any] | Mapping[str, Any], timeout: float, write: bool, any_scope: bool
) -> list[Row]:
    timeout_ms = max(1, round(timeout * 1000))
    try:
        held = _connection()
        held.conn.patience = timeout + GRACE
        if held.timeout_ms != timeout_ms:
            held.conn.execute(f"SET statement_timeout = {timeout_ms}")
            held.timeout_ms = timeout_ms
        wanted = held.told if any_scope else scope.told(scope.current())
        if held.told != wanted:  # each statement is a transaction of its own, so nothing can undo this
            held.conn.execute(scope.TELL, wanted, prepare=True)
            held.told = wanted
        with held.conn.transaction() if write else nullcontext():
            return held.conn.execute(sql, params, prepare=True, binary=True).fetchall()
    except psycopg.errors.QueryCanceled as exc:
        raise QueryTimeout(f"The database did not answer within {timeout:g} s.") from exc
    except psycopg.OperationalError:
        raise
    except psycopg.Error as exc:
        raise QueryFailed("The database refused a query.") from exc


def _connection() -> _Held:
    if _local.held is None or _local.held.conn.closed:
        params = connections["default"].get_connection_params()
        for key in ("context", "cursor_factory", "prepare_threshold", "pool"):
            params.pop(key, None)
        params.setdefault("connect_timeout", CONNECT_TIMEOUT)
        params.setdefault("tcp_user_timeout", NETWORK_TIMEOUT_MS)
        options = f"{params.pop('options', '')} {OPTIONS}"
        conn = Connection.connect(**params, options=options, autocommit=True)
        conn.read_only = False  # for transactions that say so; a statement alone is read-only
        held = _Held(conn)
        _opened.add(conn)
        register_vector(conn)
        _local.held = held
    return _local.held


def close_all() -> None:
    """Closes the read connections of every thread; each is reopened on next use."""
    for conn in list(_opened):
        conn.close()
