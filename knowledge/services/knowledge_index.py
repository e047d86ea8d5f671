"""The index of passages and extractions: embeds what is stale in a space, keeps the filter columns true."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection, transaction

from embeddings.types import Vectors
from knowledge.models import KnowledgeVector
from tools_catalog.models import EmbeddingSpace
from tools_catalog.services.spaces import embedder_for

LABEL = "passages"
BATCH = 32


@dataclass(frozen=True, slots=True)
class Kind:
    """One of the two tables that are indexed: where its rows are, and what an index row holds of them."""

    column: str
    table: str
    type: str
    topics: str
    text: str


KINDS = (
    Kind("chunk_id", "knowledge_chunk", "'chunk'", "s.topics", "concat_ws(E'\\n', nullif(i.heading, ''), i.content)"),
    Kind("extraction_id", "knowledge_extraction", "i.type", "s.topics || i.topics", "i.text"),
)
# The statements are made of the constants above; what callers give are parameters.
STALE = """
    FROM {table} i
    JOIN knowledge_source s ON s.id = i.source_id
    LEFT JOIN knowledge_knowledgevector v ON v.{column} = i.id AND v.space_id = %(space)s
    WHERE i.id > %(after)s AND v.key IS DISTINCT FROM i.key
      AND (%(sources)s::bigint[] IS NULL OR i.source_id = ANY(%(sources)s::bigint[]))
"""
DIFFERS = """(v.type, v.topics, v.tenant_id, v.source_id)
    IS DISTINCT FROM ({type}, ({topics})::varchar[], s.tenant_id, i.source_id)"""
PAYLOAD = """
    UPDATE knowledge_knowledgevector v
    SET type = {type}, topics = {topics}, tenant_id = s.tenant_id, source_id = i.source_id
    FROM {table} i JOIN knowledge_source s ON s.id = i.source_id
    WHERE v.{column} = i.id AND i.source_id = ANY(%(sources)s::bigint[]) AND {differs}
"""
# A document is held before anything of it: whoever replaces or deletes it holds it too, so nobody waits in a circle.
HELD_SOURCES = "SELECT id FROM knowledge_source WHERE id = ANY(%s::bigint[]) ORDER BY id FOR KEY SHARE"
HELD = "SELECT id FROM {table} WHERE id = ANY(%s::bigint[]) ORDER BY id FOR KEY SHARE"
CHANGED = """
    SELECT DISTINCT i.source_id
    FROM knowledge_knowledgevector v JOIN {table} i ON i.id = v.{column} JOIN knowledge_source s ON s.id = i.source_id
    WHERE (%(sources)s::bigint[] IS NULL OR i.source_id = ANY(%(sources)s::bigint[])) AND {differs}
"""

Row = tuple[int, int, str, list[str], int | None, str, str]
"""id, source, type, topics, tenant, key, text"""


def text_key(heading: str, text: str) -> str:
    return hashlib.sha256(f"{heading}\0{text}".encode("utf-8", "surrogatepass")).hexdigest()


def stale(space: EmbeddingSpace, source_ids: Sequence[int] | None = None) -> int:
    with connection.cursor() as cursor:
        total = 0
        for kind in KINDS:
            cursor.execute("SELECT count(*)" + _sql(STALE, kind), _params(space, source_ids))
            total += int(cursor.fetchone()[0])
        return total


def build(space: EmbeddingSpace, advance: Callable[[int], None], source_ids: Sequence[int] | None = None) -> None:
    """Embeds in batches, each committed, so that a stopped build goes on where it was."""
    embedder = embedder_for(space)
    for kind in KINDS:
        after = 0
        while rows := _stale_batch(kind, space, source_ids, after):
            _write(kind, space, rows, embedder.embed_batch([row[-1] for row in rows], kind="document"))
            after = rows[-1][0]
            advance(len(rows))
    payload_sync(source_ids)


def payload_sync(source_ids: Sequence[int] | None) -> None:
    """Brings the filter columns of these sources' rows (None: of all) in line with sources and extractions."""
    with transaction.atomic(), connection.cursor() as cursor:
        for kind in KINDS:
            cursor.execute(_sql(CHANGED, kind), {"sources": None if source_ids is None else list(source_ids)})
            changed = [row[0] for row in cursor.fetchall()]
            if changed:
                cursor.execute(HELD_SOURCES, [changed])
                cursor.execute(_sql(PAYLOAD, kind), {"sources": changed})


def _stale_batch(kind: Kind, space: EmbeddingSpace, source_ids: Sequence[int] | None, after: int) -> list[Row]:
    columns = f"SELECT i.id, i.source_id, {kind.type}, {kind.topics}, s.tenant_id, i.key, {kind.text}"
    with connection.cursor() as cursor:
        cursor.execute(columns + _sql(STALE, kind) + f"ORDER BY i.id LIMIT {BATCH}", _params(space, source_ids, after))
        rows: list[Row] = cursor.fetchall()
        return rows


@transaction.atomic
def _write(kind: Kind, space: EmbeddingSpace, rows: list[Row], vectors: Vectors) -> None:
    """What was deleted meanwhile is left out; what is there is held until its vector is written."""
    with connection.cursor() as cursor:
        cursor.execute(HELD_SOURCES, [[row[1] for row in rows]])
        cursor.execute(_sql(HELD, kind), [[row[0] for row in rows]])
        alive = {row[0] for row in cursor.fetchall()}
    KnowledgeVector.objects.bulk_create(
        [_index_row(kind, space, row, v) for row, v in zip(rows, vectors, strict=True) if row[0] in alive],
        update_conflicts=True,
        unique_fields=["space", kind.column.removesuffix("_id")],
        update_fields=["source_id", "tenant_id", "type", "topics", "key", "vector"],
    )


def _index_row(kind: Kind, space: EmbeddingSpace, row: Row, vector: Vectors) -> KnowledgeVector:
    item_id, source_id, item_type, topics, tenant_id, key, _ = row
    index_row = KnowledgeVector(
        space=space, source_id=source_id, tenant_id=tenant_id, type=item_type, topics=topics, key=key, vector=vector
    )
    setattr(index_row, kind.column, item_id)
    return index_row


def _sql(template: str, kind: Kind) -> str:
    differs = DIFFERS.format(type=kind.type, topics=kind.topics)
    return template.format(column=kind.column, table=kind.table, type=kind.type, topics=kind.topics, differs=differs)


def _params(space: EmbeddingSpace, source_ids: Sequence[int] | None, after: int = 0) -> dict[str, Any]:
    return {"space": space.pk, "sources": None if source_ids is None else list(source_ids), "after": after}
