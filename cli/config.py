import os
from typing import Any

import click

from cli.errors import Failure
from cli.output import Column, output_option, say, say_json, table
from cli.settings import data_dir_option

SECRET = ("KEY", "PASSWORD", "SECRET", "TOKEN")


@click.command(
    epilog="""\b
Examples:
  toolscript config                     every setting, its value, and where it comes from
  toolscript config --changed           only those that are not at their default
  toolscript config --check             say whether all can be used, and nothing else
  TOOLSCRIPT_WEB_THREADS=0 toolscript config --check
"""
)
@click.option("--changed", is_flag=True, help="Only settings that the environment gives.")
@click.option("--check", is_flag=True, help="Only check them: exit code 0 when all can be used, 1 when not.")
@output_option("table", "json")
@data_dir_option
def config(changed: bool, check: bool, output: str) -> None:
    """Show or check the settings in effect.

    Each with its value and where it comes from. Secrets are not shown.
    """
    rows = [row for row in effective() if row["source"] == "environment" or not changed]
    if check:
        say(f"{len(rows)} settings can be used.", "good")
    elif output == "json":
        say_json(rows)
    else:
        table(
            [Column("Setting", 24, style="name"), Column("Value", 16), Column("Source", 11)],
            [[row["name"], row["value"], row["source"]] for row in rows],
        )


def effective() -> list[dict[str, Any]]:
    """Every declared setting. One that cannot be used ends the command with a line for each such."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
    os.environ["TOOLSCRIPT_COLLECT_PROBLEMS"] = "1"
    from django.conf import settings

    if settings.SETTING_PROBLEMS:
        raise Failure("\n  ".join(["These settings cannot be used:", *settings.SETTING_PROBLEMS]))
    return [
        {
            "name": name,
            "value": shown(name, declared.value),
            "default": shown(name, declared.default),
            "source": "environment" if declared.given else "default",
        }
        for name, declared in sorted(settings.SETTINGS_DECLARED.items())
    ]


def shown(name: str, value: object) -> str:
    if any(word in name for word in SECRET):
        return "(set, not shown)" if value else ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return ",".join(str(item) for item in value)
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return without_password(text)


def without_password(url: str) -> str:
    head, at, tail = url.rpartition("@")
    scheme, colon, login = head.partition("://")
    if not at or not colon:
        return url
    user = login.partition(":")[0]
    return f"{scheme}://{user}:…@{tail}" if ":" in login else url
