"""A server for tests of the gateway. Run as a program, over stdio or with `--port` over streamable HTTP."""

import argparse
import asyncio
import base64
import os
from typing import Any

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import (
    AudioContent,
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
    ToolAnnotations,
)

server = MCPServer("gateway-test", log_level="CRITICAL")
DATA = base64.b64encode(b"\x00\x01").decode()


@server.tool()
def echo(text: str, times: int = 1, note: str | None = "none") -> dict[str, Any]:
    """Say the same again."""
    return {"text": text * times, "note": note, "pid": os.getpid()}


@server.tool()
async def wait(seconds: float, text: str = "") -> str:
    """Answer later."""
    await asyncio.sleep(seconds)
    return text


@server.tool()
def crash() -> str:
    """End the server in the middle of a call."""
    os.write(2, b"Traceback (most recent call last): secret-of-stderr\n")
    os._exit(3)


@server.tool()
def fail() -> str:
    """Report an error."""
    raise ToolError("the printer is on fire")


@server.tool(structured_output=False)
def everything() -> CallToolResult:
    """Every kind of content."""
    return CallToolResult(
        content=[
            TextContent(type="text", text="ünï ☃"),
            ImageContent(type="image", data=DATA, mime_type="image/png"),
            AudioContent(type="audio", data=DATA, mime_type="audio/wav"),
            EmbeddedResource(type="resource", resource=TextResourceContents(uri="test://a", text="inside")),
            ResourceLink(type="resource_link", uri="test://b", name="b"),
        ],
        structured_content={"kept": None, "list": [1, None]},
        _meta={"trace": "7"},
    )


@server.tool(annotations=ToolAnnotations(destructive_hint=True))
def erase(what: str) -> str:
    """Destroy something."""
    return f"{what} is gone"


@server.tool(name="odd/na__me.x")
def odd() -> str:
    """A name that is hard to put into an address."""
    return "odd"


@server.tool()
async def learn(name: str, ctx: Context) -> str:
    """Offer one more tool from now on."""
    server.add_tool(lambda: name, name=name, description="Learned.")
    await ctx.session.send_tool_list_changed()
    return name


@server.prompt()
def greet(name: str) -> str:
    """Greet a person."""
    return f"Say hello to {name}."


@server.resource("test://fixed")
def fixed() -> str:
    """A text."""
    return "fixed text"


@server.resource("test://item/{number}")
def item(number: str) -> str:
    """One of many."""
    return f"item {number}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int)
    port = parser.parse_args().port
    if port is None:
        server.run("stdio")
    else:
        server.run("streamable-http", port=port)
