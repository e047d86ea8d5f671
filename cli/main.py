"""The `toolscript` command. Each subcommand is a file of its own and is imported only when it is asked for."""

import importlib
import os
import sys
from typing import Any, NoReturn

import click
from click.exceptions import NoArgsIsHelpError

from cli.errors import BROKEN_PIPE, INTERRUPTED, Failure, failure_of
from cli.output import note
from core.errors import ToolscriptError

COMMANDS: dict[str, str] = {
    "call": "cli.call:call",
    "completion": "cli.completion:completion",
    "config": "cli.config:config",
    "eval": "cli.eval:evaluate",
    "import": "cli.import_files:import_files",
    "ingest": "cli.ingest:ingest",
    "mcp": "cli.mcp:mcp",
    "search": "cli.search:search",
    "serve": "cli.up:serve",
    "skills": "cli.skills:skills",
    "status": "cli.status:status",
    "sync": "cli.sync:sync",
    "types": "cli.types:types",
    "up": "cli.up:up",
}
"""Name: `module:function`. Nothing here imports Django or a model before its command runs."""


class ReaderGone(Exception):
    """A broken pipe, under a name that click does not turn into an exit with code 1."""


class LazyGroup(click.Group):
    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise ReaderGone from None

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, attribute = COMMANDS[cmd_name].split(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in COMMANDS and not args[0].startswith("-") and not ctx.resilient_parsing:
            import difflib

            close = difflib.get_close_matches(args[0], COMMANDS, n=1)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            raise click.UsageError(f"There is no command {args[0]!r}.{hint}", ctx)
        return super().resolve_command(ctx, args)


EPILOG = """\b
Examples:
  toolscript up                                  start everything on this machine
  toolscript search "read a file"                find a tool
  toolscript search "read a file" --output json  the same, for a script
  toolscript types github > github.ts            a typed client for one server

\b
Exit codes: 0 done, 1 failed, 2 wrong use, 3 nobody answers (try again later), 130 interrupted.
"""


@click.command(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]}, epilog=EPILOG)
@click.version_option(package_name="toolscript")
def toolscript() -> None:
    """Find the right tool among thousands."""


def main() -> NoReturn:
    sys.exit(run())


def run(args: list[str] | None = None) -> int:
    """Runs the command (of this process, by default); whatever ends it becomes one line and an exit code."""
    try:
        code = toolscript.main(args, prog_name="toolscript", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except Failure as exc:
        return _failed(exc)
    except ToolscriptError as exc:
        return _failed(failure_of(exc))
    except NoArgsIsHelpError as exc:
        exc.show()
        return exc.exit_code
    except click.ClickException as exc:
        return _failed(Failure(exc.format_message(), hint=_help_of(exc), code=exc.exit_code))
    except (click.Abort, KeyboardInterrupt):
        note("\nInterrupted.")
        return INTERRUPTED
    except (BrokenPipeError, ReaderGone):
        return _nobody_reads()
    except OSError as exc:
        where = f"{exc.filename}: " if exc.filename else ""
        return _failed(Failure(f"{where}{exc.strerror or exc}."))


def _help_of(exc: click.ClickException) -> str:
    command = exc.ctx.command_path if isinstance(exc, click.UsageError) and exc.ctx else ""
    return f"`{command} --help` says how it is used." if command else ""


def _nobody_reads() -> int:
    """Python would complain once more when it flushes what nobody reads."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return BROKEN_PIPE


def _failed(exc: Failure) -> int:
    note(f"Error: {exc.message}", "bad")
    if exc.hint:
        note(exc.hint)
    return exc.exit_code
