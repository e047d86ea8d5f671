"""What commands print: tables that fit the terminal, JSON for scripts, colours where they are wanted.

Nothing here imports more than the standard library and click: it is on the way of `toolscript search`.
"""

import json
import os
import re
import shutil
import sys
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import IO, Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])

GAP = "  "
ELLIPSIS = "…"


@dataclass(frozen=True, slots=True)
class Column:
    title: str
    floor: int = 8
    """Where the terminal is too narrow, the widest columns are cut first, none below this while there is room."""
    right: bool = False
    style: str = ""
    tail: bool = False
    """Whether the end tells one from the other, as in the ids of tools: what is cut goes out of the middle."""


def wants_colour(stream: IO[str] | None = None) -> bool:
    """A terminal, unless NO_COLOR is set (no-color.org) or the terminal knows none."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return (stream or sys.stdout).isatty()


def styled(text: str, style: str, *, stream: IO[str] | None = None) -> str:
    return click.style(text, **_STYLES[style]) if style and wants_colour(stream) else text


_STYLES: dict[str, dict[str, Any]] = {
    "bold": {"bold": True},
    "dim": {"dim": True},
    "good": {"fg": "green"},
    "bad": {"fg": "red"},
    "warn": {"fg": "yellow"},
    "name": {"fg": "cyan"},
}


def say(text: str = "", style: str = "") -> None:
    """A line of the answer, on stdout."""
    click.echo(styled(text, style), color=wants_colour())


def note(text: str, style: str = "") -> None:
    """A line beside the answer (warnings, hints, progress), on stderr."""
    click.echo(styled(text, style, stream=sys.stderr), err=True, color=wants_colour(sys.stderr))


def say_text(text: str) -> None:
    """Text that a server wrote: a pipe gets it as it is, a terminal without what would steer it."""
    if sys.stdout.isatty():
        text = _STEERING.sub("", text)
    click.echo(text.encode("utf-8", "replace").decode(), color=True)  # or click takes some of it out for pipes


_STEERING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""All control characters but tab and newline."""


def say_json(data: Any) -> None:
    text = json.dumps(data, ensure_ascii=False, indent=2, default=_moment)
    click.echo(_UNSAFE_IN_JSON.sub(lambda match: f"\\u{ord(match[0]):04x}", text))


_UNSAFE_IN_JSON = re.compile("[\x7f-\x9f\ud800-\udfff]")
"""Control characters that JSON lets stand, and halves of characters, which cannot be written."""


def _moment(value: Any) -> str:
    """As the API writes it."""
    return str(value.isoformat()).replace("+00:00", "Z")


def clean(text: str) -> str:
    """One line without control characters: what servers publish must not steer a terminal."""
    return " ".join("".join(" " if unicodedata.category(c) in _UNPRINTABLE else c for c in text).split())


_UNPRINTABLE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def width_of(text: str) -> int:
    """Cells that the text takes in a terminal: CJK and emoji take two, combining marks none."""
    return len(text) if text.isascii() else sum(_cell(c) for c in text)


def _cell(char: str) -> int:
    if unicodedata.combining(char) or unicodedata.category(char) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if unicodedata.east_asian_width(char) in {"W", "F"} else 1


def cut(text: str, width: int) -> str:
    if width_of(text) <= width:
        return text
    kept, used = "", 0
    for char in text:
        used += _cell(char)
        if used > width - 1:
            break
        kept += char
    return kept.rstrip() + ELLIPSIS


def cut_middle(text: str, width: int) -> str:
    """Two thirds of the room are for the end."""
    if width_of(text) <= width:
        return text
    end, used = "", 0
    for char in reversed(text):
        used += _cell(char)
        if used > (width - 1) * 2 // 3:
            break
        end = char + end
    return cut(text, width - width_of(end)) + end


def terminal_width() -> int | None:
    """None where the output is no terminal: a pipe gets every character."""
    return shutil.get_terminal_size((80, 24)).columns if sys.stdout.isatty() else None


def table(columns: Sequence[Column], rows: Sequence[Sequence[object]], *, width: int | None = None) -> None:
    cells = [[clean(str(value)) for value in row] for row in rows]
    say_lines(table_lines(columns, cells, width or terminal_width()))


def say_lines(lines: Sequence[str]) -> None:
    for line in lines:
        click.echo(line, color=wants_colour())


def table_lines(columns: Sequence[Column], rows: Sequence[Sequence[str]], width: int | None) -> list[str]:
    natural = [max([width_of(column.title), *(width_of(row[i]) for row in rows)]) for i, column in enumerate(columns)]
    widths = _fitted(natural, [column.floor for column in columns], width)
    head = _line([column.title for column in columns], columns, widths, ["bold"] * len(columns))
    return [head, *(_line(row, columns, widths, [column.style for column in columns]) for row in rows)]


def _fitted(natural: list[int], floors: list[int], width: int | None) -> list[int]:
    """Takes what is too much from the widest column, again and again: narrow ones stay whole.

    Floors give way where the terminal has no room for them: a line that is wrapped can be read by nobody.
    """
    widths = list(natural)
    if width is None:
        return widths
    room = width - len(GAP) * (len(widths) - 1)
    for least in (floors, [1] * len(widths)):
        while sum(widths) > room and (able := [i for i, w in enumerate(widths) if w > least[i]]):
            widths[max(able, key=lambda i: widths[i])] -= 1
    return widths


def _line(cells: Sequence[str], columns: Sequence[Column], widths: Sequence[int], styles: Sequence[str]) -> str:
    parts = []
    for i, (cell, column, width) in enumerate(zip(cells, columns, widths, strict=True)):
        text = cut_middle(cell, width) if column.tail else cut(cell, width)
        pad = " " * (width - width_of(text))
        last = i == len(cells) - 1 and not column.right
        shown = styled(text, styles[i])
        parts.append(pad + shown if column.right else shown + ("" if last else pad))
    return GAP.join(parts).rstrip()


def output_option(*formats: str) -> Callable[[Command], Command]:
    """`--output`: the first format is the default."""
    return click.option(
        "--output",
        "-o",
        type=click.Choice(formats),
        default=formats[0],
        show_default=True,
        help="Form of the answer; json is for scripts.",
    )
