"""Stage 1: the skills nearest to a query, from a matrix that each process keeps and checks for changes."""

from dataclasses import dataclass
from typing import Any, LiteralString
from uuid import UUID

import numpy as np
import numpy.typing as npt
from django.conf import settings

from core import db, scope
from core.cached import Cached
from core.scope import Scope
from embeddings.types import Vectors
from skills.types import SkillHit
from tools_catalog.selectors import DIGITS
from tools_catalog.types import Space

VERSION: LiteralString = "SELECT version FROM skills_skillindexversion"
# The count is of tools that this caller can find: a shared skill may hold tools of other tenants too.
ROWS: LiteralString = """
    SELECT v.id, v.skill_id, v.name, v.description, coalesce(c.tools, 0), v.vector
    FROM mcp_skills v
    LEFT JOIN (
        SELECT skill_id, count(*) AS tools
        FROM mcp_unified_search_seen, unnest(skill_ids) AS skill_id
        WHERE space_id = %(space)s AND is_active AND (tenant_id IS NULL OR tenant_id = %(tenant)s)
        GROUP BY skill_id
    ) c ON c.skill_id = v.skill_id
    WHERE v.space_id = %(space)s AND v.is_active AND (v.tenant_id IS NULL OR v.tenant_id = %(tenant)s)
    ORDER BY v.skill_id
"""
PROTOTYPES: LiteralString = """
    SELECT p.skill_vector_id, p.vector
    FROM skills_skillprototype p JOIN mcp_skills v ON v.id = p.skill_vector_id
    WHERE v.space_id = %(space)s AND v.is_active AND (v.tenant_id IS NULL OR v.tenant_id = %(tenant)s)
    ORDER BY p.skill_vector_id, p.ordinal
"""
ALIASES: LiteralString = "SELECT old_id, skill_id FROM skills_skillalias WHERE old_id = ANY(%(ids)s)"

CAPABILITIES: LiteralString = """
    SELECT c.need_id, c.provider_id, c.weight
    FROM skills_capability c
    JOIN skills_skill need ON need.id = c.need_id AND need.is_active
    JOIN skills_skill provider ON provider.id = c.provider_id AND provider.is_active
    WHERE (need.tenant_id IS NULL OR need.tenant_id = %(tenant)s)
      AND (provider.tenant_id IS NULL OR provider.tenant_id = %(tenant)s)
    ORDER BY c.need_id, c.weight DESC, c.provider_id
"""


@dataclass(frozen=True, slots=True)
class SkillMatrix:
    version: UUID | None
    space_id: int
    skills: list[tuple[str, str, str, int]]
    """id, name, description, tool_count"""
    vectors: Vectors
    starts: npt.NDArray[np.intp]
    """where each skill's block of vectors begins"""


def _timeout() -> float:
    return float(settings.SEARCH_TIMEOUTS["skills"])


def _load_version() -> UUID | None:
    rows = db.fetch(VERSION, timeout=_timeout())
    return rows[0][0] if rows else None


_version = Cached(_load_version, lambda: settings.SKILL_CACHE_SECONDS)
_matrices: dict[tuple[int | None, Scope], SkillMatrix] = {}
TENANTS_KEPT = 32


def skill_matrix(space: Space, tenant_id: int | None = None) -> SkillMatrix:
    """One for each tenant, loaded as that tenant sees it. Two threads may both load one, and either is right."""
    version = _version.get()
    key = (tenant_id, scope.current())
    matrix = _matrices.get(key)
    if matrix is None or matrix.version != version or matrix.space_id != space.id:
        matrix = _load_matrix(version, space, tenant_id)
        _keep(_matrices, key, matrix)
    return matrix


def _keep(kept: dict[tuple[int | None, Scope], Any], key: tuple[int | None, Scope], value: Any) -> None:
    """As the newest; those of tenants who have not asked for long are loaded again when they do."""
    kept.pop(key, None)
    kept[key] = value
    for oldest in list(kept)[:-TENANTS_KEPT]:
        kept.pop(oldest, None)


def _load_matrix(version: UUID | None, space: Space, tenant_id: int | None) -> SkillMatrix:
    params = {"space": space.id, "tenant": tenant_id}
    rows = db.fetch(ROWS, params, timeout=_timeout())
    blocks: dict[int, list[Vectors]] = {row[0]: [row[5].to_numpy()] for row in rows}
    for skill_vector_id, vector in db.fetch(PROTOTYPES, params, timeout=_timeout()):
        if skill_vector_id in blocks:
            blocks[skill_vector_id].append(vector.to_numpy())
    sizes = [len(block) for block in blocks.values()]
    stacked = [vector for block in blocks.values() for vector in block]
    return SkillMatrix(
        version=version,
        space_id=space.id,
        skills=[row[1:5] for row in rows],
        vectors=np.array(stacked, dtype=np.float32).reshape(len(stacked), space.dim),
        starts=np.cumsum([0, *sizes[:-1]], dtype=np.intp) if sizes else np.empty(0, dtype=np.intp),
    )


def skills_nearest(
    query: Vectors, *, space: Space, tenant_id: int | None, threshold: float, limit: int
) -> tuple[list[SkillHit], int]:
    """The best skills by their nearest prototype, and how many skills there are to choose from."""
    matrix = skill_matrix(space, tenant_id)
    if not matrix.skills:
        return [], 0
    best = np.maximum.reduceat(matrix.vectors @ query, matrix.starts)
    scores = np.clip(np.round(best.astype(np.float64), DIGITS), 0, 1)
    order = np.argsort(-best, kind="stable")[:limit]
    hits = [_hit(matrix.skills[i], float(scores[i])) for i in order if scores[i] >= threshold]
    return hits, len(matrix.skills)


def _hit(skill: tuple[str, str, str, int], score: float) -> SkillHit:
    skill_id, name, description, tool_count = skill
    return SkillHit(skill_id, name, description, score, tool_count)


Capabilities = dict[str, list[tuple[str, float]]]
_capabilities: dict[tuple[int | None, Scope], tuple[UUID | None, Capabilities]] = {}


def capabilities(tenant_id: int | None = None) -> Capabilities:
    """For each skill that may be asked for: the skills whose tools serve it too, and how well. Kept like matrices."""
    version = _version.get()
    key = (tenant_id, scope.current())
    kept = _capabilities.get(key)
    if kept is None or kept[0] != version:
        serves: Capabilities = {}
        for need_id, provider_id, weight in db.fetch(CAPABILITIES, {"tenant": tenant_id}, timeout=_timeout()):
            serves.setdefault(need_id, []).append((provider_id, weight))
        kept = (version, serves)
        _keep(_capabilities, key, kept)
    return kept[1]


def skill_names(space: Space, tenant_id: int | None = None) -> dict[str, str]:
    return {skill[0]: skill[1] for skill in skill_matrix(space, tenant_id).skills}


def skill_words(space: Space, tenant_id: int | None = None) -> dict[str, str]:
    """What each skill says of itself."""
    return {skill[0]: f"{skill[1]}: {skill[2]}" for skill in skill_matrix(space, tenant_id).skills}


def skill_ids_resolved(skill_ids: list[str]) -> list[str]:
    """The same ids, with those of renamed and merged skills replaced by what they are now."""
    now: dict[str, str] = dict(db.fetch(ALIASES, {"ids": skill_ids}, timeout=_timeout())) if skill_ids else {}
    return list(dict.fromkeys(now.get(skill_id, skill_id) for skill_id in skill_ids))
