"""The vector of a query, from the model of a space. Those of late queries are kept."""

from django.conf import settings

from core.errors import EmbeddingFailed
from embeddings.queries import QueryVectors
from embeddings.types import Vectors
from tools_catalog.services.spaces import embedder_for
from tools_catalog.types import Space

_kept = QueryVectors(settings.QUERY_CACHE_SIZE)


def embed(space: Space, text: str, timeout: float) -> Vectors:
    vector = _kept.embed(embedder_for(space), text, timeout)
    if vector.shape != (space.dim,):
        raise EmbeddingFailed("The embedding model returned a vector of another size than the index holds.")
    return vector
