"""The cache on disk, seen from the catalogue: which servers, which model, and what is worth keeping."""

import structlog
from django.conf import settings

from embeddings.cache import MAX_TOOLS, VectorCache
from embeddings.types import Vectors
from tools_catalog.models import EmbeddingSpace, Server, ToolEmbedding
from tools_catalog.services.spaces import model_wanted

log = structlog.get_logger("toolscript.index")


def cache_for(space: EmbeddingSpace) -> VectorCache:
    servers = [_owned(tenant, name) for tenant, name in Server.objects.values_list("tenant_id", "name")]
    return VectorCache(settings.EMBEDDING_CACHE_DIR, servers, space.model, space.fingerprint, space.dim)


def cached_key(part: str, key: str) -> str:
    """The text as a document and the requests as queries may be equal words, and are not the same vector."""
    return f"{part}:{key}"


def cache_save(space: EmbeddingSpace, cache: VectorCache, *, changed: bool) -> None:
    """Everything the space holds, so that the file is complete whatever part of it was new.

    Only of the model that is in use: one search with another must not push its vectors out.
    """
    if cache.file is None or not (changed or cache.is_missing()) or space.model != model_wanted():
        return
    known = ToolEmbedding.objects.filter(space=space)
    if (count := known.count()) > MAX_TOOLS:
        log.info("embedding_cache.too_large", vectors=count, limit=MAX_TOOLS)
        return
    fields = ("tool__server__tenant_id", "tool__server__name", "tool__type", "tool__name", "part", "key", "vector")
    tools: dict[str, tuple[str, Vectors]] = {}
    rows = known.order_by("tool_id", "part").values_list(*fields)
    for tenant, server, kind, name, part, key, vector in rows.iterator(chunk_size=2000):
        plain = kind == "tool" and part == ToolEmbedding.Part.TEXT
        label = f"{_owned(tenant, server)}__{name}" + ("" if plain else f" ({kind}, {part})")
        tools[label] = (cached_key(part, key), vector)
    cache.save(tools)


def _owned(tenant: int | None, name: str) -> str:
    return name if tenant is None else f"{tenant}:{name}"
