"""The TypeScript compiler, and modules to give it."""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.node import npm_package
from tests.processes import ROOT
from tools_catalog.typescript.module import CallableTool

PUBLISHED = ROOT.parent / "shared" / "mcp" / "catalog"


def compile_errors(folder: Path, files: Mapping[str, str], *options: str) -> str:
    """What `tsc --strict --noEmit` says about these files; nothing, if they are right."""
    for name, content in files.items():
        (folder / name).write_text(content, encoding="utf-8", errors="replace")
    tsc = npm_package("typescript").parent / ".bin" / "tsc"
    command = [str(tsc), "--strict", "--noEmit", *options, *files]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode == 0) == (done.stdout == ""), done.stdout + done.stderr
    return done.stdout


def published_tools() -> list[CallableTool]:
    """Every tool of the real servers whose definitions lie beside this checkout."""
    tools = []
    for file in sorted(PUBLISHED.glob("*.json")):
        server = json.loads(file.read_text())
        for tool in server["tools"]:
            schemas = (tool["inputSchema"], tool.get("outputSchema"))
            tools.append(CallableTool(server["server"], tool["name"], tool.get("description") or "", *schemas))
    return tools
