"""How near tools and skills are to each other, in the space that is searched now."""

from collections.abc import Sequence

import numpy as np
from django.db.models import F, Q
from pgvector.django import MaxInnerProduct

from embeddings.types import Vectors, unit
from skills.models import SkillVector, ToolClassification
from skills.types import NearSkill
from tools_catalog.models import EmbeddingSpace, ToolVector
from tools_catalog.services.spaces import embedder_for

NEAR_TOOL = 0.5
NEAR_TOOLS = 50
WEAK = 0.65
"""A tool whose best assignment is below this is looked at again when a near skill is made."""


def space_live() -> EmbeddingSpace | None:
    return EmbeddingSpace.objects.filter(is_live=True).first()


def vectors_of(tool_ids: Sequence[int], space: EmbeddingSpace) -> dict[int, Vectors]:
    rows = ToolVector.objects.filter(space=space, tool_id__in=tool_ids).values_list("tool_id", "vector")
    return {tool_id: np.asarray(vector, dtype=np.float32) for tool_id, vector in rows}


def centre_of(tool_ids: Sequence[int], space: EmbeddingSpace) -> Vectors | None:
    found = list(vectors_of(tool_ids, space).values())
    if not found:
        return None
    mean = np.mean(found, axis=0, keepdims=True)
    centre: Vectors = unit(mean)[0] if np.linalg.norm(mean) > 1e-6 else found[0]
    return centre


def text_vector(text: str, space: EmbeddingSpace) -> Vectors:
    vector: Vectors = embedder_for(space).embed_batch([text], kind="document")[0]
    return vector


def skills_near(vector: Vectors, space: EmbeddingSpace, limit: int = 3) -> list[NearSkill]:
    """By centroid: how alike two skills are as a whole, not whether a query would reach both."""
    rows = (
        SkillVector.objects.filter(space=space, is_active=True)
        .annotate(similarity=-MaxInnerProduct("vector", vector))
        .order_by("-similarity", "skill_id")[:limit]
    )
    return [NearSkill(row.skill_id, row.name, round(float(row.similarity), 4)) for row in rows]


def tools_near(vector: Vectors, space: EmbeddingSpace, *, but_not: Sequence[int] = ()) -> list[int]:
    """Tools that a new skill here may suit better: without a skill, or weakly in one, and filed by nobody."""
    waiting = Q(tool__classification__status=ToolClassification.Status.SUGGESTED)
    weak = Q(tool__assignments__is_primary=True, tool__assignments__confidence__lt=WEAK)
    rows = (
        ToolVector.objects.filter(waiting | weak, space=space, is_active=True, tool__classification__pinned=False)
        .exclude(tool_id__in=but_not)
        .annotate(similarity=-MaxInnerProduct("vector", vector))
        .filter(similarity__gte=NEAR_TOOL)
        .order_by(F("similarity").desc(), "tool_id")[:NEAR_TOOLS]
    )
    return [row.tool_id for row in rows]
