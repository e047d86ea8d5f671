"""A service of its own for a benchmark: own data folder, own Postgres, the web server as `make up` starts it."""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

READY_SECONDS = 60


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def database() -> Iterator[Path]:
    """Sets Django up on a new, empty, migrated database."""
    root = Path(tempfile.mkdtemp(prefix="toolscript-bench-"))
    os.environ.pop("DATABASE_URL", None)
    os.environ |= {
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "TOOLSCRIPT_DATA_DIR": str(root),
        "TOOLSCRIPT_LOG_LEVEL": "WARNING",
        "TOOLSCRIPT_ANONYMOUS_PER_MINUTE": "0",
        "PORT": str(free_port()),
    }
    import django
    from django.conf import settings
    from django.core.management import call_command

    django.setup()
    postgres = settings.EMBEDDED_POSTGRES
    assert postgres is not None
    postgres.start()
    try:
        call_command("migrate", verbosity=0)
        yield root
    finally:
        postgres.stop("immediate")
        shutil.rmtree(root, ignore_errors=True)


@contextmanager
def web() -> Iterator[int]:
    from django.conf import settings

    from config.startup import environment, web_command

    with (settings.DATA_DIR / "web.log").open("wb") as log:
        process = subprocess.Popen(
            web_command(Path(sys.executable).parent), env=environment(), stdout=log, stderr=subprocess.STDOUT
        )
    try:
        wait_until_ready(settings.PORT)
        yield settings.PORT
    finally:
        process.terminate()
        process.wait(30)


def wait_until_ready(port: int) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/ready", timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    raise RuntimeError("the service did not become ready")
