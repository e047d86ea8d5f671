"""Servers for tests, as rows of the catalogue."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.processes import ROOT
from tools_catalog.models import Server

RAW = ROOT / "tests" / "mcp_servers" / "raw.py"


def tool(name: str, description: str = "Does something.", **fields: Any) -> dict[str, Any]:
    return {"name": name, "description": description, "inputSchema": {"type": "object", "properties": {}}, **fields}


@dataclass
class RawServer:
    """What it publishes can be changed at any time; it reads its definition for every request."""

    path: Path
    row: Server

    def define(self, **definition: Any) -> None:
        other = self.path.with_suffix(".new")
        other.write_text(json.dumps(definition))
        other.replace(self.path)


def raw_server(folder: Path, name: str = "raw", *, timeout: float = 5, **definition: Any) -> RawServer:
    path = folder / f"{name}.json"
    row = Server.objects.create(
        name=name,
        transport="stdio",
        source="admin",
        command=sys.executable,
        args=["-S", "-E", str(RAW), str(path)],
        timeout_seconds=timeout,
    )
    server = RawServer(path, row)
    server.define(**definition)
    return server


def url_server(name: str, transport: str, url: str, *, timeout: float = 10, **fields: Any) -> Server:
    return Server.objects.create(
        name=name, transport=transport, source="admin", url=url, timeout_seconds=timeout, **fields
    )
