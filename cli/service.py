"""For commands that work on the database themselves: Django, set up once, with the embedded Postgres running."""

import atexit
import fcntl
import os
from pathlib import Path
from typing import IO, Any

from cli.errors import Failure

_held: list[IO[str]] = []


def set_up() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    os.environ.setdefault("TOOLSCRIPT_LOG_LEVEL", "ERROR")  # a terminal is no log: commands say what matters
    import django

    django.setup()
    from django.conf import settings

    if settings.EMBEDDED_POSTGRES is not None:
        _start(settings.EMBEDDED_POSTGRES, settings.DATA_DIR)


def _start(postgres: Any, data_dir: Path) -> None:
    """Starts it if nobody has. Whoever started it stops it, unless another process has come to use it."""
    if _held:
        return  # another command in this process has done it
    try:
        data_dir.mkdir(parents=True, exist_ok=True)
        users = (data_dir / "commands.lock").open("a")
        fcntl.flock(users, fcntl.LOCK_SH)
        _held.append(users)  # closed, and so given back, when the process ends
        if postgres.start():
            atexit.register(_stop, postgres, data_dir, users)
    except (OSError, RuntimeError) as exc:
        raise Failure(f"The database in {data_dir} cannot be started: {exc}") from None


def _stop(postgres: Any, data_dir: Path, users: IO[str]) -> None:
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
