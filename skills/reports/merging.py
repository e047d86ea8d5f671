"""What merging one skill into another would do, before anyone confirms it."""

from dataclasses import dataclass

import numpy as np

from embeddings.types import Vectors
from skills.models import Assignment, Skill
from skills.services.prototypes import centroid
from skills.services.similar import space_live, vectors_of
from skills.visible import assignments_seen, served_seen
from tools_catalog.models import EmbeddingSpace


@dataclass(frozen=True, slots=True)
class MergePreview:
    moving: list[Assignment]
    both: int
    """Tools that are in the other skill already."""
    shift: float | None
    """1 - cosine between the other's centre before and after."""
    spread_before: float | None
    spread_after: float | None


def merge_preview(skill: Skill, into: Skill) -> MergePreview:
    rows = list(assignments_seen().filter(skill=skill).select_related("tool__server").order_by("tool__name", "pk"))
    theirs = _weights(into)
    space = space_live()
    before = _cloud(theirs, space) if space else None
    after = _cloud(_weights(skill) | theirs, space) if space else None
    return MergePreview(
        moving=[row for row in rows if row.tool_id not in theirs],
        both=sum(row.tool_id in theirs for row in rows),
        shift=None if before is None or after is None else float(1 - before[1] @ after[1]),
        spread_before=_spread(before),
        spread_after=_spread(after),
    )


def _weights(skill: Skill) -> dict[int, float]:
    return dict(skill.assignments.filter(tool__in=served_seen()).values_list("tool_id", "confidence"))


def _cloud(weights: dict[int, float], space: EmbeddingSpace) -> tuple[Vectors, Vectors] | None:
    found = vectors_of(list(weights), space)
    if not found:
        return None
    vectors = np.array(list(found.values()), dtype=np.float32)
    return vectors, centroid(vectors, np.array([max(weights[pk], 1e-3) for pk in found], dtype=np.float32))


def _spread(cloud: tuple[Vectors, Vectors] | None) -> float | None:
    return None if cloud is None else float(1 - (cloud[0] @ cloud[1]).mean())
