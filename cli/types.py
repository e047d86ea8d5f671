from pathlib import Path

import click

from cli.errors import WRONG_USE, Failure
from cli.output import note
from cli.search import gateway_for
from cli.settings import data_dir_option, gateway_option


def named(ctx: click.Context, param: click.Parameter, names: tuple[str, ...]) -> tuple[str, ...]:
    """An empty name is a variable that is not set, and must not stand for all tools."""
    if not all(name.strip(" ,") for name in names):
        raise click.BadParameter("one of them is empty.", ctx, param)
    return names


@click.command(
    epilog="""\b
Examples:
  toolscript types > tools.ts                      all tools
  toolscript types github files__read_file         one server and one tool
  toolscript types github --compact --file github.ts
"""
)
@click.argument("names", nargs=-1, callback=named)
@click.option("--compact", is_flag=True, help="Without comments: the same types in fewer words.")
@click.option(
    "--file", "-f", type=click.Path(dir_okay=False, path_type=Path), help="Write to this file instead of stdout."
)
@gateway_option
@data_dir_option
def types(names: tuple[str, ...], compact: bool, file: Path | None, gateway: str | None) -> None:
    """Print a typed TypeScript client for servers and tools.

    NAMES are servers (`github`) and tools (`files__read_file`); without any, all tools are in it.
    """
    with gateway_for(gateway) as asked:
        module = asked.get_text(
            "/runtime/tools.ts", filter=",".join(names) or None, compact="true" if compact else None
        )
    if file is None:
        click.echo(module, nl=False)
        return
    try:
        file.write_text(module, encoding="utf-8")
    except OSError as exc:
        raise Failure(f"{file} cannot be written: {exc.strerror}.", code=WRONG_USE) from None
    note(f"{file}: {module.count('await callTool<')} tools")
