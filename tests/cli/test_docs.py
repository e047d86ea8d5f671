"""docs/cli.md and the commands say the same: every command has a section, every option a row in it."""

import re
from collections.abc import Iterator

import click
import pytest

from cli.main import COMMANDS, toolscript
from tests.test_docs import DOCS, sections, table_rows


def commands(name: str) -> Iterator[click.Command]:
    """The command, and those inside it."""
    waiting = [toolscript.get_command(click.Context(toolscript), name)]
    while waiting:
        command = waiting.pop()
        assert command is not None
        yield command
        waiting += command.commands.values() if isinstance(command, click.Group) else []


def options(name: str) -> list[click.Option]:
    return [option for command in commands(name) for option in command.params if isinstance(option, click.Option)]


def words(option: click.Option) -> set[str]:
    return {word for word in (*option.opts, *option.secondary_opts) if word.startswith("--")}


def section(name: str) -> str:
    """What a section could look like, for whoever adds a command."""
    [command, *_] = commands(name)
    rows = [
        f"| {', '.join(f'`{w}`' for w in (*option.opts, *option.secondary_opts))} | {option.help or ''} |"
        for option in options(name)
    ]
    return "\n".join([f"## toolscript {name}", "", command.get_short_help_str(200), "", "| Option | Meaning |", *rows])


def test_every_command_has_a_section_and_every_section_is_a_command() -> None:
    described = {name.removeprefix("toolscript ") for name in sections(DOCS / "cli.md") if "toolscript " in name}
    missing = "\n\n".join(section(name) for name in sorted(set(COMMANDS) - described))
    assert described == set(COMMANDS), missing


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_option_has_a_row_and_every_row_is_an_option(name: str) -> None:
    text = sections(DOCS / "cli.md").get(f"toolscript {name}", "")
    described = {word for row in table_rows(text) for word in re.findall(r"`(--[a-z-]+)`", row[0])}
    known = {word for option in options(name) for word in words(option)}
    assert described == known, section(name)


def test_every_exit_code_is_described() -> None:
    from cli import errors

    codes = {str(value) for name, value in vars(errors).items() if name.isupper() and isinstance(value, int)}
    rows = {row[0].strip("`") for row in table_rows(sections(DOCS / "cli.md")["Exit codes"])}
    assert rows - {"Code"} == codes
