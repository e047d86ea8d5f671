import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import LiteralString

from django.conf import settings
from django.db.models import Case, Count, Q, QuerySet, Value, When

from core import db
from core.cached import Cached
from core.errors import ValidationFailed
from embeddings.types import Vectors
from tools_catalog.models import Review, Server, Tool, ToolDefinition
from tools_catalog.types import ITEM_TYPES, Space, Target, ToolHit, ToolHits, ToolSchemas

DIGITS = 4
MAX_SERVER_NAME = 128
MAX_TOOL_NAME = 255
MAX_READINGS = 2000
"""How many pairs of server and tool one request may ask for: each is a condition of the query."""

LIVE_SPACE: LiteralString = "SELECT id, model, fingerprint, dim FROM tools_catalog_embeddingspace WHERE is_live"

# The scores of all candidates are exact: at the size of a skill, or of some ten thousand tools, that is faster than
# an approximate index and cannot miss. OFFSET 0 keeps the planner from computing each distance twice.
NEAREST: LiteralString = """
    WITH passed AS MATERIALIZED (
        SELECT tool_id, raw
        FROM (
            SELECT tool_id, -(vector <#> %(query)s) AS raw
            FROM mcp_unified_search_seen
            WHERE space_id = %(space)s AND is_active AND (tenant_id IS NULL OR tenant_id = %(tenant)s) {filters}
            OFFSET 0
        ) scored
        WHERE raw > %(floor)s
    ), best AS (
        SELECT tool_id, raw FROM passed ORDER BY raw DESC, tool_id LIMIT %(limit)s
    )
    SELECT t.id, t.type, t.name, s.name, t.description, best.raw,
           v.skill_ids, v.primary_skill_id, (SELECT count(*) FROM passed)
    FROM best
    JOIN mcp_unified_search_seen v ON v.space_id = %(space)s AND v.tool_id = best.tool_id
    JOIN tools_catalog_tool t ON t.id = best.tool_id
    JOIN tools_catalog_server s ON s.id = t.server_id
    ORDER BY best.raw DESC, best.tool_id
"""
BY_SKILL: LiteralString = "AND skill_ids && %(skill_ids)s::varchar[]"
BY_TYPE: LiteralString = "AND type = %(type)s"

SCHEMAS: LiteralString = """
    SELECT id, input_schema, output_schema, annotations
    FROM tools_catalog_tool WHERE id = ANY(%(ids)s::bigint[])
"""


def _load_live_space() -> Space | None:
    rows = db.fetch(LIVE_SPACE, timeout=settings.SEARCH_TIMEOUTS["tools"])
    return Space(*rows[0]) if rows else None


_live_space = Cached(_load_live_space, lambda: settings.SKILL_CACHE_SECONDS)


_chosen_space: ContextVar[Space | None] = ContextVar("chosen_space", default=None)


def live_space() -> Space | None:
    return _chosen_space.get() or _live_space.get()


@contextmanager
def searching_in(space: Space) -> Iterator[None]:
    """Whoever searches in here does so with this model, whichever is live for everybody else."""
    token = _chosen_space.set(space)
    try:
        yield
    finally:
        _chosen_space.reset(token)


def score_of(similarity: float) -> float:
    """What callers see: the cosine, clipped to 0..1, with four digits."""
    return min(max(round(similarity, DIGITS), 0.0), 1.0)


def floor_for(threshold: float) -> float:
    """What a similarity must be above for its score, as callers see it, to reach the threshold."""
    step = 10**-DIGITS
    return math.ceil(threshold / step - 1e-9) * step - step / 2 if threshold > 0 else -2.0


def tools_nearest(
    query: Vectors,
    *,
    space: Space,
    tenant_id: int | None,
    skill_ids: list[str] | None,
    item_type: str | None,
    threshold: float,
    limit: int,
    timeout: float,
) -> ToolHits:
    """The best tools by cosine similarity. `skill_ids` None means no filter, an empty list matches nothing."""
    filters = (BY_SKILL if skill_ids is not None else "") + " " + (BY_TYPE if item_type else "")
    params = {
        "query": query,
        "space": space.id,
        "tenant": tenant_id,
        "skill_ids": skill_ids,
        "type": item_type,
        "floor": floor_for(threshold),
        "limit": limit,
    }
    rows = db.fetch(NEAREST.format(filters=filters), params, timeout=timeout)
    hits = [_hit(row) for row in rows]
    return ToolHits(hits, rows[0][8] if rows else 0)


def _hit(row: db.Row) -> ToolHit:
    tool_id, item_type, name, server, description, similarity, skill_ids, primary_skill_id, _ = row
    score = score_of(similarity)
    return ToolHit(tool_id, item_type, name, server, description, score, skill_ids, primary_skill_id)


