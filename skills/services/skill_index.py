"""The index of skills: centroid and prototypes of each, and the skill ids in the index of tools."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt
import structlog
from django.db import connection, transaction

from embeddings.types import Vectors
from skills.models import Assignment, Skill, SkillPrototype, SkillVector
from skills.services.prototypes import centroid, prototypes
from tools_catalog.models import EmbeddingSpace, ToolVector
from tools_catalog.services.spaces import embedder_for

LABEL = "skills"
LOCK = 0x736B  # of two numbers: this and the space
MANY_LOCK = 0x736C

log = structlog.get_logger("toolscript.skills")

PAYLOAD = """
    UPDATE mcp_unified_search v
    SET skill_ids = wanted.skill_ids, primary_skill_id = wanted.primary_skill_id
    FROM (
        SELECT t.id AS tool_id,
               coalesce(array_agg(s.id ORDER BY a.confidence DESC, s.id) FILTER (WHERE s.id IS NOT NULL), '{}')
                   AS skill_ids,
               (array_agg(s.id ORDER BY a.is_primary DESC, a.confidence DESC, s.id)
                   FILTER (WHERE s.id IS NOT NULL))[1] AS primary_skill_id
        FROM tools_catalog_tool t
        LEFT JOIN skills_assignment a ON a.tool_id = t.id
        LEFT JOIN skills_skill s ON s.id = a.skill_id AND s.is_active
        WHERE %(ids)s::bigint[] IS NULL OR t.id = ANY(%(ids)s::bigint[])
        GROUP BY t.id
    ) wanted
    WHERE v.tool_id = wanted.tool_id
      AND (v.skill_ids, v.primary_skill_id) IS DISTINCT FROM (wanted.skill_ids, wanted.primary_skill_id)
"""
# What each skill's vectors are made from, in one row: while its digest stays the same, they are fresh.
KEYS = """
    SELECT s.id, v.key, md5(concat_ws('|', s.name, s.description, s.keywords::text, s.examples::text,
               s.tenant_id::text, s.is_active::text,
               string_agg(a.tool_id || ':' || a.confidence || ':' || i.key, ',' ORDER BY a.tool_id)))
    FROM skills_skill s
    LEFT JOIN mcp_skills v ON v.skill_id = s.id AND v.space_id = %(space)s
    LEFT JOIN skills_assignment a ON a.skill_id = s.id
    LEFT JOIN mcp_unified_search i ON i.tool_id = a.tool_id AND i.space_id = %(space)s AND i.is_active
    GROUP BY s.id, v.key
    ORDER BY s.id
"""


def stale(space: EmbeddingSpace) -> int:
    return len(stale_keys(space))


def build(space: EmbeddingSpace, advance: Callable[[int], None]) -> None:
    payload_sync(None)
    for _ in skills_refresh(space):
        advance(1)


def skills_refresh(space: EmbeddingSpace) -> Iterator[str]:
    """Computes the vectors of every skill that is stale, each by one process only."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s, %s)", [LOCK, space.pk])
        try:
            for skill_id, key in stale_keys(space).items():
                skill_refresh(skill_id, key, space)
                log.debug("skills.computed", skill=skill_id)
                yield skill_id
        finally:
            cursor.execute("SELECT pg_advisory_unlock(%s, %s)", [LOCK, space.pk])


def payload_sync(tool_ids: Sequence[int] | None) -> int:
    """Brings the skill ids in the index of tools (None: of all) in line with assignments to active skills."""
    with transaction.atomic(), connection.cursor() as cursor:
        if tool_ids is None or len(tool_ids) > 1:
            # Two statements that write many rows, each in its own order, would wait for each other.
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [MANY_LOCK])
        cursor.execute(PAYLOAD, {"ids": None if tool_ids is None else list(tool_ids)})
        return int(cursor.rowcount)


def skill_refresh(skill_id: str, key: str, space: EmbeddingSpace) -> None:
    skill = Skill.objects.filter(pk=skill_id).first()
    if skill is None:
        return
    vectors, weights = tool_vectors(skill_id, space)
    if len(vectors):
        centre, centres = centroid(vectors, weights), prototypes(vectors)
    else:
        centre = embedder_for(space).embed_batch([skill_text(skill)], kind="document")[0]
        centres = vectors
    with transaction.atomic():
        row, _ = SkillVector.objects.update_or_create(
            skill=skill,
            space=space,
            defaults={
                "name": skill.name,
                "description": skill.description,
                "tool_count": len(vectors),
                "is_active": skill.is_active,
                "tenant_id": skill.tenant_id,
                "key": key,
                "vector": centre,
            },
        )
        row.prototypes.all().delete()
        SkillPrototype.objects.bulk_create(
            SkillPrototype(skill_vector=row, ordinal=i, vector=vector) for i, vector in enumerate(centres)
        )


def skill_text(skill: Skill) -> str:
    return f"{skill.name}. {skill.description} {', '.join(skill.keywords)}. {'. '.join(skill.examples)}"


def stale_keys(space: EmbeddingSpace) -> dict[str, str]:
    with connection.cursor() as cursor:
        cursor.execute(KEYS, {"space": space.pk})
        rows = cursor.fetchall()
    return {skill_id: wanted for skill_id, key, wanted in rows if key != wanted}


def tool_vectors(skill_id: str, space: EmbeddingSpace) -> tuple[Vectors, npt.NDArray[np.float32]]:
    confidences = dict(Assignment.objects.filter(skill_id=skill_id).values_list("tool_id", "confidence"))
    rows = list(
        ToolVector.objects.filter(space=space, is_active=True, tool_id__in=confidences)
        .order_by("tool_id")
        .values_list("tool_id", "vector")
    )
    vectors = np.array([vector for _, vector in rows], dtype=np.float32).reshape(len(rows), space.dim)
    weights = np.array([max(confidences[tool_id], 1e-3) for tool_id, _ in rows], dtype=np.float32)
    return vectors, weights
