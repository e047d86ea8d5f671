"""What a command needs to know before any service runs: the data folder, the gateway, the defaults of a search.

The service reads the same variables in config/settings.py; this is the part that must not cost an import of Django.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from cli.errors import WRONG_USE, Failure

Command = TypeVar("Command", bound=Callable[..., Any])

LIMIT = 3
THRESHOLD = 0.35
MAX_LIMIT = 50


class Share(click.FloatRange):
    """From 0 to 1. `nan` is neither below nor above anything, so that the range alone lets it pass."""

    def __init__(self) -> None:
        super().__init__(0, 1)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if number != number:  # noqa: PLR0124
            self.fail(f"{value} is not in the range 0<=x<=1.", param, ctx)
        return number


def data_dir_option(command: Command) -> Command:
    """`--data-dir`: for this command only, and for everything it starts."""
    return click.option(
        "--data-dir",
        type=click.Path(file_okay=False),
        expose_value=False,
        callback=_use_data_dir,
        is_eager=True,
        help="Folder for database, caches and logs. [env: TOOLSCRIPT_DATA_DIR; default: ~/.toolscript]",
    )(command)


def _use_data_dir(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    if value is None or ctx.resilient_parsing:
        return
    if not value.strip():  # a path that is empty would be the folder one happens to be in
        raise click.BadParameter("it is empty.", ctx, param)
    os.environ["TOOLSCRIPT_DATA_DIR"] = str(Path(value).expanduser().absolute())


def gateway_option(command: Command) -> Command:
    return click.option(
        "--gateway",
        envvar="TOOLSCRIPT_GATEWAY_URL",
        show_envvar=True,
        metavar="URL",
        help="Gateway to ask. Default: the one that runs with this data folder.",
    )(command)


def data_dir() -> Path:
    return Path(os.environ.get("TOOLSCRIPT_DATA_DIR", "").strip() or "~/.toolscript").expanduser().absolute()


def api_key() -> str:
    return _sendable(os.environ.get("TOOLSCRIPT_API_KEY", "").strip(), "TOOLSCRIPT_API_KEY")


def local_key() -> str:
    """The key that `up` keeps in the data folder, for whoever may read that folder."""
    path = data_dir() / "api_key"
    try:
        return _sendable(path.read_text(encoding="utf-8", errors="replace").strip(), str(path))
    except OSError:
        return ""


def _sendable(key: str, where: str) -> str:
    if not key.isascii() or not key.isprintable():
        raise Failure(f"{where} holds no key: it has characters that no key has.", code=WRONG_USE)
    return key
