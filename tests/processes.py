"""Helpers for tests that start real processes."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parent.parent
OWN = ("DATABASE_URL", "REDIS_URL", "PORT", "PROMETHEUS_MULTIPROC_DIR", "OPENAI_API_KEY", "OPENAI_BASE_URL")


def environment(values: Mapping[str, str]) -> dict[str, str]:
    """What a newcomer's shell would have, and these values."""
    plain = {k: v for k, v in os.environ.items() if not k.startswith("TOOLSCRIPT_") and k not in OWN}
    return {**plain, "PYTHONUNBUFFERED": "1", **values}


def manage(*args: str, env: Mapping[str, str], timeout: float = 120) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "manage.py", *args]
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=timeout, check=False)


def eventually(what: Callable[[], bool], seconds: float = 30) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if what():
            return True
        time.sleep(0.1)
    return what()


def cmdline(process: psutil.Process) -> list[str]:
    """The words of its command; none if it has ended since it was listed, as a database's processes do at any time."""
    with suppress(psutil.Error):
        return list(process.cmdline())
    return []


@contextmanager
def celery_worker(env: Mapping[str, str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", "celery", "-A", "config", "worker", "-c", "1", "--without-gossip"]
    with log.open("ab") as output:
        process = subprocess.Popen(
            [*command, "--without-mingle"],
            cwd=ROOT,
            env={**env, "CELERY_SKIP_CHECKS": "1"},  # half a second of CPU each
            stdout=output,
            stderr=output,
        )
    try:
        yield process
    finally:
        kill_family(process)


def kill_family(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        parent = psutil.Process(process.pid)
        family = [parent, *parent.children(recursive=True)]
        for member in family:
            with suppress(psutil.NoSuchProcess):
                member.kill()
        psutil.wait_procs(family, timeout=5)
        process.wait(5)
