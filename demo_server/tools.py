"""Text, time zones, arithmetic and files."""

import difflib
import re
from collections.abc import Callable
from datetime import datetime
from typing import Annotated, TypeVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BaseModel, Field

from demo_server.arithmetic import evaluate
from demo_server.desk import DESTROYS, READS
from demo_server.sandbox import Sandbox

T = TypeVar("T")
Zone = Annotated[str, Field(description="A time zone such as Europe/Vienna or America/New_York.")]
Text = Annotated[str, Field(max_length=200_000)]


class Statistics(BaseModel):
    characters: int
    words: int
    lines: int
    sentences: int
    longest_word: str


class Moment(BaseModel):
    time: str
    weekday: str
    utc_offset: str


class Result(BaseModel):
    expression: str
    result: int | float


class Written(BaseModel):
    name: str
    bytes: int


def register(server: MCPServer, sandbox: Sandbox) -> None:
    text(server)
    time_and_numbers(server)
    files(server, sandbox)


def text(server: MCPServer) -> None:
    @server.tool(annotations=READS)
    def text_statistics(text: Text) -> Statistics:
        """Count the characters, words, lines and sentences of a text."""
        words = re.findall(r"\w+(?:['-]\w+)*", text)
        return Statistics(
            characters=len(text),
            words=len(words),
            lines=len(text.splitlines()),
            sentences=len(re.findall(r"[.!?]+(?=\s|$)", text)),
            longest_word=max(words, key=len, default=""),
        )

    @server.tool(annotations=READS)
    def compare_texts(before: Text, after: Text) -> str:
        """Show line by line what changed between two texts, as a unified diff."""
        lines = difflib.unified_diff(before.splitlines(), after.splitlines(), "before", "after", lineterm="")
        return "\n".join(lines) or "The texts are the same."


def zone_of(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ToolError(f"{name} is no time zone. An example: Europe/Vienna") from None


def moment(time: datetime) -> Moment:
    return Moment(time=time.isoformat("T", "seconds"), weekday=time.strftime("%A"), utc_offset=time.strftime("%z"))


def time_and_numbers(server: MCPServer) -> None:
    @server.tool(annotations=READS)
    def time_in_zone(zone: Zone) -> Moment:
        """Tell what time it is now in a time zone."""
        return moment(datetime.now(zone_of(zone)))

    @server.tool(annotations=READS)
    def convert_time_zone(
        time: Annotated[datetime, Field(description="A local time, as 2026-11-30T15:00.")],
        from_zone: Zone,
        to_zone: Zone,
    ) -> Moment:
        """Convert a local time from one time zone to another."""
        if time.tzinfo is not None:
            raise ToolError("Give the time without an offset: its zone is from_zone.")
        return moment(time.replace(tzinfo=zone_of(from_zone)).astimezone(zone_of(to_zone)))

    @server.tool(annotations=READS)
    def evaluate_expression(
        expression: Annotated[str, Field(description="An example: (2 + 3) * sqrt(16)", min_length=1)],
    ) -> Result:
        """Work out an arithmetic expression: + - * / // % **, brackets, sqrt, round, min, max, sin, cos, log, pi, e."""
        try:
            return Result(expression=expression, result=evaluate(expression))
        except ValueError as exc:
            raise ToolError(str(exc)) from None


def files(server: MCPServer, sandbox: Sandbox) -> None:
    @server.tool(annotations=READS)
    def list_sandbox_files() -> list[str]:
        """List the files in the folder of this desk."""
        return sandbox.names()

    @server.tool(annotations=READS)
    def read_sandbox_file(name: str) -> str:
        """Read a text file from the folder of this desk."""
        return guarded(lambda: sandbox.read(name))

    @server.tool(annotations=DESTROYS)
    def write_sandbox_file(name: str, content: Text) -> Written:
        """Write a text file into the folder of this desk. What was in it before is replaced."""
        return Written(name=name, bytes=guarded(lambda: sandbox.write(name, content)))

    @server.tool(annotations=DESTROYS)
    def delete_sandbox_file(name: str) -> str:
        """Delete a file from the folder of this desk."""
        guarded(lambda: sandbox.delete(name))
        return f"{name} is deleted."


def guarded(action: Callable[[], T]) -> T:
    """What the sandbox refuses, and what the disk does, is said to the caller in words."""
    try:
        return action()
    except ValueError as exc:
        raise ToolError(str(exc)) from None
    except OSError as exc:
        raise ToolError(f"The file cannot be used: {exc.strerror}.") from None
