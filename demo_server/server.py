"""Puts the server together."""

from pathlib import Path

from mcp.server.mcpserver import MCPServer

from demo_server import desk, extras, tools
from demo_server.sandbox import Sandbox
from demo_server.store import Store

INSTRUCTIONS = "A small desk: notes, to-dos, a calendar, files, text, time zones and arithmetic. All of it is local."


def build(folder: Path) -> MCPServer:
    server = MCPServer("demo", title="Demo desk", instructions=INSTRUCTIONS, version="1", log_level="WARNING")
    store = Store(folder)
    desk.register(server, store)
    tools.register(server, Sandbox(folder / "files"))
    extras.register(server, store)
    return server
