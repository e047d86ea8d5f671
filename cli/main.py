"""The `toolscript` command. Each subcommand is a file of its own and is imported only when it is asked for."""

import importlib
import sys

import click

COMMANDS: dict[str, str] = {
    "mcp": "cli.mcp:mcp",
    "import": "cli.import_files:import_files",
    "sync": "cli.sync:sync",
}
"""Name: `module:function`. Nothing here imports Django or a model before its command runs."""


class LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, attribute = COMMANDS[cmd_name].split(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command


@click.command(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="toolscript")
def toolscript() -> None:
    """Find the right tool among thousands."""


def main() -> None:
    sys.exit(toolscript(prog_name="toolscript"))
