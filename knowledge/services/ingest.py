"""Takes documents in. Whoever has one (CLI, API) comes through here."""

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import PurePath

import structlog
from django.conf import settings
from django.db import connection, transaction

from core.errors import ValidationFailed
from knowledge.chunking import pieces_of
from knowledge.metadata import MOST_NAMES, metadata_kept, metadata_problem, storable
from knowledge.models import WORD, Chunk, Extraction, Source
from knowledge.readers import read
from knowledge.services import knowledge_index
from knowledge.services.knowledge_index import text_key
from knowledge.types import Document, IngestReport, Piece, SourceSpec
from tenants.models import Tenant
from tools_catalog.models import EmbeddingSpace

log = structlog.get_logger("toolscript.knowledge")
READ_VERSION = "2"
"""Of how documents are read and cut. Another one means that all of them are read again."""
LONGEST_PATH = 1000
LONGEST_PATH_BYTES = 2000
LONGEST_HEADING = 300
MANY = 200
"""Vectors after which Postgres is told to look at the tables again."""


def source_ingest(spec: SourceSpec, *, tenant: Tenant | None = None) -> IngestReport:
    """Reads, cuts and writes, in one transaction; the same content writes nothing. Raises Unreadable.

    Vectors come after: `sources_embed`, or the next refresh of the index.
    """
    _check(spec)
    digest = content_hash(spec)
    known = Source.objects.filter(tenant=tenant, path=spec.path).only("pk", "content_hash", "status").first()
    if known is not None and known.content_hash == digest and known.status == Source.Status.READY:
        return IngestReport("unchanged", known.pk)
    document = read(spec.content, spec.format)
    pieces = pieces_of(document, spec.format, tokens=settings.CHUNK_TOKENS, overlap=settings.CHUNK_OVERLAP)
    report = _write(spec, tenant, document, pieces, digest)
    log.info("knowledge.ingested", source=report.source_id, outcome=report.outcome, chunks=report.chunks)
    return report


def source_mark_failed(spec: SourceSpec, error: str, *, tenant: Tenant | None = None) -> IngestReport:
    """Keeps the reason where people see it. What an earlier version of the document said stays searchable."""
    if _path_problem(spec.path):  # no row can have it
        return IngestReport("failed", error=error)
    digest = content_hash(spec)
    values = {"status": Source.Status.FAILED, "error": error[:2000]}
    source, created = Source.objects.get_or_create(
        tenant=tenant,
        path=spec.path,
        defaults={
            **values,
            "title": _title(spec, None),
            "format": spec.format,
            "origin": spec.origin,
            "root": spec.root,
            "content_hash": digest,
        },
    )
    if not created and (source.status, source.error) != (values["status"], values["error"]):
        Source.objects.filter(pk=source.pk).update(**values)
    log.warning("knowledge.ingest_failed", source=source.pk, error=error[:500])
    return IngestReport("failed", source.pk, error=error)


@transaction.atomic
def source_describe(source: Source) -> None:
    """Title, type, authors, topics and metadata as somebody wrote them. A new title is part of what passages say."""
    problems = {n: [p] for n, v in source.metadata.items() if (p := metadata_problem(n, v))}
    if problems:
        raise ValidationFailed(f"metadata: {next(iter(problems.values()))[0]}", {"fields": problems})
    source.save()
    moved = []
    for chunk in source.chunks.defer("terms"):
        heading = _heading(source.title, chunk.chapter, chunk.section)
        if heading != chunk.heading:
            chunk.heading, chunk.key = heading, text_key(heading, chunk.content)
            moved.append(chunk)
    Chunk.objects.bulk_update(moved, ["heading", "key"], batch_size=500)
    knowledge_index.payload_sync([source.pk])


@transaction.atomic
def source_delete(source: Source) -> int:
    """Deletes it with its chunks, extractions and vectors. How many chunks it had."""
    _one_at_a_time(source.tenant_id, source.path)
    held = Source.objects.select_for_update().filter(pk=source.pk).first()
    if held is None:
        return 0
    count = held.chunks.count()
    held.delete()
    return count


def vectors_missing(source_id: int) -> int | None:
    """How many passages and extractions of it cannot be found by meaning yet. None: no index has been built at all."""
    space = EmbeddingSpace.objects.filter(is_live=True).first()
    return knowledge_index.stale(space, [source_id]) if space is not None else None


def sources_embed(source_ids: Sequence[int] | None, advance: Callable[[int], None] = lambda count: None) -> int:
    """Gives these sources (None: all) the vectors that they lack, in the live space. How many it gave."""
    space = EmbeddingSpace.objects.filter(is_live=True).first()
    if space is None:
        return 0  # the first refresh builds everything
    given = 0

    def count(number: int) -> None:
        nonlocal given
        given += number
        advance(number)

    knowledge_index.build(space, count, source_ids)
    if given >= MANY:
        with connection.cursor() as cursor:  # a plan made for an empty table is slow for minutes
            cursor.execute("ANALYZE knowledge_source, knowledge_chunk, knowledge_knowledgevector")
    return given


def content_hash(spec: SourceSpec) -> str:
    given = [spec.format, spec.title, spec.type, spec.authors, spec.topics, spec.metadata]
    cut = [READ_VERSION, settings.CHUNK_TOKENS, settings.CHUNK_OVERLAP]
    head = json.dumps([given, cut], sort_keys=True).encode()
    return hashlib.sha256(head + b"\0" + spec.content).hexdigest()


