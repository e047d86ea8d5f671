"""`toolscript ingest`: files into the knowledge of the service."""

import os
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import click

from cli.errors import failure_of
from cli.identity import identify
from cli.output import clean, note, say_json
from cli.service import prepare_database

FAILED = 1
USAGE = 2


@click.command(
    epilog="""\b
Examples:
  toolscript ingest docs/
  toolscript ingest handbook.pdf 'notes/**/*.md' --topic operations
  toolscript ingest docs/ --root . --prune --output json
"""
)
@click.argument("paths", nargs=-1, required=True)
@click.option("--root", type=click.Path(exists=True, file_okay=False), help="Store paths as seen from this folder.")
@click.option(
    "--tenant",
    "slug",
    help="Slug of the tenant that owns them. Default: the one of your key, else all share them.",
)
@click.option("--type", "source_type", default="", help="book, paper, case_study … Default: what the document says.")
@click.option("--topic", "topics", multiple=True, help="A topic for all of them. Can be given more than once.")
@click.option("--prune", is_flag=True, help="Delete documents whose files are gone from the folders.")
@click.option("--extract", is_flag=True, help="Then have the language model note decisions, patterns and warnings.")
@click.option("--output", type=click.Choice(["table", "json"]), default="table", show_default=True)
def ingest(paths: tuple[str, ...], output: str, prune: bool, **options: Any) -> None:
    """Take Markdown, text, HTML and PDF files in, so that searches find them.

    PATHS are files, folders (with all below them, hidden ones left out) and globs. A file that did not change costs
    nothing; a broken one is reported, and the others go on. Interrupted, it goes on where it was when run again.

    Exit codes: 0 all is in, 1 some files could not be read, 2 nothing to do or a wrong argument.
    """
    os.environ.setdefault("TOOLSCRIPT_LOG_LEVEL", "ERROR")  # the report says it all
    prepare_database()
    from django.db import DatabaseError

    from core.errors import ToolscriptError

    try:
        report = _run(paths, output=output, prune=prune, **options)
    except ToolscriptError as exc:
        raise failure_of(exc) from None
    except DatabaseError as exc:
        reason = str(exc).splitlines()[0]
        raise click.ClickException(f"The database refused this: {reason}") from None
    if output == "json":
        say_json(report)
    else:
        _say(report)
    if report["failed"]:
        sys.exit(FAILED)


def _run(
    paths: tuple[str, ...],
    *,
    output: str,
    prune: bool,
    root: str | None,
    slug: str | None,
    source_type: str,
    topics: tuple[str, ...],
    extract: bool,
) -> dict[str, Any]:
    from knowledge.files import find_files, plain
    from knowledge.services.extract import chat_model
    from knowledge.services.ingest import sources_embed
    from knowledge.services.ingest_files import files_ingest, sources_gone, sources_prune

    if extract:
        chat_model()  # says so before any work where there is none
    found = find_files(paths)
    tenant, whose = _tenant(slug)
    base = plain(Path(root)) if root else None
    if not found.files and not found.folders:
        raise click.UsageError("There is nothing to read: " + ", ".join([*found.missing, *found.unsupported]))
    failures = [{"path": name, "error": "There is no such file."} for name in found.missing]
    failures += [{"path": name, "error": "Its format is not known."} for name in found.unsupported]
    counts: Counter[str] = Counter()
    with _Bar(len(found.files), shown=output == "table") as bar:
        given = {"type": source_type, "topics": topics}
        for item in files_ingest(found.files, tenant=tenant, root=base, given=given, advance=bar.embedded):
            counts[item.report.outcome] += 1
            counts["chunks"] += item.report.chunks
            if item.report.outcome == "failed":
                failures.append({"path": item.path, "error": item.report.error})
            if extract and item.report.source_id and item.report.outcome != "failed":
                counts["extractions"] += _extract(item.report.source_id)
            bar.done(item.path)
        sources_embed(whose, bar.embedded)  # what an interrupted run left without vectors
    gone = sources_gone(found.folders, found.files, tenant=tenant, root=base)
    return {
        "files": len(found.files),
        **{name: counts[name] for name in ("created", "changed", "unchanged")},
        "failed": failures,
        "chunks": counts["chunks"],
        "extractions": counts["extractions"],
        "embedded": bar.vectors,
        "gone": [source.path for source in gone],
        "deleted": sources_prune(gone) if prune else 0,
    }


def _extract(source_id: int) -> int:
    from knowledge.models import Source
    from knowledge.services.extract import source_extract

    return source_extract(Source.objects.get(pk=source_id)).created


def _tenant(slug: str | None) -> tuple[Any, list[int] | None]:
    """Whose the documents will be, and the documents that may be worked on (None: all)."""
    from knowledge.models import Source
    from tenants.models import Tenant
    from tenants.types import OPERATOR

    caller = identify()
    if caller != OPERATOR:
        owner = caller.owner_of_new_rows()
        tenant = Tenant.objects.get(pk=owner) if owner is not None else None
        if slug and (tenant is None or tenant.slug != slug):
            raise click.UsageError(f"The key in TOOLSCRIPT_API_KEY is not one of the tenant {slug!r}.")
        return tenant, list(Source.objects.filter(tenant=tenant).values_list("pk", flat=True))
    tenant = Tenant.objects.filter(slug=slug).first() if slug else None
    if slug and tenant is None:
        raise click.UsageError(f"There is no tenant {slug!r}.")
    return tenant, None


class _Bar:
    """Files done, and passages embedded, on standard error: standard output is for the result."""

    def __init__(self, files: int, *, shown: bool) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("{task.description}"))
        self._bar = Progress(*columns, console=Console(stderr=True), disable=not shown)
        self._task = self._bar.add_task("", total=files)
        self._name = ""
        self.vectors = 0

    def __enter__(self) -> "_Bar":
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def done(self, name: str) -> None:
        self._name = name[-50:]
        self._bar.update(self._task, advance=1, description=self._text())

    def embedded(self, count: int) -> None:
        self.vectors += count
        self._bar.update(self._task, description=self._text())

    def _text(self) -> str:
        from rich.markup import escape

        return f"{self.vectors} passages embedded  {escape(self._name)}"


def _say(report: dict[str, Any]) -> None:
    counts = ", ".join(f"{report[name]} {name}" for name in ("created", "changed", "unchanged"))
    click.echo(f"{report['files']} files: {counts}, {len(report['failed'])} failed.")
    click.echo(f"{report['chunks']} passages written, {report['embedded']} embedded.")
    if report["extractions"]:
        click.echo(f"{report['extractions']} decisions, patterns and warnings noted.")
    for failure in report["failed"]:
        note("  " + clean(f"{failure['path']}: {failure['error']}"))
    if report["deleted"]:
        click.echo(f"{report['deleted']} documents deleted: their files are gone.")
    elif report["gone"]:
        click.echo(f"{len(report['gone'])} documents have no file any more. --prune deletes them.")