def tool_schemas(tool_ids: list[int], *, timeout: float) -> dict[int, ToolSchemas]:
    rows = db.fetch(SCHEMAS, {"ids": tool_ids}, timeout=timeout)
    return {row[0]: ToolSchemas(*row[1:]) for row in rows}


def tools_served() -> QuerySet[Tool]:
    """What agents may see: every list, search and call looks at these and no others."""
    return Tool.objects.filter(
        is_active=True,
        missing_since=None,
        review=Review.ACCEPTED,
        server__is_active=True,
        server__removed_at=None,
    )


def server_target(server: Server) -> Target:
    return Target(
        name=server.name,
        transport=server.transport,
        command=server.command,
        args=tuple(server.args),
        env=server.env,
        cwd=server.cwd,
        url=server.url,
        headers=server.headers,
        protocol=server.protocol,
    )


def servers_connected() -> QuerySet[Server]:
    """The servers that a sync asks: active ones that can be reached."""
    return Server.objects.filter(is_active=True, removed_at=None).exclude(transport="")


def tools_visible(tenant_id: int | None, item_type: str) -> QuerySet[Tool]:
    """What a caller of this tenant may list and call. (Django joins the server anyway.)"""
    theirs = Q(server__tenant=None) | Q(server__tenant=tenant_id) if tenant_id is not None else Q(server__tenant=None)
    return tools_served().filter(theirs, type=item_type).select_related("server")


def tool_by_id(item_id: str, *, item_type: str, tenant_id: int | None, server: str | None = None) -> list[Tool]:
    """The items that `server__name` can mean. Names may hold `__` themselves, so there can be more than one.

    Where the caller's tenant and what is shared have servers of one name, the tenant's own counts.
    """
    pairs = [(head, name) for head, name in id_readings(item_id) if server in (None, head)]
    wanted = Q()
    for head, name in pairs:
        wanted |= Q(server__name=head, name=name)
    found = list(tools_visible(tenant_id, item_type).filter(wanted)) if pairs else []
    own = {(tool.server.name, tool.name) for tool in found if tool.server.tenant_id is not None}
    return [t for t in found if t.server.tenant_id is not None or (t.server.name, t.name) not in own]


def id_readings(item_id: str) -> list[tuple[str, str]]:
    """Every way to split at a `__`: `a__b__c` is b__c of a, or c of a__b. No part is longer than names can be."""
    if "\0" in item_id or len(item_id) > MAX_SERVER_NAME + 2 + MAX_TOOL_NAME:
        return []
    first, last = max(1, len(item_id) - 2 - MAX_TOOL_NAME), min(len(item_id) - 3, MAX_SERVER_NAME)
    return [(item_id[:i], item_id[i + 2 :]) for i in range(first, last + 1) if item_id.startswith("__", i)]


def tools_listed(words: list[str] | None, *, item_type: str, tenant_id: int | None) -> QuerySet[Tool]:
    """By server and name. A word is the name of a server or the id of an item; None means all."""
    tools = tools_visible(tenant_id, item_type).order_by("server__name", "name", "id")
    if words is None:
        return tools
    readings = [reading for word in words for reading in id_readings(word)]
    if len(readings) > MAX_READINGS:
        raise ValidationFailed("filter: these ids can be read in too many ways. Ask for fewer at a time.")
    wanted = Q(server__name__in=words)
    for head, name in readings:
        wanted |= Q(server__name=head, name=name)
    return tools.filter(wanted)


def servers_visible(tenant_id: int | None) -> QuerySet[Server]:
    theirs = Q(tenant=None) | Q(tenant=tenant_id) if tenant_id is not None else Q(tenant=None)
    served = {kind: Count("tools", filter=Q(tools__in=tools_served(), tools__type=kind)) for kind in ITEM_TYPES}
    counts = {f"{kind}_count": count for kind, count in served.items()}
    return Server.objects.filter(theirs, is_active=True, removed_at=None).annotate(**counts).order_by("name", "id")


def tool_state() -> Case:
    """Why a tool is served or not, in one word; the first that applies."""
    return Case(
        When(missing_since__isnull=False, then=Value("missing")),
        When(review=Review.HELD, then=Value("held")),
        When(review=Review.REJECTED, then=Value("rejected")),
        When(is_active=False, then=Value("switched off")),
        When(Q(server__is_active=False) | Q(server__removed_at__isnull=False), then=Value("server off")),
        default=Value("served"),
    )


def definition_now(tool: Tool) -> ToolDefinition | None:
    return tool.definitions.filter(content_hash=tool.content_hash).first()


def definition_before(tool: Tool) -> ToolDefinition | None:
    """What the present definition is compared with: the accepted one that was published last."""
    others = tool.definitions.exclude(content_hash=tool.content_hash)
    return others.filter(review=Review.ACCEPTED).first() or others.first()
