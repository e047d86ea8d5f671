import json
import sys
from pathlib import Path
from typing import Any, NoReturn

import click

from cli.errors import Failure
from cli.output import output_option, say_json, say_text
from cli.search import gateway_for
from cli.settings import data_dir_option, gateway_option


@click.command(
    epilog="""\b
Examples:
  toolscript call files__read_file --arg path=README.md
  toolscript call files__read_file '{"path": "README.md"}'
  echo '{"path": "README.md"}' | toolscript call files__read_file -
  toolscript call files__read_file @arguments.json --output json
"""
)
@click.argument("tool")
@click.argument("arguments", required=False)
@click.option(
    "--arg",
    "-a",
    "pairs",
    multiple=True,
    metavar="NAME=VALUE",
    help="One argument. A value that is JSON (5, true, [1,2]) is taken as such, anything else as text.",
)
@output_option("text", "json")
@gateway_option
@data_dir_option
def call(tool: str, *, arguments: str | None, pairs: tuple[str, ...], output: str, gateway: str | None) -> None:
    """Call a tool on its server.

    TOOL is `server__tool`. ARGUMENTS is a JSON object, `-` to read one from stdin, or `@FILE`.
    """
    given = {**read_arguments(arguments), **dict(pair(text) for text in pairs)}
    with gateway_for(gateway) as asked:
        answer = asked.call(f"/tools/{tool}", given)
    if output == "json":
        say_json(answer)
    else:
        for line in lines_of(answer):
            say_text(line)
    if isinstance(answer, dict) and answer.get("isError"):
        raise Failure("The tool reported an error.")


def read_arguments(text: str | None) -> dict[str, Any]:
    if text is None:
        return {}
    where = "stdin" if text == "-" else text[1:]
    try:
        if text == "-":
            text = sys.stdin.read()
        elif text.startswith("@"):
            text = Path(text[1:]).read_text(encoding="utf-8")
    except OSError as exc:
        raise click.UsageError(f"{where} cannot be read: {exc.strerror}.") from None
    except UnicodeDecodeError:
        raise click.UsageError(f"{where} cannot be read: it is not text in UTF-8.") from None
    try:
        value = from_json(text)
    except RecursionError:
        raise click.UsageError("ARGUMENTS is nested too deeply.") from None
    except ValueError as exc:
        raise click.UsageError(f"ARGUMENTS is not valid JSON: {exc}.") from None
    if not isinstance(value, dict):
        raise click.UsageError('ARGUMENTS must be a JSON object, such as \'{"path": "README.md"}\'.')
    return value


def pair(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise click.UsageError(f"--arg {text!r} is not of the form NAME=VALUE.")
    try:
        return name, from_json(value)
    except (RecursionError, ValueError):
        return name, value


def from_json(text: str) -> Any:
    return json.loads(text, parse_constant=_refused)


def _refused(name: str) -> NoReturn:
    """Python takes NaN and Infinity for JSON; nobody else does."""
    raise ValueError(f"{name} is no JSON")


def lines_of(answer: Any) -> list[str]:
    """The text parts as they are; what is no text is named, with its size."""
    content = answer.get("content") if isinstance(answer, dict) else None
    if not isinstance(content, list) or not all(isinstance(part, dict) for part in content):
        return [json.dumps(answer, ensure_ascii=False, indent=2)]
    lines = []
    for part in content:
        if part.get("type") == "text":
            lines.append(str(part.get("text", "")))
        elif isinstance(part.get("data"), str):
            lines.append(f"[{part.get('type')}, {part.get('mimeType')}, {len(part['data'])} characters of base64]")
        else:
            lines.append(json.dumps(part, ensure_ascii=False))
    structured = answer.get("structuredContent")
    if not lines and structured is not None:
        lines = [json.dumps(structured, ensure_ascii=False, indent=2)]
    return lines
