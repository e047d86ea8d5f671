"""For commands that work on the database themselves: Django, set up once, with the embedded Postgres running."""

import atexit
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from cli import settings as own
from cli.errors import WRONG_USE, Failure, no_database
from cli.output import note

PREPARING = 0x746F6F70
"""An advisory lock: who holds it prepares the database."""

_held: list[int] = []


def set_up() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    os.environ.setdefault("TOOLSCRIPT_LOG_LEVEL", "ERROR")  # a terminal is no log: commands say what matters
    own.api_key()  # one that cannot be a key is said before anything starts
    load_django()
    from django.conf import settings

    if settings.EMBEDDED_POSTGRES is not None:
        _start(settings.EMBEDDED_POSTGRES, settings.DATA_DIR)


def load_django() -> None:
    """Its settings are read here, and they make the data folder."""
    import django

    try:
        django.setup()
    except OSError as exc:
        message = f"The data folder {own.data_dir()} cannot be used: {exc.strerror or exc}."
        raise Failure(message, code=WRONG_USE) from None


def prepare_database() -> None:
    """For commands that need the tables: a database that is new, or of an older version, is brought up to date."""
    set_up()
    from django.core.management import call_command

    with one_at_a_time():
        if migrations_missing():
            call_command("migrate", verbosity=0, interactive=False)


def migrations_missing() -> bool:
    from django.db import connection
    from django.db.migrations.executor import MigrationExecutor

    executor = MigrationExecutor(connection)
    return bool(executor.migration_plan(executor.loader.graph.leaf_nodes()))


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """Commands that come at once to a new database: the others wait for the one that prepares it."""
    from django.db import DatabaseError, InterfaceError, OperationalError, connection

    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_try_advisory_lock(%s, 0)", [PREPARING])
            if not cursor.fetchone()[0]:
                note("Waiting for another command that prepares the database …", "dim")
                cursor.execute("SELECT pg_advisory_lock(%s, 0)", [PREPARING])
    except OperationalError as exc:
        raise no_database(exc) from None
    try:
        yield
    finally:
        with suppress(DatabaseError, InterfaceError), connection.cursor() as cursor:  # a lost session holds no lock
            cursor.execute("SELECT pg_advisory_unlock(%s, 0)", [PREPARING])


def _start(postgres: Any, data_dir: Path) -> None:
    """Starts it if nobody has. Whoever started it stops it, unless another process has come to use it."""
    if _held:
        return  # another command in this process has done it
    try:
        data_dir.mkdir(parents=True, exist_ok=True)
        users = os.open(data_dir / "commands.lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o666)
        fcntl.flock(users, fcntl.LOCK_SH)
        _held.append(users)  # the system closes it, and so gives it back, when the process ends
        if postgres.start():
            atexit.register(_stop, postgres, data_dir, users)
    except (OSError, RuntimeError) as exc:
        raise Failure(f"The database in {data_dir} cannot be started: {exc}") from None


def _stop(postgres: Any, data_dir: Path, users: int) -> None:
    try:
        fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
        with (data_dir / "up.lock").open("a") as up:
            fcntl.flock(up, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _close_connections()
            postgres.stop()
    except BlockingIOError:
        return  # in use: another command, or `up`
    except (OSError, RuntimeError):
        return  # what cannot be stopped now is found and used by the next start


def _close_connections() -> None:
    from django.db import connections

    from core import db

    connections.close_all()
    db.close_all()
