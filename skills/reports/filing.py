"""The tools of a skill, with those first that a curator should look at."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from embeddings.types import Vectors
from skills.models import Assignment, Skill
from skills.reports.vectors import Rows, centroids, tool_vectors
from skills.services.similar import space_live
from skills.visible import assignments_seen, served_seen, skills_seen

WEAK = 0.6
"""A confidence below this asks for a look."""
CONTESTED = 0.03
"""Another skill's centre is nearer by at least this much."""


@dataclass(frozen=True, slots=True)
class Rival:
    """Another skill whose centre is near a tool."""

    skill: Skill
    similarity: float


@dataclass(frozen=True, slots=True)
class Filed:
    """A tool in a skill, and how well it sits there."""

    assignment: Assignment
    fit: float | None
    """Similarity to the skill's centre; None while the tool has no vector."""
    rivals: list[Rival]
    """The nearest skills that the tool is not in."""
    also: list[Skill]
    """The other skills the tool is in."""
    served: bool
    """Whether agents see the tool."""

    @property
    def settled(self) -> bool:
        """A person said so, with full confidence."""
        return self.assignment.source == Assignment.Source.HUMAN and self.assignment.confidence >= 1

    @property
    def weak(self) -> bool:
        return self.assignment.confidence < WEAK

    @property
    def contested(self) -> bool:
        if self.settled or self.fit is None or not self.rivals:
            return False
        return self.rivals[0].similarity >= self.fit + CONTESTED


def skill_filing(skill: Skill) -> list[Filed]:
    """Weak and contested assignments first, then the least confident."""
    rows = assignments_seen().filter(skill=skill).select_related("tool__server")
    filed = filed_with_rivals(list(rows))
    return sorted(
        filed, key=lambda f: (not (f.weak or f.contested), not f.served, f.assignment.confidence, f.assignment.pk)
    )


def filed_with_rivals(assignments: list[Assignment]) -> list[Filed]:
    space, tool_ids = space_live(), [a.tool_id for a in assignments]
    centres = centroids(space)
    skills = {s.pk: s for s in skills_seen().filter(deleted_at=None)}
    vectors = tool_vectors(space, tool_ids)
    members = _memberships(tool_ids)
    served = set(served_seen().filter(pk__in=tool_ids).values_list("pk", flat=True))
    found = []
    for row in assignments:
        vector, own = vectors.get(row.tool_id), centres.vector(row.skill_id)
        without, tenant_id = members[row.tool_id], row.tool.server.tenant_id
        near = [] if vector is None else rivals(vector, centres, skills.values(), without=without, tenant_id=tenant_id)
        fit = None if vector is None or own is None else float(own @ vector)
        also = [skills[s] for s in without if s != row.skill_id and s in skills]
        found.append(Filed(row, fit, near, also, row.tool_id in served))
    return found


def rivals(
    vector: Vectors,
    centres: Rows,
    skills: Iterable[Skill],
    *,
    without: list[str],
    tenant_id: int | None,
    limit: int = 3,
) -> list[Rival]:
    """The active skills nearest to a vector, of those that a tool of this tenant may be in."""
    known = {s.pk: s for s in skills if s.is_active and s.pk not in without and s.tenant_id in (None, tenant_id)}
    similarities = centres.vectors @ vector
    order = [i for i in np.argsort(-similarities, kind="stable") if centres.ids[i] in known][:limit]
    return [Rival(known[centres.ids[i]], float(similarities[i])) for i in order]


def _memberships(tool_ids: list[int]) -> dict[int, list[str]]:
    members: dict[int, list[str]] = {tool_id: [] for tool_id in tool_ids}
    for tool_id, skill_id in assignments_seen().filter(tool_id__in=tool_ids).values_list("tool_id", "skill_id"):
        members[tool_id].append(skill_id)
    return members
