"""What a decision on a suggestion would do, before anyone confirms it. Reads only."""

from collections.abc import Sequence

import numpy as np

from embeddings.types import Vectors
from skills.models import Assignment, Skill, Suggestion
from skills.services.prototypes import centroid
from skills.services.similar import centre_of, skills_near, space_live, tools_near, vectors_of
from skills.services.suggestions import ASKED_CONFIDENCE, askers_movable, choices_with, suggestion_spec
from skills.types import Preview, ToolMove
from tools_catalog.models import EmbeddingSpace, Tool


def suggestion_preview(suggestion: Suggestion, *, into: Skill | None = None) -> Preview:
    """Of an approval, or with `into` of a merge."""
    target = into.pk if into else suggestion_spec(suggestion).id
    askers = list(suggestion.askers.values_list("tool_id", flat=True))
    movable = set(askers_movable(suggestion))
    moves = _moves(askers, target)
    space = space_live()
    centre = centre_of(askers, space) if space else None
    near: list[int] = []
    if into is None and space and centre is not None:
        near = tools_near(centre, space, but_not=askers)
    before, after = _clouds(into, sorted(movable), space) if space else (None, None)
    return Preview(
        moves=tuple(move for move in moves if move.tool_id in movable),
        stay=tuple(move for move in moves if move.tool_id not in movable),
        reclassified=tuple(_moves(near, None)),
        nearest=tuple(skills_near(centre, space)) if space and centre is not None else (),
        centroid_shift=_shift(before, after),
        spread_before=_spread(before),
        spread_after=_spread(after),
    )


def _moves(tool_ids: Sequence[int], target: str | None) -> list[ToolMove]:
    """`target` None: the tool will be classified again, and nobody knows where it will be."""
    old: dict[int, list[Assignment]] = {pk: [] for pk in tool_ids}
    for assignment in Assignment.objects.filter(tool_id__in=tool_ids).order_by("-is_primary", "-confidence"):
        old[assignment.tool_id].append(assignment)
    tools = Tool.objects.select_related("server").filter(pk__in=tool_ids).order_by("name", "pk")
    return [
        ToolMove(
            tool_id=tool.pk,
            name=tool.name,
            server=tool.server.name,
            skill_ids=tuple(a.skill_id for a in old[tool.pk]),
            new_skill_ids=tuple(c.skill_id for c in choices_with(target, old[tool.pk], "")) if target else (),
        )
        for tool in tools
    ]


Cloud = tuple[Vectors, Vectors]
"""A skill's tool vectors, and its centroid."""


def _clouds(into: Skill | None, joining: Sequence[int], space: EmbeddingSpace) -> tuple[Cloud | None, Cloud | None]:
    weights: dict[int, float] = dict(into.assignments.values_list("tool_id", "confidence")) if into else {}
    return _cloud(weights, space), _cloud({**weights, **dict.fromkeys(joining, ASKED_CONFIDENCE)}, space)


def _cloud(weights: dict[int, float], space: EmbeddingSpace) -> Cloud | None:
    found = vectors_of(list(weights), space)
    if not found:
        return None
    vectors = np.array(list(found.values()), dtype=np.float32)
    return vectors, centroid(vectors, np.array([max(weights[pk], 1e-3) for pk in found], dtype=np.float32))


def _spread(cloud: Cloud | None) -> float | None:
    return None if cloud is None else round(float(1 - (cloud[0] @ cloud[1]).mean()), 4)


def _shift(before: Cloud | None, after: Cloud | None) -> float | None:
    return None if before is None or after is None else round(float(1 - before[1] @ after[1]), 4)
