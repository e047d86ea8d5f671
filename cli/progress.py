"""Progress of long work, on stderr: a bar in a terminal, a line now and then where it is piped."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click

Report = Callable[[str, int, int], None]
"""Called with what is worked on, how much of it is done, and of how much. The form that `index_refresh` reports in."""

STEPS = 10


@contextmanager
def progress(quiet: bool = False) -> Iterator[Report]:
    if quiet:
        yield lambda label, done, total: None
    elif sys.stderr.isatty():
        with _bars() as report:
            yield report
    else:
        yield _Lines()


class _Lines:
    """At most ten lines for each label, so that a log stays readable."""

    def __init__(self) -> None:
        self._said: dict[str, int] = {}

    def __call__(self, label: str, done: int, total: int) -> None:
        step = STEPS if done >= total else done * STEPS // total
        if total > 0 and step > self._said.get(label, 0):
            self._said[label] = step
            click.echo(f"{label}: {done}/{total}", err=True)


@contextmanager
def _bars() -> Iterator[Report]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    label = TextColumn("{task.description:>8}", justify="right")
    columns = (label, BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    tasks: dict[str, Any] = {}
    with Progress(*columns, console=Console(stderr=True), transient=False) as bars:

        def report(label: str, done: int, total: int) -> None:
            if not total:
                return
            if label not in tasks:
                tasks[label] = bars.add_task(label, total=total)
            bars.update(tasks[label], completed=done, total=total)

        yield report
