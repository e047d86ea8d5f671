from pathlib import Path
from typing import Any

import click

from cli import settings
from cli.errors import OK, UNAVAILABLE, Failure
from cli.gateway import Gateway, find, running_url
from cli.output import note, output_option, say, say_json, styled

SECONDS = 10.0


@click.command(
    epilog="""\b
Examples:
  toolscript status
  toolscript status --output json
  until toolscript status > /dev/null; do sleep 1; done     wait until it is ready

\b
Exit code: 0 when a gateway is ready to search, 3 when none runs or it is not ready.
"""
)
@output_option("text", "json")
@settings.gateway_option
@settings.data_dir_option
@click.pass_context
def status(ctx: click.Context, output: str, gateway: str | None) -> None:
    """Show whether a gateway runs and is ready."""
    found = facts(gateway)
    if output == "json":
        say_json(found)
    else:
        show(found)
    ctx.exit(OK if found["ready"] else UNAVAILABLE)


def facts(url: str | None) -> dict[str, Any]:
    folder = settings.data_dir()
    cache = folder / "cache" / "embeddings"
    found: dict[str, Any] = {
        "gateway": url or running_url(),
        "ready": False,
        "problem": None,
        "checks": {},
        "model": None,
        "data_dir": str(folder),
        "data_dir_exists": folder.is_dir(),
        "embedding_cache_bytes": sum(file.stat().st_size for file in _files(cache)),
    }
    asked = find(url)
    if asked is None:
        found["problem"] = "No gateway runs with this data folder."
        return found
    return found | _asked(asked)


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.glob("*.json") if path.is_file()] if folder.is_dir() else []


def _asked(gateway: Gateway) -> dict[str, Any]:
    try:
        answer = gateway.ready()
        return {"ready": True, "checks": answer["checks"], "model": answer.get("model")}
    except Failure as exc:
        return {"problem": exc.message}


def show(found: dict[str, Any]) -> None:
    state = styled("ready", "good") if found["ready"] else styled("not ready", "bad")
    say(f"gateway    {found['gateway'] or 'none'}  {state}")
    for name, value in found["checks"].items():
        about = f"  {found['model']}" if name == "model" and found["model"] else ""
        say(f"{name:<10} {styled(value, 'good' if value == 'ok' else 'bad')}{about}")
    say(f"data       {found['data_dir']}{'' if found['data_dir_exists'] else '  (not there yet)'}")
    say(f"cache      {found['embedding_cache_bytes'] / 1e6:.1f} MB of vectors")
    if found["problem"]:
        note(found["problem"], "warn")
        note("Start one with `toolscript up`, or name one with --gateway or TOOLSCRIPT_GATEWAY_URL.")
