"""Centroids of skills and vectors of tools in the live space, as matrices."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from embeddings.types import Vectors
from skills.models import SkillVector
from skills.services.similar import vectors_of
from tenants.visible import visible
from tools_catalog.models import EmbeddingSpace


@dataclass(frozen=True, slots=True)
class Rows:
    """Vectors with the ids they belong to, in one order."""

    ids: list[str]
    vectors: Vectors

    def vector(self, row_id: str) -> Vectors | None:
        return self.vectors[self.ids.index(row_id)] if row_id in self.ids else None


def centroids(space: EmbeddingSpace | None) -> Rows:
    """Of every skill that is not deleted; one that is switched off keeps its vector."""
    if space is None:
        return Rows([], _matrix([], 0))
    rows = (
        visible(SkillVector.objects.all(), "skill__tenant")
        .filter(space=space, skill__deleted_at=None)
        .order_by("skill_id")
        .values_list("skill_id", "vector")
    )
    return Rows([skill_id for skill_id, _ in rows], _matrix([vector for _, vector in rows], space.dim))


def tool_vectors(space: EmbeddingSpace | None, tool_ids: Sequence[int]) -> dict[int, Vectors]:
    return {} if space is None else vectors_of(tool_ids, space)


def _matrix(vectors: list[Vectors], dim: int) -> Vectors:
    return np.array(vectors, dtype=np.float32).reshape(len(vectors), dim)
