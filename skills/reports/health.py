"""How well a skill holds together, and which others it gets in the way of."""

from dataclasses import dataclass

import numpy as np

from embeddings.types import Vectors
from skills.models import Skill, SkillVector
from skills.reports.vectors import centroids, tool_vectors
from skills.services.similar import space_live
from skills.visible import assignments_seen, served_seen, skills_seen
from tenants.visible import visible

OVERLAP = 0.8
"""Two skills whose centres are this similar are hard to tell apart."""
WIDE = 0.5
"""A skill whose tools are on average less similar to its centre than this holds several things."""


@dataclass(frozen=True, slots=True)
class Neighbour:
    skill: Skill
    similarity: float
    """Of the two centres."""
    shared: int
    """Tools that are in both."""
    strays: int
    """Tools of this skill that are nearer to the other's centre."""

    @property
    def overlaps(self) -> bool:
        return self.similarity >= OVERLAP


@dataclass(frozen=True, slots=True)
class Health:
    tools: int
    indexed: int
    """Tools that count towards the centre: active, and embedded."""
    cohesion: float | None
    """Mean similarity of the tools to the centre."""
    loosest: float | None
    """The tenth percentile of the same."""
    prototypes: int
    neighbours: list[Neighbour]
    fresh: bool
    """Whether the centre is there at all."""

    @property
    def spread(self) -> float | None:
        return None if self.cohesion is None else 1 - self.cohesion

    @property
    def wide(self) -> bool:
        return self.cohesion is not None and self.cohesion < WIDE and self.indexed > 2

    @property
    def overlapping(self) -> list[Neighbour]:
        return [n for n in self.neighbours if n.overlaps]

    @property
    def verdict(self) -> str:
        if not self.fresh:
            return "not indexed yet"
        if not self.tools:
            return "empty"
        if self.overlapping:
            return "overlaps"
        return "wide" if self.wide else "healthy"


def skill_health(skill: Skill, limit: int = 6) -> Health:
    space = space_live()
    row = (
        visible(SkillVector.objects.all(), "skill__tenant").filter(skill=skill, space=space).first() if space else None
    )
    tool_ids = list(assignments_seen().filter(skill=skill).values_list("tool_id", flat=True))
    if row is None:
        return Health(len(tool_ids), 0, None, None, 0, [], fresh=False)
    served = assignments_seen().filter(skill=skill, tool__in=served_seen())
    found = list(tool_vectors(space, list(served.values_list("tool_id", flat=True))).values())
    vectors = np.array(found, dtype=np.float32).reshape(len(found), len(row.vector))
    fits = vectors @ np.asarray(row.vector, dtype=np.float32)
    return Health(
        tools=len(tool_ids),
        indexed=len(found),
        cohesion=float(fits.mean()) if found else None,
        loosest=float(np.percentile(fits, 10)) if found else None,
        prototypes=row.prototypes.count(),
        neighbours=_neighbours(skill, np.asarray(row.vector, dtype=np.float32), vectors, fits, limit),
        fresh=True,
    )


def _neighbours(skill: Skill, centre: Vectors, vectors: Vectors, fits: Vectors, limit: int) -> list[Neighbour]:
    centres = centroids(space_live())
    skills = {s.pk: s for s in skills_seen().filter(is_active=True).exclude(pk=skill.pk)}
    similarities = centres.vectors @ centre
    order = [i for i in np.argsort(-similarities, kind="stable") if centres.ids[i] in skills][:limit]
    mine = set(assignments_seen().filter(skill=skill).values_list("tool_id", flat=True))
    found = []
    for i in order:
        other = skills[centres.ids[i]]
        theirs = assignments_seen().filter(skill=other, tool_id__in=mine).count()
        strays = int(((vectors @ centres.vectors[i]) > fits).sum())
        found.append(Neighbour(other, float(similarities[i]), theirs, strays))
    return found
