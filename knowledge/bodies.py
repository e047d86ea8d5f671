"""How answers about documents look."""

from typing import Any

from knowledge.types import KnowledgeHit, KnowledgeResult


def knowledge_body(result: KnowledgeResult) -> dict[str, Any]:
    metadata = {
        "query": result.request.query,
        "sources_cited": list(dict.fromkeys(str(hit.source_id) for hit in result.hits)),
        "result_count": len(result.hits),
        "search_type": result.search_type,
    }
    return {"results": [_hit_body(hit) for hit in result.hits], "metadata": metadata}


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
            "position": {"chapter": hit.position.chapter, "section": hit.position.section, "page": hit.position.page},
        },
    }
