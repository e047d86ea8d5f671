"""`toolscript import FILE…`"""

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from cli.catalogue import bars, refresh_index, say_refusals, show
from cli.identity import identify
from cli.output import clean, note, say
from cli.service import prepare_database

COUNTS = ("created", "changed", "unchanged", "missing", "returned")


@click.command("import", short_help="Take servers into the catalogue from files.")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE…")
@click.option("--output", type=click.Choice(["table", "json"]), default="table", show_default=True)
@click.option("--index/--no-index", default=True, show_default=True, help="Make the tools searchable at once.")
def import_files(paths: tuple[Path, ...], output: str, index: bool) -> None:
    """Take servers into the catalogue without reaching them.

    Each FILE holds what one server publishes, as JSON: `server`, `tools`, and where it has them `prompts`,
    `resources`, `resourceTemplates`. A folder stands for the *.json files in it. Each file is taken in whole or not
    at all; the same file again writes nothing, so an interrupted import is simply run again. With a tenant's key in
    TOOLSCRIPT_API_KEY the servers are that tenant's, else shared.

    \b
    Examples:
      toolscript import github.json
      toolscript import catalog/ --output json > report.json
    """
    prepare_database()
    owner = identify().owner_of_new_rows()
    results = _results(_files(paths), owner, quiet=output == "json")
    wrote = any(row["created"] + row["changed"] + row["returned"] for row in results)
    hint = refresh_index(quiet=output == "json") if index and wrote else ""
    show(output, {"files": results, "totals": _totals(results)}, lambda: _print(results, hint))
    if any(row["error"] for row in results):
        sys.exit(1)


def _files(paths: tuple[Path, ...]) -> list[Path]:
    files = [file for path in paths for file in (sorted(path.glob("*.json")) if path.is_dir() else [path])]
    if not files:
        raise click.UsageError("There is no *.json file there.")
    return list(dict.fromkeys(files))


def _results(files: list[Path], owner: int | None, *, quiet: bool) -> list[dict[str, Any]]:
    results = []
    with bars(quiet=quiet) as progress:
        task = progress.add_task("importing", total=len(files))
        for file in files:
            progress.update(task, description=file.stem[:24])
            results.append(_result(file, owner))
            progress.advance(task)
        progress.update(task, description="imported")
    return results


def _result(file: Path, owner: int | None) -> dict[str, Any]:
    from core.errors import ToolscriptError
    from tools_catalog.services.publication import published_import

    empty = {"file": str(file), "server": "", "seen": 0, **dict.fromkeys(COUNTS, 0), "refused": [], "error": ""}
    try:
        data = json.loads(file.read_bytes())
        report = published_import(data, tenant_id=owner)
    except ToolscriptError as exc:
        return {**empty, "error": exc.message}
    except RecursionError:
        return {**empty, "error": "It is nested too deeply."}
    except ValueError as exc:
        return {**empty, "error": f"This is no JSON: {exc}"}
    except OSError as exc:
        return {**empty, "error": exc.strerror or str(exc)}
    refused = [asdict(refusal) for refusal in report.refusals]
    return {**empty, "server": report.server, "seen": report.seen, **report.counts, "refused": refused}


def _totals(results: list[dict[str, Any]]) -> dict[str, int]:
    totals = {name: sum(row[name] for row in results) for name in ("seen", *COUNTS)}
    return totals | {
        "refused": sum(len(row["refused"]) for row in results),
        "failed": sum(bool(row["error"]) for row in results),
    }


def _print(results: list[dict[str, Any]], hint: str) -> None:
    for row in results:
        if row["error"]:
            note(clean(f"{row['file']}: {row['error']}"))
            continue
        parts = [f"{row[name]} {name}" for name in COUNTS if row[name]] or ["nothing in it"]
        say(f"{clean(row['server'])}: {', '.join(parts)}" + (f", {len(row['refused'])} refused" * bool(row["refused"])))
        say_refusals(row["refused"])
    totals = _totals(results)
    say(
        f"{len(results)} files, {totals['seen']} items: "
        + ", ".join(f"{totals[n]} {n}" for n in COUNTS)
        + f", {totals['refused']} refused. {totals['failed']} files failed."
    )
    if hint:
        note(clean(hint))
