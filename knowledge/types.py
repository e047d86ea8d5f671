from dataclasses import dataclass, field
from typing import Any, Literal

SEARCH_TYPES = ("semantic", "keyword", "hybrid")
FUSIONS = ("rrf", "zscore")
FORMATS = ("markdown", "text", "html", "pdf")
OPERATORS = ("eq", "ne", "in", "nin", "gt", "gte", "lt", "lte", "exists", "contains")
CHUNK = "chunk"
EXTRACTION = "extraction"

BUILT_IN = frozenset(
    {"doc_id", "title", "path", "type", "format", "authors", "tags", "topics", "ingested_at", "updated_at"}
)
"""The facets that a document has by itself. Metadata of its own cannot have these names."""
PLACE = ("chunk_id", "chapter", "section", "page")
"""Where the best passage stands: can be shown, not filtered by."""

Scalar = str | int | float | bool


@dataclass(frozen=True, slots=True)
class Position:
    chapter: str = ""
    section: str = ""
    page: int | None = None


@dataclass(frozen=True, slots=True)
class Passage:
    """A stretch of a document under one heading. `pages` are (offset in the text, number of the page)."""

    text: str
    chapter: str = ""
    section: str = ""
    pages: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Document:
    """What a reader makes of bytes."""

    passages: tuple[Passage, ...]
    title: str = ""
    authors: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    type: str = ""
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Piece:
    """A chunk before it is a row."""

    content: str
    position: Position
    token_count: int


@dataclass(frozen=True, slots=True)
class SourceSpec:
    """A document to take in. What is left empty is taken from the document itself."""

    path: str
    format: str
    content: bytes
    origin: str = "upload"
    root: str = ""
    title: str = ""
    type: str = ""
    authors: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    metadata: dict[str, Any] = field(default_factory=dict)


Outcome = Literal["created", "changed", "unchanged", "failed"]


@dataclass(frozen=True, slots=True)
class IngestReport:
    outcome: Outcome
    source_id: int | None = None
    chunks: int = 0
    kept: int = 0
    """How many of the chunks were there before, and keep their vectors."""
    error: str = ""


@dataclass(frozen=True, slots=True)
class KnowledgeRequest:
    query: str
    limit: int = 10
    types: tuple[str, ...] = ()
    """`chunk`, `extraction`, or types of extractions. Empty: all."""
    topics: tuple[str, ...] = ()
    tenant_id: int | None = None


@dataclass(frozen=True, slots=True)
class KnowledgeHit:
    id: int
    kind: str
    """`chunk` or `extraction`"""
    score: float
    content: str
    source_id: int
    chunk_id: int | None
    title: str
    authors: list[str]
    position: Position


@dataclass(frozen=True, slots=True)
class KnowledgeResult:
    request: KnowledgeRequest
    hits: list[KnowledgeHit]
    search_type: str
    degraded: str | None
    took_ms: float


@dataclass(frozen=True, slots=True)
class Condition:
    field: str
    op: str
    value: Any


@dataclass(frozen=True, slots=True)
class Filters:
    must: tuple[Condition, ...] = ()
    should: tuple[Condition, ...] = ()
    must_not: tuple[Condition, ...] = ()


@dataclass(frozen=True, slots=True)
class DocumentRequest:
    query: str = ""
    """Empty: a pure filter query."""
    top_k: int = 10
    offset: int = 0
    search_type: str = "hybrid"
    fusion: str = "rrf"
    filters: Filters = Filters()
    include_snippets: bool = True
    snippet_max_chars: int = 240
    metadata_fields: tuple[str, ...] | None = None
    rerank: str | None = None
    tenant_id: int | None = None


@dataclass(frozen=True, slots=True)
class Ranked:
    """A document in a ranking, by its best passage (None: it has no passage, or no query asked for one)."""

    source_id: int
    chunk_id: int | None
    score: float


@dataclass(frozen=True, slots=True)
class DocumentHit:
    source_id: int
    score: float
    metadata: dict[str, Any]
    snippet: str | None


@dataclass(frozen=True, slots=True)
class DocumentResult:
    request: DocumentRequest
    hits: list[DocumentHit]
    total: int
    search_type: str
    degraded: str | None
    took_ms: float
    query_id: str
