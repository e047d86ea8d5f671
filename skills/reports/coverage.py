"""What of the catalogue is filed, how firmly, and where skills are missing or in each other's way."""

from dataclasses import dataclass

import numpy as np
from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from skills.models import Assignment, Skill
from skills.reports.filing import WEAK, Filed, Rival, filed_with_rivals, rivals
from skills.reports.health import OVERLAP
from skills.reports.vectors import centroids, tool_vectors
from skills.services.similar import space_live
from skills.visible import assignments_seen, served_seen, skills_seen
from tools_catalog.models import Tool


@dataclass(frozen=True, slots=True)
class SkillSize:
    id: str
    name: str
    firm: int
    weak: int


@dataclass(frozen=True, slots=True)
class Overlap:
    one: Skill
    other: Skill
    similarity: float
    shared: int


@dataclass(frozen=True, slots=True)
class Homeless:
    """A tool in no active skill, and the skills nearest to it."""

    tool: Tool
    rivals: list[Rival]


@dataclass(frozen=True, slots=True)
class Coverage:
    served: int
    unclassified: int
    weak: int
    by_human: int
    skills: int
    sizes: list[SkillSize]
    empty: list[Skill]
    overlaps: list[Overlap]

    @property
    def classified(self) -> int:
        return self.served - self.unclassified

    @property
    def share(self) -> float:
        return self.classified / self.served if self.served else 0.0


def filed_in_active() -> QuerySet[Assignment]:
    return assignments_seen().filter(skill__is_active=True, skill__deleted_at=None)


def tools_unclassified() -> QuerySet[Tool]:
    filed = filed_in_active().filter(tool=OuterRef("pk"))
    return served_seen().filter(~Exists(filed)).select_related("server").order_by("server__name", "name", "pk")


def assignments_weak() -> QuerySet[Assignment]:
    """Of tools that agents see: the best filing of each is below what counts as firm."""
    rows = filed_in_active().filter(is_primary=True, confidence__lt=WEAK, tool__in=served_seen())
    return rows.select_related("tool__server", "skill").order_by("confidence", "tool__name", "pk")


def coverage() -> Coverage:
    sizes = _sizes()
    return Coverage(
        served=served_seen().count(),
        unclassified=tools_unclassified().count(),
        weak=assignments_weak().count(),
        by_human=filed_in_active().filter(source="human", is_primary=True, tool__in=served_seen()).count(),
        skills=len(sizes),
        sizes=sizes,
        empty=list(skills_seen().filter(pk__in=[size.id for size in sizes if not size.firm + size.weak])),
        overlaps=overlaps(),
    )


def _sizes() -> list[SkillSize]:
    served = Q(assignments__tool__in=served_seen())
    rows = (
        skills_seen()
        .filter(is_active=True)
        .annotate(
            firm=Count("assignments", filter=served & Q(assignments__confidence__gte=WEAK)),
            weak=Count("assignments", filter=served & Q(assignments__confidence__lt=WEAK)),
        )
    )
    found = [SkillSize(s.pk, s.name, s.firm, s.weak) for s in rows]
    return sorted(found, key=lambda size: (-(size.firm + size.weak), size.name))


def overlaps(limit: int = 20) -> list[Overlap]:
    """Pairs of active skills whose centres are hard to tell apart, nearest first."""
    centres = centroids(space_live())
    skills = {s.pk: s for s in skills_seen().filter(is_active=True)}
    similarities = np.triu(centres.vectors @ centres.vectors.T, k=1)
    pairs = [
        (float(similarities[i, j]), centres.ids[i], centres.ids[j])
        for i, j in np.argwhere(similarities >= OVERLAP)
        if centres.ids[i] in skills and centres.ids[j] in skills
    ]
    found = sorted(pairs, key=lambda pair: (-pair[0], pair[1], pair[2]))[:limit]
    return [Overlap(skills[a], skills[b], similarity, _shared(a, b)) for similarity, a, b in found]


def _shared(one: str, other: str) -> int:
    return assignments_seen().filter(skill=one, tool__assignments__skill=other).count()


def homeless(tools: list[Tool]) -> list[Homeless]:
    space = space_live()
    centres, vectors = centroids(space), tool_vectors(space, [t.pk for t in tools])
    skills = list(skills_seen().filter(is_active=True))
    return [
        Homeless(
            t,
            rivals(vectors[t.pk], centres, skills, without=[], tenant_id=t.server.tenant_id) if t.pk in vectors else [],
        )
        for t in tools
    ]


def weakly_filed(limit: int) -> list[Filed]:
    return filed_with_rivals(list(assignments_weak()[:limit]))
