"""What searches in documents need, asked for real."""

from django.conf import settings

from core.errors import ToolscriptError
from embeddings.queries import embed_query
from embeddings.types import Vectors
from knowledge.selectors.documents import documents_by_words, documents_nearest
from knowledge.types import DocumentRequest
from tools_catalog.selectors import live_space
from tools_catalog.services.spaces import embedder_for
from tools_catalog.types import Space

PROBE = DocumentRequest(query="health", top_k=1)


def knowledge_health() -> dict[str, str]:
    """Each part: `ok`, or what is wrong with it. One search of each kind is run."""
    timeout = settings.SEARCH_TIMEOUTS["tools"]
    try:
        space = live_space()
        documents_by_words(PROBE, limit=1, offset=0, timeout=timeout)
    except ToolscriptError as exc:
        return {"database": exc.message, "model": "unknown", "index": "unknown"}
    if space is None:
        return {"database": "ok", "model": "unknown", "index": "The search index is being built."}
    try:
        # Past the cache: the question is whether the model answers now.
        vector = embed_query(embedder_for(space), PROBE.query, settings.SEARCH_TIMEOUTS["embedding"])
    except ToolscriptError as exc:
        return {"database": "ok", "model": exc.message, "index": "unknown"}
    return {"database": "ok", "model": "ok", "index": _index(vector, space, timeout)}


def _index(vector: Vectors, space: Space, timeout: float) -> str:
    try:
        documents_nearest(vector, PROBE, space=space, limit=1, offset=0, timeout=timeout)
    except ToolscriptError as exc:
        return exc.message
    return "ok"
