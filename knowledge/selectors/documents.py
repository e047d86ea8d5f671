"""Reads for `POST /search`: documents in the order of their best passage, one statement a ranking."""

from dataclasses import dataclass
from typing import Any, LiteralString

from core import db
from embeddings.types import Vectors
from knowledge.filters import compile_filters
from knowledge.selectors.words import SCORED, WORDS
from knowledge.types import DocumentRequest, Ranked
from tools_catalog.types import Space

# One that could not be read is there for curators; searches see it if an earlier version could.
DOCS: LiteralString = """
    WITH docs AS MATERIALIZED (
        SELECT s.id FROM knowledge_source s
        WHERE (s.tenant_id IS NULL OR s.tenant_id = %(tenant)s) AND {filters}
          AND (s.status = 'ready' OR EXISTS (SELECT 1 FROM knowledge_chunk c WHERE c.source_id = s.id))
    )
"""
FILTERED: LiteralString = ", best AS (SELECT id AS source_id, NULL::bigint AS chunk_id, 1.0::float8 AS raw FROM docs)"
NEAREST: LiteralString = """
    , best AS MATERIALIZED (
        SELECT DISTINCT ON (source_id) source_id, chunk_id, raw
        FROM (
            SELECT v.source_id, v.chunk_id, -(v.vector <#> %(query)s) AS raw
            FROM docs JOIN knowledge_vector_seen v ON v.source_id = docs.id
            WHERE v.space_id = %(space)s AND v.chunk_id IS NOT NULL
            OFFSET 0
        ) scored
        ORDER BY source_id, raw DESC, chunk_id
    )
"""
BY_WORDS: LiteralString = """
    , {words}, matched AS MATERIALIZED (
        SELECT c.id, c.source_id, c.terms
        FROM knowledge_chunk c CROSS JOIN any_word a
        WHERE c.terms @@ a.query AND c.source_id IN (SELECT id FROM docs)
    ), visible AS (SELECT count(*) AS total FROM knowledge_chunk WHERE source_id IN (SELECT id FROM docs)),
    {scored}, best AS MATERIALIZED (
        SELECT DISTINCT ON (source_id) source_id, id AS chunk_id, raw
        FROM scored ORDER BY source_id, raw DESC, id
    )
"""
# The total stands in every row, and in one row alone where the page is empty.
PAGE: LiteralString = """
    SELECT (SELECT count(*) FROM best), page.source_id, page.chunk_id, page.raw
    FROM (SELECT 1) one
    LEFT JOIN (
        SELECT source_id, chunk_id, raw FROM best ORDER BY raw DESC, source_id OFFSET %(offset)s LIMIT %(limit)s
    ) page ON true
    ORDER BY page.raw DESC, page.source_id
"""
# The passage to show: the one that matched, else the first.
SHOWN: LiteralString = """
    SELECT s.id, s.facets, c.id, c.content, c.chapter, c.section, c.page
    FROM unnest(%(sources)s::bigint[], %(chunks)s::bigint[]) AS hit (source_id, chunk_id)
    JOIN knowledge_source s ON s.id = hit.source_id
    LEFT JOIN LATERAL (
        SELECT * FROM knowledge_chunk WHERE source_id = s.id AND (id = hit.chunk_id OR hit.chunk_id IS NULL)
        ORDER BY ordinal LIMIT 1
    ) c ON true
"""


@dataclass(frozen=True, slots=True)
class Shown:
    facets: dict[str, Any]
    place: dict[str, Any]
    content: str


def documents_filtered(request: DocumentRequest, *, limit: int | None, offset: int, timeout: float) -> "Ranking":
    return _ranking(request, FILTERED, {}, limit=limit, offset=offset, timeout=timeout)


def documents_nearest(
    query: Vectors, request: DocumentRequest, *, space: Space, limit: int | None, offset: int, timeout: float
) -> "Ranking":
    return _ranking(request, NEAREST, {"query": query, "space": space.id}, limit=limit, offset=offset, timeout=timeout)


def documents_by_words(request: DocumentRequest, *, limit: int | None, offset: int, timeout: float) -> "Ranking":
    sql = BY_WORDS.replace("{words}", WORDS).replace("{scored}", SCORED)
    return _ranking(request, sql, {"text": request.query}, limit=limit, offset=offset, timeout=timeout)


Ranking = tuple[list[Ranked], int]
"""A page of documents, best first, and how many there are in all."""


def _ranking(
    request: DocumentRequest,
    best: LiteralString,
    values: dict[str, Any],
    *,
    limit: int | None,
    offset: int,
    timeout: float,
) -> Ranking:
    condition, params = compile_filters(request.filters)
    sql = (DOCS + best + PAGE).replace("{filters}", condition)
    rows = db.fetch(
        sql, {**params, **values, "tenant": request.tenant_id, "limit": limit, "offset": offset}, timeout=timeout
    )
    return [Ranked(*row[1:]) for row in rows if row[1] is not None], rows[0][0]


def documents_shown(ranked: list[Ranked], *, timeout: float) -> dict[int, Shown]:
    """What the answer says of these documents."""
    params = {"sources": [r.source_id for r in ranked], "chunks": [r.chunk_id for r in ranked]}
    return {row[0]: _shown(row) for row in db.fetch(SHOWN, params, timeout=timeout)} if ranked else {}


def _shown(row: db.Row) -> Shown:
    _, facets, chunk_id, content, chapter, section, page = row
    place = {"chunk_id": str(chunk_id) if chunk_id else None, "chapter": chapter, "section": section, "page": page}
    return Shown(facets, place, content or "")
