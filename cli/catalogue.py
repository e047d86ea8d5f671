"""What `toolscript sync` and `toolscript import` share."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from cli.output import clean, say, say_json
from cli.progress import progress

progress_console = Console(stderr=True)
"""Progress goes to stderr, so that a pipe gets the result alone."""


@contextmanager
def bars(*, quiet: bool) -> Iterator[Progress]:
    columns = (TextColumn("{task.description:>24}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=progress_console, disable=quiet or not progress_console.is_terminal) as shown:
        yield shown


def refresh_index(*, quiet: bool) -> str:
    """Makes what came in searchable. What to tell the user when somebody else does it, or it fails."""
    from core import scope
    from core.errors import ToolscriptError
    from tools_catalog.services.reindex import index_refresh

    try:
        with progress(quiet) as report, scope.scoped(scope.ALL):  # one index for all
            space = index_refresh(progress=lambda label, done, total: report(f"index of {label}", done, total))
    except ToolscriptError as exc:
        return f"The index was not brought up to date: {exc.message}"
    return "" if space else "The running service brings the index up to date."


def say_refusals(refusals: list[dict[str, Any]]) -> None:
    for refusal in refusals:
        say("    " + clean(f"refused {refusal['type']} {refusal['name']!r}: {refusal['reason']}"))


def show(output: str, data: Any, table: Callable[[], None]) -> None:
    if output == "json":
        say_json(data)
    else:
        table()
