"""A database of its own beside the user's, for work that must not touch the catalogue. Gone when the work is done."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from django.core.management import call_command
from django.db import connections
from psycopg import sql

from core import db
from core.errors import DatabaseUnavailable

PREFIX = "toolscript_scratch_"
LOCK = "SELECT pg_try_advisory_lock(hashtext(%s))"
LEFT = "SELECT datname FROM pg_database WHERE starts_with(datname, %s)"


@contextmanager
def scratch_database() -> Iterator[None]:
    """This whole process works on an empty, migrated database until the block ends.

    Its owner holds a lock with its name. One without an owner was left by a process that was killed, and goes too.
    """
    default = connections["default"]
    params = default.get_connection_params()
    own = {key: params[key] for key in ("host", "port", "user", "password", "dbname", "sslmode") if params.get(key)}
    name = f"{PREFIX}{os.getpid()}_{secrets.token_hex(4)}"
    try:
        with psycopg.connect(**own, autocommit=True) as owner:
            _drop_left(owner)
            owner.execute(LOCK, [name])
            owner.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
            try:
                _work_on(name)
                call_command("migrate", verbosity=0, interactive=False)
                yield
            finally:
                _work_on(str(own["dbname"]))
                _drop(owner, name)
    except psycopg.errors.InsufficientPrivilege as exc:
        message = f"The database user may not create a database for this work: {exc.diag.message_primary}."
        raise DatabaseUnavailable(message) from None
    except psycopg.OperationalError as exc:
        raise DatabaseUnavailable(f"The database is not reachable: {str(exc).splitlines()[0]}") from None


def _work_on(name: str) -> None:
    connections["default"].close()
    connections["default"].settings_dict["NAME"] = name
    db.close_all()


def _drop_left(owner: psycopg.Connection) -> None:
    for (name,) in owner.execute(LEFT, [PREFIX]).fetchall():
        row = owner.execute(LOCK, [name]).fetchone()
        if row and row[0]:
            _drop(owner, name)


def _drop(owner: psycopg.Connection, name: str) -> None:
    owner.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))
