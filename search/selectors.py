"""What the keyword side and the mixed ranking read. What agents may see is decided by `tools_served`, here too."""

from collections.abc import Iterator, Sequence
from typing import Any, LiteralString

from django.conf import settings
from django.db.models import QuerySet

from core import db
from embeddings.types import Vectors
from search.lexical.documents import Source
from tools_catalog.models import Tool
from tools_catalog.selectors import floor_for, tools_served
from tools_catalog.types import Space, ToolHit

BATCH = 2000
LOAD_TIMEOUT = 60.0
"""Reading the whole catalogue happens beside the searches, not in them."""

VERSION: LiteralString = "SELECT slot, version FROM search_catalogversion ORDER BY slot"

# The nearest by vector, and the tools that the caller names, each scored exactly. A tool that was synced a moment ago
# has no vector yet; its keywords find it already.
CANDIDATES: LiteralString = """
    WITH scored AS MATERIALIZED (
        SELECT tool_id, -(vector <#> %(query)s) AS raw
        FROM mcp_unified_search_seen
        WHERE space_id = %(space)s AND is_active AND (tenant_id IS NULL OR tenant_id = %(tenant)s) {filters}
    ), chosen AS (
        (SELECT tool_id FROM scored ORDER BY raw DESC, tool_id LIMIT %(limit)s)
        UNION
        SELECT unnest(%(ids)s::bigint[])
    )
    SELECT t.id, t.type, t.name, s.name, t.description, scored.raw, coalesce(v.skill_ids, '{{}}'), v.primary_skill_id,
           (SELECT count(*) FROM scored WHERE raw > %(floor)s)
    FROM chosen
    JOIN tools_catalog_tool t ON t.id = chosen.tool_id
    JOIN tools_catalog_server s ON s.id = t.server_id
    LEFT JOIN mcp_unified_search_seen v ON v.space_id = %(space)s AND v.tool_id = chosen.tool_id
    LEFT JOIN scored ON scored.tool_id = chosen.tool_id
    WHERE v.tool_id IS NULL OR v.is_active
"""
BY_TYPE: LiteralString = "AND type = %(type)s"
TYPICAL: LiteralString = """
    SELECT asked.skill_id, best.tool_id, best.fit
    FROM unnest(%(skill_ids)s::varchar[], %(words)s::vector[]) AS asked(skill_id, words)
    CROSS JOIN LATERAL (
        SELECT tool_id, -(vector <#> asked.words) AS fit
        FROM mcp_unified_search_seen
        WHERE space_id = %(space)s AND is_active AND (tenant_id IS NULL OR tenant_id = %(tenant)s)
          AND skill_ids @> ARRAY[asked.skill_id] {filters}
        ORDER BY fit DESC, tool_id
        LIMIT %(few)s
    ) best
"""
FEW = 10


def catalog_version() -> tuple[db.Row, ...]:
    return tuple(db.fetch(VERSION, timeout=settings.SEARCH_TIMEOUTS["tools"], any_scope=True))


def catalog_keys() -> dict[int, tuple[str, int]]:
    """Of every tool that is served: what its words are made from, and whose it is (0: shared)."""
    rows = _read(tools_served().values_list("id", "content_hash", "server__name", "server__tenant_id"))
    return {row[0]: (row[1] + row[2], row[3] or 0) for row in rows}


def catalog_sources(tool_ids: Sequence[int] | None) -> Iterator[Source]:
    """The texts of these tools (None: of all), as far as they are served."""
    fields = ("id", "server__tenant_id", "type", "content_hash", "server__name", "name", "description", "input_schema")
    served = tools_served().values_list(*fields)
    if tool_ids is not None:
        for start in range(0, len(tool_ids), BATCH):
            yield from (Source(*row) for row in _read(served, tool_ids[start : start + BATCH]))
        return
    last = 0
    while rows := _read(served.filter(pk__gt=last).order_by("id")[:BATCH]):
        yield from (Source(*row) for row in rows)
        last = rows[-1][0]


def tools_by_id(tool_ids: Sequence[int]) -> dict[int, ToolHit]:
    """What is served of these, without vectors and skills: all there is to show when no model has been at work."""
    rows = _read(tools_served().values_list("id", "type", "name", "server__name", "description"), tool_ids)
    return {row[0]: _hit(row, [], None) for row in rows}


def candidates(
    query: Vectors,
    *,
    space: Space,
    tenant_id: int | None,
    item_type: str | None,
    tool_ids: list[int],
    threshold: float,
    limit: int,
    timeout: float,
) -> tuple[list[tuple[ToolHit, float | None]], int]:
    """The nearest tools and those named by id, each with its raw similarity.

    And how many of all tools reach the threshold by similarity alone.
    """
    sql = CANDIDATES.format(filters=BY_TYPE if item_type else "")
    params = {
        "query": query,
        "space": space.id,
        "tenant": tenant_id,
        "type": item_type,
        "ids": tool_ids,
        "floor": floor_for(threshold),
        "limit": limit,
    }
    rows = db.fetch(sql, params, timeout=timeout)
    found = [(_hit(row[:5], row[6], row[7]), row[5]) for row in rows]
    return found, rows[0][8] if rows else 0


def typical_tools(
    words: dict[str, Vectors], *, space: Space, tenant_id: int | None, item_type: str | None, timeout: float
) -> dict[str, dict[int, float]]:
    """For each of these skills, the few of its tools that are nearest to the vector of its words, best first."""
    params = {
        "skill_ids": list(words),
        "words": list(words.values()),
        "space": space.id,
        "tenant": tenant_id,
        "type": item_type,
        "few": FEW,
    }
    found: dict[str, dict[int, float]] = {}
    rows = db.fetch(TYPICAL.format(filters=BY_TYPE if item_type else ""), params, timeout=timeout)
    for skill_id, tool_id, fit in rows:
        found.setdefault(skill_id, {})[tool_id] = fit
    return found


def _hit(row: db.Row, skill_ids: list[str], primary_skill_id: str | None) -> ToolHit:
    tool_id, item_type, name, server, description = row
    return ToolHit(tool_id, item_type, name, server, description, 0.0, skill_ids, primary_skill_id)


def _read(queryset: QuerySet[Tool, Any], tool_ids: Sequence[int] | None = None) -> list[db.Row]:
    """Through the connection for reads: it has time-outs and says it when the database is away."""
    if not queryset.query.is_sliced:
        queryset = queryset.order_by()
    sql, params = queryset.query.sql_with_params()
    if tool_ids is not None:  # one statement, however many there are
        sql, params = f"SELECT * FROM ({sql}) served WHERE served.id = ANY(%s::bigint[])", (*params, list(tool_ids))  # noqa: S608
    return db.fetch(sql, params, timeout=LOAD_TIMEOUT)
