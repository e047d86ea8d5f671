"""Reads for `search_knowledge`: the nearest passages and extractions, or those that share words with the query."""

from typing import Any, LiteralString

from core import db
from embeddings.types import Vectors
from knowledge.selectors.words import SCORED, WORDS
from knowledge.types import CHUNK, EXTRACTION, KnowledgeHit, KnowledgeRequest, Position
from tools_catalog.selectors import score_of
from tools_catalog.types import Space

# Exact, like the search for tools: some ten thousand passages take a few milliseconds, and none is missed.
NEAREST: LiteralString = """
    WITH best AS MATERIALIZED (
        SELECT chunk_id, extraction_id, raw
        FROM (
            SELECT v.id, v.chunk_id, v.extraction_id, -(v.vector <#> %(query)s) AS raw
            FROM knowledge_vector_seen v
            WHERE v.space_id = %(space)s AND (v.tenant_id IS NULL OR v.tenant_id = %(tenant)s) {filters}
            OFFSET 0
        ) scored
        WHERE raw > 0
        ORDER BY raw DESC, id LIMIT %(limit)s
    )
"""
BY_WORDS: LiteralString = """
    WITH {words}, items AS (
        SELECT c.id AS chunk_id, NULL::bigint AS extraction_id, c.source_id, 'chunk' AS type, s.topics, c.terms
        FROM knowledge_chunk c JOIN knowledge_source s ON s.id = c.source_id
        WHERE s.tenant_id IS NULL OR s.tenant_id = %(tenant)s
        UNION ALL
        SELECT NULL, e.id, e.source_id, e.type, s.topics || e.topics, e.terms
        FROM knowledge_extraction e JOIN knowledge_source s ON s.id = e.source_id
        WHERE s.tenant_id IS NULL OR s.tenant_id = %(tenant)s
    ), matched AS MATERIALIZED (
        SELECT coalesce(v.chunk_id, -v.extraction_id) AS id, v.source_id, v.terms
        FROM items v CROSS JOIN any_word a WHERE v.terms @@ a.query {filters}
    ), visible AS (SELECT count(*) AS total FROM items),
    {scored}, best AS (
        SELECT CASE WHEN s.id > 0 THEN s.id END AS chunk_id, CASE WHEN s.id < 0 THEN -s.id END AS extraction_id, s.raw
        FROM scored s ORDER BY s.raw DESC, s.id LIMIT %(limit)s
    )
"""
RESULT: LiteralString = """
    SELECT coalesce(best.chunk_id, best.extraction_id), best.extraction_id IS NOT NULL, best.raw,
           coalesce(c.content, e.text), s.id, coalesce(c.id, e.chunk_id), s.title, s.authors,
           coalesce(c.chapter, e.chapter), coalesce(c.section, e.section), coalesce(c.page, e.page)
    FROM best
    LEFT JOIN knowledge_chunk c ON c.id = best.chunk_id
    LEFT JOIN knowledge_extraction e ON e.id = best.extraction_id
    JOIN knowledge_source s ON s.id = coalesce(c.source_id, e.source_id)
    ORDER BY best.raw DESC, best.chunk_id NULLS LAST, best.extraction_id
"""
BY_TYPE: LiteralString = "AND (v.type = ANY(%(types)s::varchar[]) OR (%(extractions)s AND v.type <> 'chunk'))"
BY_TOPIC: LiteralString = "AND v.topics && %(topics)s::varchar[]"


def knowledge_nearest(query: Vectors, request: KnowledgeRequest, *, space: Space, timeout: float) -> list[KnowledgeHit]:
    sql = (NEAREST + RESULT).replace("{filters}", _filters(request))
    params = {**_params(request), "query": query, "space": space.id}
    return [_hit(row) for row in db.fetch(sql, params, timeout=timeout)]


def knowledge_by_words(request: KnowledgeRequest, *, timeout: float) -> list[KnowledgeHit]:
    sql = (BY_WORDS + RESULT).replace("{words}", WORDS).replace("{scored}", SCORED)
    params = {**_params(request), "text": request.query}
    return [_hit(row) for row in db.fetch(sql.replace("{filters}", _filters(request)), params, timeout=timeout)]


def _filters(request: KnowledgeRequest) -> LiteralString:
    return (BY_TYPE if request.types else "") + " " + (BY_TOPIC if request.topics else "")


def _params(request: KnowledgeRequest) -> dict[str, Any]:
    return {
        "tenant": request.tenant_id,
        "limit": request.limit,
        "types": list(request.types),
        "extractions": EXTRACTION in request.types,
        "topics": list(request.topics),
    }


def _hit(row: db.Row) -> KnowledgeHit:
    item_id, extracted, raw, content, source_id, chunk_id, title, authors, chapter, section, page = row
    kind = EXTRACTION if extracted else CHUNK
    position = Position(chapter, section, page)
    return KnowledgeHit(item_id, kind, score_of(raw), content, source_id, chunk_id, title, authors, position)