def _check(spec: SourceSpec) -> None:
    problems: dict[str, list[str]] = {}
    if problem := _path_problem(spec.path):
        problems["path"] = [problem]
    if spec.type and (len(spec.type) > 32 or not re.fullmatch(WORD, spec.type)):
        problems["type"] = ["At most 32 lower-case letters, digits and underscores, a letter first, are expected."]
    if len(spec.metadata) > MOST_NAMES:
        problems["metadata"] = [f"At most {MOST_NAMES} names are possible."]
    for name, value in spec.metadata.items():
        if sentence := metadata_problem(name, value):
            problems[f"metadata.{name[:100]}"] = [sentence]
    if len(spec.content) > settings.MAX_DOCUMENT_BYTES:
        problems["content"] = [f"It is larger than {settings.MAX_DOCUMENT_BYTES} bytes."]
    if problems:
        field, sentences = next(iter(problems.items()))
        raise ValidationFailed(f"{field}: {sentences[0]}", {"fields": problems})


def _path_problem(path: str) -> str | None:
    if not 1 <= len(path) <= LONGEST_PATH or not storable(path):
        return f"1 to {LONGEST_PATH} characters without NUL are expected."
    if len(path.encode()) > LONGEST_PATH_BYTES:
        return f"At most {LONGEST_PATH_BYTES} bytes are expected."
    return None


@transaction.atomic
def _write(
    spec: SourceSpec, tenant: Tenant | None, document: Document, pieces: list[Piece], digest: str
) -> IngestReport:
    title = _title(spec, document)
    found = document.type if re.fullmatch(WORD, document.type) and len(document.type) <= 32 else ""
    values = {
        "format": spec.format,
        "origin": spec.origin,
        "root": spec.root,
        "title": title,
        "type": spec.type or found or "document",
        "authors": _names(spec.authors or document.authors, 255),
        "topics": _names((*document.topics, *spec.topics), 100),
        "metadata": {**metadata_kept(document.metadata), **spec.metadata},
        "status": Source.Status.READY,
        "error": "",
        "content_hash": digest,
    }
    _one_at_a_time(tenant.pk if tenant else None, spec.path)
    source, created = Source.objects.select_for_update().update_or_create(
        tenant=tenant, path=spec.path, defaults=values
    )
    kept = _replace_chunks(source, title, pieces)
    knowledge_index.payload_sync([source.pk])
    return IngestReport("created" if created else "changed", source.pk, len(pieces), kept)


def _one_at_a_time(tenant_id: int | None, path: str) -> None:
    """Writers of one document wait for each other until they commit. One that is deleted has no row they could hold."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, %s))", [path, tenant_id or 0])


def _replace_chunks(source: Source, title: str, pieces: list[Piece]) -> int:
    """Chunks that say the same as before keep their rows, and so their vectors and extractions."""
    before: defaultdict[str, list[Chunk]] = defaultdict(list)
    for old in source.chunks.order_by("-ordinal").defer("terms"):
        before[old.key].append(old)
    new, moved = [], []
    for ordinal, piece in enumerate(pieces):
        heading = _heading(title, piece.position.chapter, piece.position.section)
        key = text_key(heading, piece.content)
        chunk = before[key].pop() if before.get(key) else None
        if chunk is None:
            new.append(_chunk(source, ordinal, heading, key, piece))
        elif _place(chunk) != (ordinal, piece.position.chapter, piece.position.section, piece.position.page):
            chunk.ordinal, chunk.page = ordinal, piece.position.page
            chunk.chapter, chunk.section = piece.position.chapter, piece.position.section
            moved.append(chunk)
    gone = [old.pk for left in before.values() for old in left]
    Extraction.objects.filter(chunk__in=gone, method=Extraction.Method.LLM).delete()
    Chunk.objects.filter(pk__in=gone).delete()
    Chunk.objects.bulk_update(moved, ["ordinal", "chapter", "section", "page"], batch_size=500)
    Chunk.objects.bulk_create(new, batch_size=500)
    return len(pieces) - len(new)


def _place(chunk: Chunk) -> tuple[int, str, str, int | None]:
    return chunk.ordinal, chunk.chapter, chunk.section, chunk.page


def _chunk(source: Source, ordinal: int, heading: str, key: str, piece: Piece) -> Chunk:
    return Chunk(
        source=source,
        ordinal=ordinal,
        heading=heading,
        content=piece.content,
        chapter=piece.position.chapter,
        section=piece.position.section,
        page=piece.position.page,
        token_count=piece.token_count,
        key=key,
    )


def _heading(*parts: str) -> str:
    return " > ".join(dict.fromkeys(part for part in parts if part))[:LONGEST_HEADING]


def _title(spec: SourceSpec, document: Document | None) -> str:
    found = spec.title or (document.title if document else "") or PurePath(spec.path).stem or spec.path
    return _cut(found, 500) or "untitled"


def _names(given: Iterable[str], most: int) -> list[str]:
    """Each once, none of them blank."""
    return [name for name in dict.fromkeys(_cut(text, most) for text in given) if name][:100]


def _cut(text: str, most: int) -> str:
    return " ".join(text.split())[:most]
