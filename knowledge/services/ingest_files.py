"""Takes files in, one by one: each is safe in the database, with its vectors, before the next begins."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import DataError

from core.errors import ValidationFailed
from knowledge.models import Source
from knowledge.readers import Unreadable, format_of
from knowledge.services.ingest import content_hash, source_delete, source_ingest, source_mark_failed, sources_embed
from knowledge.types import IngestReport, SourceSpec
from tenants.models import Tenant


@dataclass(frozen=True, slots=True)
class FileReport:
    path: str
    report: IngestReport


def files_ingest(
    files: Sequence[Path],
    *,
    tenant: Tenant | None,
    root: Path | None = None,
    given: dict[str, Any] | None = None,
    advance: Callable[[int], None] = lambda count: None,
) -> Iterator[FileReport]:
    """Goes on whatever is wrong with a file. Raises only when the database or the model is away."""
    paths = [stored_path(file, root) for file in files]
    known = _known(paths, tenant)
    _adopt(paths, tenant, stored_root(root))
    for file in files:
        report = _ingest(file, stored_path(file, root), known, tenant, {**(given or {}), "root": stored_root(root)})
        if report.outcome in {"created", "changed"} and report.source_id is not None:
            sources_embed([report.source_id], advance)
        yield FileReport(stored_path(file, root), report)


def stored_path(file: Path, root: Path | None) -> str:
    """The absolute path, or the one from the root. Odd bytes in a name are written as Python writes them."""
    path = file.relative_to(root) if root is not None and file.is_relative_to(root) else file
    return path.as_posix().encode("utf-8", "backslashreplace").decode()


def stored_root(root: Path | None) -> str:
    return stored_path(root, None) if root is not None else ""


def sources_gone(
    folders: Sequence[Path], files: Sequence[Path], *, tenant: Tenant | None, root: Path | None
) -> list[Source]:
    """Sources that came from files in these folders, and whose files are no longer there."""
    kept = {stored_path(file, root) for file in files}
    prefixes = tuple("" if folder == root else stored_path(folder, root).rstrip("/") + "/" for folder in folders)
    sources = Source.objects.filter(tenant=tenant, origin=Source.Origin.FILE, root=stored_root(root))
    candidates = [source for source in sources.only("pk", "path") if source.path not in kept]
    return [source for source in candidates if source.path.startswith(prefixes)]


def sources_prune(sources: Sequence[Source]) -> int:
    return len([source_delete(source) for source in sources])


def _known(paths: Sequence[str], tenant: Tenant | None) -> dict[str, tuple[int, str]]:
    """Path to id and hash of what is in already, in one statement for all: most files of most runs did not change."""
    rows = Source.objects.filter(tenant=tenant, path__in=paths, status=Source.Status.READY)
    return {path: (pk, digest) for path, pk, digest in rows.values_list("path", "pk", "content_hash")}


def _adopt(paths: Sequence[str], tenant: Tenant | None, root: str) -> None:
    """A document comes from where its file was found last: a checkout may lie elsewhere today."""
    known = Source.objects.filter(tenant=tenant, path__in=paths, origin=Source.Origin.FILE)
    known.exclude(root=root).update(root=root)


def _ingest(
    file: Path, path: str, known: dict[str, tuple[int, str]], tenant: Tenant | None, given: dict[str, Any]
) -> IngestReport:
    spec = SourceSpec(path, format_of(file.name) or "text", b"", origin=Source.Origin.FILE, **given)
    try:
        size = file.stat().st_size
        if size > settings.MAX_DOCUMENT_BYTES:
            raise Unreadable(f"It has {size} bytes; at most {settings.MAX_DOCUMENT_BYTES} are taken.")
        spec = replace(spec, content=file.read_bytes())
        if path in known and known[path][1] == content_hash(spec):
            return IngestReport("unchanged", known[path][0])
        return source_ingest(spec, tenant=tenant)
    except OSError as exc:
        return source_mark_failed(spec, f"It cannot be opened: {exc.strerror}.", tenant=tenant)
    except Unreadable as exc:
        return source_mark_failed(spec, exc.message, tenant=tenant)
    except ValidationFailed as exc:
        return IngestReport("failed", error=exc.message)
    except (DataError, ValueError, RecursionError) as exc:  # what no reader expected must not end the run
        reason = str(exc).replace("\0", " ").strip() or type(exc).__name__
        return source_mark_failed(spec, f"It cannot be taken in: {reason}", tenant=tenant)
