"""Helpers for tests that start real processes."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

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
