"""Packages from the npm registry, for the tests that need one. Installed once per checkout, in `.node`."""

import fcntl
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.processes import ROOT

VERSIONS = {
    "@modelcontextprotocol/server-everything": "2026.8.31",
    "deno": "2.9.5",
    "typescript": "7.0.2",
}
FOLDER = ROOT / ".node"


def npm_package(name: str) -> Path:
    """The folder of the installed package. Without Node the test is skipped, and says so."""
    if shutil.which("npm") is None:
        pytest.skip("Node is not installed")
    home = FOLDER / name.replace("/", "-").strip("@")
    package = home / "node_modules" / name
    FOLDER.mkdir(exist_ok=True)
    with (FOLDER / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (home / "installed").exists():
            command = ["npm", "install", "--no-audit", "--no-fund", "--silent", "--prefix", str(home)]
            subprocess.run([*command, f"{name}@{VERSIONS[name]}"], check=True, timeout=300)
            (home / "installed").touch()
    return package
