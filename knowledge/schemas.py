"""The OpenAPI description of the endpoints about documents."""

from typing import Any

from core.openapi import ERROR, Schema, array, nullable, record, responses
from knowledge.serializers import (
    DocumentSearchInput,
    ExtractionInput,
    ExtractionListInput,
    KnowledgeInput,
    KnowledgeParams,
    PageInput,
    SourceInput,
    SourceListInput,
    UploadInput,
)

TEXT: Schema = {"type": "string"}
COUNT: Schema = {"type": "integer", "minimum": 0}
SCORE: Schema = {"type": "number", "minimum": 0, "maximum": 1}
POSITION = record({"chapter": TEXT, "section": TEXT, "page": nullable("integer")})
DEGRADED = {"degraded": {"type": "string", "enum": ["embedding"]}}

HIT = record({"doc_id": TEXT, "score": SCORE, "metadata": {"type": "object"}, "snippet": nullable("string")})
DOCUMENTS = record(
    {"query_id": TEXT, "took_ms": {"type": "number", "minimum": 0}, "total": COUNT, "hits": array(HIT)}, DEGRADED
)
RESULT = record(
    {
        "id": TEXT,
        "score": SCORE,
        "type": {"type": "string", "enum": ["chunk", "extraction"]},
        "content": TEXT,
        "source": record(
            {
                "source_id": TEXT,
                "chunk_id": nullable("string"),
                "title": TEXT,
                "authors": array(TEXT),
                "position": POSITION,
            }
        ),
    }
)
KNOWLEDGE = record(
    {
        "results": array(RESULT),
        "metadata": record(
            {
                "query": TEXT,
                "sources_cited": array(TEXT),
                "result_count": COUNT,
                "search_type": {"type": "string", "enum": ["semantic", "keyword"]},
            },
            DEGRADED,
        ),
    }
)
SOURCE = record(
    {
        "id": {"type": "integer"},
        "type": TEXT,
        "format": TEXT,
        "title": TEXT,
        "authors": array(TEXT),
        "topics": array(TEXT),
        "path": TEXT,
        "metadata": {"type": "object"},
        "status": {"type": "string", "enum": ["ready", "failed"]},
        "error": TEXT,
        "chunks": COUNT,
        "extractions": COUNT,
        "shared": {"type": "boolean"},
        "ingested_at": TEXT,
        "updated_at": TEXT,
    }
)
INGESTED = record(
    {
        "source": SOURCE,
        "outcome": {"type": "string", "enum": ["created", "changed", "unchanged"]},
        "indexed": {"type": "boolean"},
    }
)
CHUNK = record(
    {"id": {"type": "integer"}, "ordinal": COUNT, "content": TEXT, "position": POSITION, "token_count": COUNT}
)
EXTRACTION = record(
    {
        "id": {"type": "integer"},
        "source_id": {"type": "integer"},
        "chunk_id": nullable("integer"),
        "type": TEXT,
        "content": {"type": "object"},
        "text": TEXT,
        "topics": array(TEXT),
        "position": POSITION,
        "method": {"type": "string", "enum": ["llm", "api"]},
        "extracted_at": TEXT,
    }
)
CHECKS = record({"status": {"type": "string", "enum": ["ok"]}, "checks": {"type": "object"}})


def _operation(name: str, summary: str, answers: dict[int, Schema], **more: Any) -> dict[str, Any]:
    return {"operation_id": name, "summary": summary, "tags": ["knowledge"], "responses": answers, **more}


def _created(body: Schema, *errors: int) -> dict[int, Schema]:
    return {200: body, 201: body, **dict.fromkeys(errors, ERROR)}


SEARCH_DOCUMENTS = _operation(
    "search_documents",
    "Search documents: semantic, keyword or hybrid, with filters",
    responses(DOCUMENTS, 400, 403, 413, 415, 422, 429, 502, 503, 504),
    request=DocumentSearchInput,
)
SEARCH_KNOWLEDGE = _operation(
    "search_knowledge",
    "Search passages and extractions by meaning",
    responses(KNOWLEDGE, 400, 413, 415, 422, 429, 503),
    request=KnowledgeInput,
    parameters=[KnowledgeParams],
)
HEALTH = _operation("search_health", "Whether documents can be searched", responses(CHECKS, 503))
SOURCE_CREATE = _operation(
    "source_create",
    "Take a document in",
    _created(INGESTED, 400, 409, 413, 415, 422, 503),
    request={"application/json": SourceInput, "multipart/form-data": UploadInput},
)
SOURCE_LIST = _operation(
    "source_list", "List documents", responses(array(SOURCE), 422, 503), parameters=[SourceListInput]
)
SOURCE_GET = _operation("source_get", "One document", responses(SOURCE, 404, 422, 503))
SOURCE_DELETE = _operation(
    "source_delete",
    "Delete a document with its chunks and extractions",
    responses(record({"id": {"type": "integer"}, "chunks": COUNT}), 403, 404, 422, 503),
)
SOURCE_EXTRACT = _operation(
    "source_extract",
    "Have the language model read a document",
    responses(record({"id": {"type": "integer"}, "requested": {"type": "boolean"}}), 403, 404, 409, 422, 503),
    request=None,
)
CHUNK_LIST = _operation(
    "chunk_list", "The passages of a document", responses(array(CHUNK), 404, 422, 503), parameters=[PageInput]
)
EXTRACTION_CREATE = _operation(
    "extraction_create",
    "Add what you learned from a passage",
    _created(EXTRACTION, 400, 403, 404, 413, 415, 422, 503),
    request=ExtractionInput,
)
EXTRACTION_LIST = _operation(
    "extraction_list", "List extractions", responses(array(EXTRACTION), 422, 503), parameters=[ExtractionListInput]
)
EXTRACTION_DELETE = _operation(
    "extraction_delete",
    "Delete an extraction",
    responses(record({"id": {"type": "integer"}}), 403, 404, 422, 503),
)
