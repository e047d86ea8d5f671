"""Starting the service: the same commands that `manage.py` has, with options instead of variables."""

import os

import click

from cli.errors import Failure
from cli.settings import data_dir_option


def _set(name: str, value: object) -> None:
    if value is not None:
        os.environ[name] = str(value)


def _manage(command: str) -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    from cli.service import load_django

    load_django()
    from django.core.management import CommandError, call_command

    try:
        call_command(command)
    except CommandError as exc:
        raise Failure(str(exc)) from None


port_option = click.option(
    "--port", type=click.IntRange(1, 65535), help="Port to listen on. [env: PORT; default: 8000]"
)
host_option = click.option("--host", help="Address to listen on. [env: TOOLSCRIPT_HOST; default: 127.0.0.1]")


@click.command(
    epilog="""\b
Examples:
  toolscript up
  toolscript up --port 8001 --no-demo
  toolscript up --data-dir /var/lib/toolscript
"""
)
@port_option
@host_option
@click.option("--demo/--no-demo", default=None, help="Whether an empty catalogue gets the demo. [env: TOOLSCRIPT_DEMO]")
@data_dir_option
def up(port: int | None, host: str | None, demo: bool | None) -> None:
    """Start everything on this machine, in the foreground.

    Database, worker, beat and web server. Ctrl-C stops them all.
    """
    _set("PORT", port)
    _set("TOOLSCRIPT_HOST", host)
    _set("TOOLSCRIPT_DEMO", demo)
    _manage("up")


@click.command(
    epilog="""\b
Examples:
  DATABASE_URL=postgresql://… toolscript serve --host 0.0.0.0
"""
)
@port_option
@host_option
@data_dir_option
def serve(port: int | None, host: str | None) -> None:
    """Start the web server alone.

    The database must be prepared (`manage.py prepare`) and running.
    """
    _set("PORT", port)
    _set("TOOLSCRIPT_HOST", host)
    _manage("serve")
