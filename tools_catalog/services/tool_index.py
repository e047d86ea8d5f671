"""The index of tools: embeds what is stale in a space and keeps the filter columns equal to the truth."""

from collections.abc import Callable, Sequence

import numpy as np
from django.db import connection, transaction

from embeddings.types import Embedder, Kind, Vectors, unit
from tools_catalog.models import EmbeddingSpace, Tool, ToolEmbedding, ToolVector
from tools_catalog.services.spaces import embedder_for
from tools_catalog.text import parameter_names, part_key, tool_text

LABEL = "tools"
BATCH = 32
REQUESTS_WEIGHT = 0.5
"""How much the known requests count against the text in the blend; half and half measured best."""

STALE = """
    FROM tools_catalog_tool t
    LEFT JOIN mcp_unified_search v ON v.tool_id = t.id AND v.space_id = %s
    WHERE v.key IS DISTINCT FROM t.index_key
"""
# `served` is the rule of tools_catalog.selectors.tools_served; a test compares the two.
PAYLOAD = """
    UPDATE mcp_unified_search v
    SET is_active = truth.served, tenant_id = truth.tenant_id, server_id = truth.server_id, type = truth.type
    FROM (
        SELECT t.id, t.type, t.server_id, s.tenant_id,
               t.is_active AND t.missing_since IS NULL AND t.review = 'accepted'
                   AND s.is_active AND s.removed_at IS NULL AS served
        FROM tools_catalog_tool t JOIN tools_catalog_server s ON s.id = t.server_id
    ) truth
    WHERE v.tool_id = truth.id AND (%(ids)s::bigint[] IS NULL OR truth.id = ANY(%(ids)s::bigint[]))
      AND (v.is_active, v.tenant_id, v.server_id, v.type)
          IS DISTINCT FROM (truth.served, truth.tenant_id, truth.server_id, truth.type)
"""


def stale(space: EmbeddingSpace) -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*)" + STALE, [space.pk])
        return int(cursor.fetchone()[0])


def build(space: EmbeddingSpace, advance: Callable[[int], None]) -> None:
    """Embeds in batches, each committed, so that a stopped build goes on where it was."""
    embedder = embedder_for(space)
    while tools := _stale_batch(space):
        _write(space, tools, _vectors(space, embedder, tools))
        advance(len(tools))
    payload_sync(None)


def payload_sync(tool_ids: Sequence[int] | None) -> int:
    """Brings the filter columns of these tools (None: of all) in line with tools and servers. How many were not."""
    with connection.cursor() as cursor:
        cursor.execute(PAYLOAD, {"ids": None if tool_ids is None else list(tool_ids)})
        return int(cursor.rowcount)


def _stale_batch(space: EmbeddingSpace) -> list[Tool]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT t.id" + STALE + f"ORDER BY t.id LIMIT {BATCH}", [space.pk])
        ids = [row[0] for row in cursor.fetchall()]
    return list(Tool.objects.select_related("server").filter(pk__in=ids).order_by("pk"))


def _vectors(space: EmbeddingSpace, embedder: Embedder, tools: list[Tool]) -> list[dict[str, tuple[str, Vectors]]]:
    """For each tool its parts, as part -> (key, vector); a part whose key is known is not embedded again."""
    known = {
        (e.tool_id, e.part): (e.key, np.asarray(e.vector, dtype=np.float32))
        for e in ToolEmbedding.objects.filter(space=space, tool__in=tools)
    }
    result = []
    for tool in tools:
        parts: dict[str, tuple[str, Vectors]] = {}
        text = tool_text(tool.server.name, tool.name, tool.description, parameter_names(tool.input_schema))
        sources: list[tuple[str, list[str], Kind]] = [
            ("text", [text], "document"),
            ("requests", tool.requests, "query"),
        ]
        for part, texts, kind in sources:
            if not texts:
                continue
            key = part_key(texts)
            old = known.get((tool.pk, part))
            if old is not None and old[0] == key:
                parts[part] = old
            else:
                mean = embedder.embed_batch(texts, kind=kind).mean(axis=0, keepdims=True)
                parts[part] = (key, unit(mean)[0])
        result.append(parts)
    return result


def blend(parts: dict[str, tuple[str, Vectors]]) -> Vectors:
    text = parts["text"][1]
    if "requests" not in parts:
        return text
    mixed = (1 - REQUESTS_WEIGHT) * text + REQUESTS_WEIGHT * parts["requests"][1]
    blended: Vectors = unit(mixed[None, :])[0]
    return blended


@transaction.atomic
def _write(space: EmbeddingSpace, tools: list[Tool], vectors: list[dict[str, tuple[str, Vectors]]]) -> None:
    alive = set(Tool.objects.select_for_update().filter(pk__in=[t.pk for t in tools]).values_list("pk", flat=True))
    rows = [(tool, parts) for tool, parts in zip(tools, vectors, strict=True) if tool.pk in alive]
    ToolEmbedding.objects.filter(space=space, tool__in=alive).delete()
    ToolEmbedding.objects.bulk_create(
        ToolEmbedding(tool=tool, space=space, part=part, key=key, vector=vector)
        for tool, parts in rows
        for part, (key, vector) in parts.items()
    )
    ToolVector.objects.bulk_create(
        [_index_row(space, tool, parts) for tool, parts in rows],
        update_conflicts=True,
        unique_fields=["space", "tool"],
        update_fields=["server_id", "tenant_id", "type", "is_active", "key", "vector"],
    )
    payload_sync(list(alive))


def _index_row(space: EmbeddingSpace, tool: Tool, parts: dict[str, tuple[str, Vectors]]) -> ToolVector:
    return ToolVector(
        tool=tool,
        space=space,
        server_id=tool.server_id,
        tenant_id=tool.server.tenant_id,
        type=tool.type,
        is_active=False,  # decided by PAYLOAD, in the same transaction
        key=tool.index_key,
        vector=blend(parts),
    )
