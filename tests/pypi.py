"""MCP servers from PyPI that need another version of the SDK than ours. Installed once per checkout, in `.servers`."""

import fcntl
import subprocess
import sys
from pathlib import Path

from tests.processes import ROOT

FOLDER = ROOT / ".servers"


def pypi_server(name: str, *requirements: str) -> Path:
    """The folder to put first on the server's path."""
    home = FOLDER / name
    FOLDER.mkdir(exist_ok=True)
    with (FOLDER / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (home / "installed").exists():
            pip = [
                sys.executable,
                "-m",
                "pip",
                "install",
                "--quiet",
                "--disable-pip-version-check",
                "--target",
                str(home),
            ]
            subprocess.run([*pip, name, *requirements], check=True, timeout=300)
            (home / "installed").touch()
    return home
