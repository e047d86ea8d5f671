"""Centroids of skills and vectors of tools in the live space, as matrices."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from embeddings.types import Vectors
from skills.models import SkillVector
from tools_catalog.models import EmbeddingSpace, ToolVector


@dataclass(frozen=True, slots=True)
class Rows:
    """Vectors with the ids they belong to, in one order."""

    ids: list[str]
    vectors: Vectors

    def vector(self, row_id: str) -> Vectors | None:
        return self.vectors[self.ids.index(row_id)] if row_id in self.ids else None


def space_live() -> EmbeddingSpace | None:
    return EmbeddingSpace.objects.filter(is_live=True).first()


def centroids(space: EmbeddingSpace | None) -> Rows:
    """Of every skill that is not deleted; one that is switched off keeps its vector."""
    if space is None:
        return Rows([], _matrix([], 0))
    rows = (
        SkillVector.objects.filter(space=space, skill__deleted_at=None)
        .order_by("skill_id")
        .values_list("skill_id", "vector")
    )
    return Rows([skill_id for skill_id, _ in rows], _matrix([vector for _, vector in rows], space.dim))


def tool_vectors(space: EmbeddingSpace | None, tool_ids: Sequence[int]) -> dict[int, Vectors]:
    if space is None:
        return {}
    rows = ToolVector.objects.filter(space=space, tool_id__in=tool_ids).values_list("tool_id", "vector")
    return {tool_id: np.asarray(vector, dtype=np.float32) for tool_id, vector in rows}


def _matrix(vectors: list[Vectors], dim: int) -> Vectors:
    return np.array(vectors, dtype=np.float32).reshape(len(vectors), dim)
