"""How answers about documents look."""

from typing import Any

from knowledge.models import Chunk, Extraction, Source
from knowledge.types import DocumentResult, KnowledgeHit, KnowledgeResult, Position


def knowledge_body(result: KnowledgeResult) -> dict[str, Any]:
    metadata = {
        "query": result.request.query,
        "sources_cited": list(dict.fromkeys(str(hit.source_id) for hit in result.hits)),
        "result_count": len(result.hits),
        "search_type": result.search_type,
    }
    return {"results": [_hit_body(hit) for hit in result.hits], "metadata": {**metadata, **_degraded(result.degraded)}}


def _hit_body(hit: KnowledgeHit) -> dict[str, Any]:
    return {
        "id": str(hit.id),
        "score": hit.score,
        "type": hit.kind,
        "content": hit.content,
        "source": {
            "source_id": str(hit.source_id),
            "chunk_id": None if hit.chunk_id is None else str(hit.chunk_id),
            "title": hit.title,
            "authors": hit.authors,
            "position": _position_body(hit.position),
        },
    }


def documents_body(result: DocumentResult) -> dict[str, Any]:
    return {
        "query_id": result.query_id,
        "took_ms": round(result.took_ms, 3),
        "total": result.total,
        "hits": [
            {"doc_id": str(hit.source_id), "score": hit.score, "metadata": hit.metadata, "snippet": hit.snippet}
            for hit in result.hits
        ],
        **_degraded(result.degraded),
    }


def source_body(source: Source) -> dict[str, Any]:
    return {
        "id": source.pk,
        "type": source.type,
        "format": source.format,
        "title": source.title,
        "authors": source.authors,
        "topics": source.topics,
        "path": source.path,
        "metadata": source.metadata,
        "status": source.status,
        "error": source.error,
        "chunks": source.chunk_count,  # type: ignore[attr-defined]
        "extractions": source.extraction_count,  # type: ignore[attr-defined]
        "shared": source.tenant_id is None,
        "ingested_at": source.ingested_at.isoformat(),
        "updated_at": source.updated_at.isoformat(),
    }


def chunk_body(chunk: Chunk) -> dict[str, Any]:
    return {
        "id": chunk.pk,
        "ordinal": chunk.ordinal,
        "content": chunk.content,
        "position": _position_body(Position(chunk.chapter, chunk.section, chunk.page)),
        "token_count": chunk.token_count,
    }


def extraction_body(extraction: Extraction) -> dict[str, Any]:
    return {
        "id": extraction.pk,
        "source_id": extraction.source_id,
        "chunk_id": extraction.chunk_id,
        "type": extraction.type,
        "content": extraction.content,
        "text": extraction.text,
        "topics": extraction.topics,
        "position": _position_body(Position(extraction.chapter, extraction.section, extraction.page)),
        "method": extraction.method,
        "extracted_at": extraction.extracted_at.isoformat(),
    }


def _position_body(position: Position) -> dict[str, Any]:
    return {"chapter": position.chapter, "section": position.section, "page": position.page}


def _degraded(stage: str | None) -> dict[str, str]:
    """Only where something failed: the contract knows no such field."""
    return {"degraded": stage} if stage else {}
