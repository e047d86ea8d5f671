"""`toolscript eval`: how well each strategy finds the tools of a set with known answers."""

import json
import os
from pathlib import Path

import click

from cli.errors import failure_of
from cli.progress import progress

NAMES = ("hierarchical", "direct", "hybrid", "gateway")
DEFAULT = NAMES[:3]


@click.command(name="eval")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="DIR")
@click.option(
    "--strategy", "strategies", multiple=True, type=click.Choice(NAMES), help="Only this one; may be repeated."
)
@click.option("--output", type=click.Choice(["table", "json"]), default="table", show_default=True)
def evaluate(folder: Path, strategies: tuple[str, ...], output: str) -> None:
    """Measure how well searches find the right tools.

    DIR holds tools.jsonl, with one {"id", "server", "name", "description", "input_schema"} a line, and queries.jsonl,
    with one {"query", "gold": [tool ids]} a line. They are indexed in a database of their own, which is removed at the
    end: your catalogue is neither used nor changed.

    \b
    Examples:
      toolscript eval sets/metatool
      toolscript eval sets/metatool --strategy hybrid --strategy direct
      toolscript eval sets/metatool --output json > scores.json
    """
    os.environ.setdefault("TOOLSCRIPT_LOG_LEVEL", "ERROR")  # a search that falls back is no news here
    from cli.service import set_up

    set_up()
    from core.errors import ToolscriptError
    from search.services.evaluation import evaluate as run

    try:
        with progress() as report:
            scores = run(folder, strategies or DEFAULT, report)
    except ToolscriptError as exc:
        raise failure_of(exc) from None
    if output == "json":
        click.echo(json.dumps({"strategies": scores}, indent=2))
    else:
        _table(folder, scores)


def _table(folder: Path, scores: dict[str, dict[str, float]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title=folder.resolve().name)
    table.add_column("strategy")
    metrics = list(next(iter(scores.values())))
    for metric in metrics:
        table.add_column(metric, justify="right")
    for name, values in scores.items():
        best = [values[m] == max(other[m] for other in scores.values()) for m in metrics]
        cells = [
            f"[bold]{values[m]:.3f}[/bold]" if top else f"{values[m]:.3f}" for m, top in zip(metrics, best, strict=True)
        ]
        table.add_row(name, *cells)
    Console().print(table)
