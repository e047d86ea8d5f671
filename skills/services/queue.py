"""Which tools wait to be classified, and who has claimed them.

A claim is a compare-and-set on the tool's row: it ends with the result, with a decision of a person, or with its lease.
So a worker that dies loses nothing, and a late result of a worker that was thought dead changes nothing.
"""

import uuid

from django.conf import settings
from django.db import connection
from django.db.models import Q, QuerySet
from django.utils import timezone

from skills.models import ToolClassification
from tools_catalog.models import Tool
from tools_catalog.selectors import tools_served

STATUS = ToolClassification.Status

# A tool that a person filed before the pipeline knew of it stays theirs.
NEW = """
    INSERT INTO skills_toolclassification (tool_id, status, pinned, key, attempts, error)
    SELECT t.id,
           CASE WHEN a.filed THEN 'assigned' ELSE 'pending' END,
           coalesce(a.human, false),
           CASE WHEN a.filed THEN t.content_hash ELSE '' END,
           0, ''
    FROM tools_catalog_tool t
    LEFT JOIN LATERAL (
        SELECT true AS filed, bool_or(source = 'human') AS human
        FROM skills_assignment WHERE tool_id = t.id HAVING count(*) > 0
    ) a ON true
    WHERE NOT EXISTS (SELECT 1 FROM skills_toolclassification c WHERE c.tool_id = t.id)
    ON CONFLICT DO NOTHING
"""
CHANGED = """
    UPDATE skills_toolclassification c
    SET status = 'pending', error = '', attempts = 0
    FROM tools_catalog_tool t
    WHERE t.id = c.tool_id AND NOT c.pinned AND c.status IN ('assigned', 'suggested', 'failed')
      AND c.key <> t.content_hash
"""
WITH_VECTOR = """
    EXISTS (
        SELECT 1 FROM mcp_unified_search v
        JOIN tools_catalog_embeddingspace s ON s.id = v.space_id AND s.is_live
        JOIN tools_catalog_tool vt ON vt.id = v.tool_id
        WHERE v.tool_id = c.tool_id AND v.key = vt.index_key
    )
"""
CLAIM = """
    UPDATE skills_toolclassification
    SET status = 'claimed', claim = %(claim)s,
        claimed_until = now() + make_interval(secs => %(lease)s), attempts = attempts + 1
    WHERE tool_id IN (
        SELECT c.tool_id FROM skills_toolclassification c
        WHERE NOT c.pinned AND c.tool_id = ANY(%(served)s)
          AND (c.status = 'pending' OR (c.status = 'claimed' AND c.claimed_until < now()))
          AND ({ready})
        ORDER BY c.tool_id LIMIT %(limit)s
        FOR UPDATE SKIP LOCKED
    )
    RETURNING tool_id
"""
RENEW = """
    UPDATE skills_toolclassification SET claimed_until = now() + make_interval(secs => %(lease)s)
    WHERE claim = %(claim)s AND status = 'claimed'
"""


def queue_update() -> None:
    """Takes in what is new in the catalogue, and puts what changed back."""
    with connection.cursor() as cursor:
        cursor.execute(NEW)
        cursor.execute(CHANGED)


def queue_claim(limit: int, *, with_vectors: bool) -> tuple[uuid.UUID, list[Tool]]:
    """Tools that are this caller's alone until the lease ends."""
    claim = uuid.uuid4()
    waiting = list(_waiting().values_list("tool_id", flat=True))
    with connection.cursor() as cursor:
        cursor.execute(
            CLAIM.format(ready=WITH_VECTOR if with_vectors else "true"),
            {
                "claim": claim,
                "lease": settings.CLASSIFY_LEASE,
                "served": waiting,
                "limit": limit,
            },
        )
        ids = [row[0] for row in cursor.fetchall()]
    return claim, list(Tool.objects.select_related("server").filter(pk__in=ids).order_by("pk"))


def queue_renew(claim: uuid.UUID) -> None:
    """Whoever works through a long batch keeps what is left of it."""
    with connection.cursor() as cursor:
        cursor.execute(RENEW, {"claim": claim, "lease": settings.CLASSIFY_LEASE})


def queue_length() -> int:
    """Tools that wait or are being classified."""
    return _waiting().count() + _claimed().count()


def queue_empty() -> bool:
    return not _waiting().exists() and not _claimed().exists()


def _waiting() -> QuerySet[ToolClassification]:
    due = Q(status=STATUS.PENDING) | Q(status=STATUS.CLAIMED, claimed_until__lt=timezone.now())
    return ToolClassification.objects.filter(due, pinned=False, tool__in=tools_served())


def _claimed() -> QuerySet[ToolClassification]:
    return ToolClassification.objects.filter(status=STATUS.CLAIMED, claimed_until__gte=timezone.now())
