"""What classifiers are shown, read from the catalogue in a few statements a batch."""

from collections.abc import Sequence

import numpy as np

from embeddings.types import Vectors
from skills.classifiers.types import SkillCard, ToolCard
from skills.models import Skill
from skills.selectors import skill_matrix
from skills.services.similar import space_live
from tools_catalog.models import EmbeddingSpace, Tool, ToolVector
from tools_catalog.text import parameter_names
from tools_catalog.types import Space

MOST_SIBLINGS = 400


def tool_cards(tools: Sequence[Tool], *, vectors: bool) -> dict[int, ToolCard]:
    space = space_live() if vectors else None
    own = _vectors([tool.pk for tool in tools], space) if space else {}
    servers = {tool.server_id for tool in tools}
    siblings = {pk: _siblings(pk, space) for pk in servers} if space else {}
    return {
        tool.pk: ToolCard(
            id=tool.pk,
            server=tool.server.name,
            type=tool.type,
            name=tool.name,
            description=tool.description,
            parameters=tuple(parameter_names(tool.input_schema)),
            vector=own.get(tool.pk),
            siblings=siblings.get(tool.server_id),
        )
        for tool in tools
    }


def skill_cards(tenant_id: int | None, *, vectors: bool) -> list[SkillCard]:
    """The active skills that a tool of this tenant may be filed under: the shared ones and its own."""
    skills = [
        skill for skill in Skill.objects.filter(is_active=True).order_by("pk") if skill.tenant_id in {None, tenant_id}
    ]
    space = space_live() if vectors else None
    prototypes = _prototypes(space, tenant_id) if space else {}
    return [
        SkillCard(
            id=skill.pk,
            name=skill.name,
            description=skill.description,
            keywords=tuple(skill.keywords),
            examples=tuple(skill.examples),
            prototypes=prototypes.get(skill.pk),
        )
        for skill in skills
    ]


def _vectors(tool_ids: Sequence[int], space: EmbeddingSpace) -> dict[int, Vectors]:
    rows = ToolVector.objects.filter(space=space, tool_id__in=tool_ids).values_list("tool_id", "vector")
    return {tool_id: np.asarray(vector, dtype=np.float32) for tool_id, vector in rows}


def _siblings(server_id: int, space: EmbeddingSpace) -> Vectors:
    rows = ToolVector.objects.filter(space=space, server_id=server_id, is_active=True).order_by("tool_id")
    vectors = [vector for (vector,) in rows.values_list("vector")[:MOST_SIBLINGS]]
    return np.array(vectors, dtype=np.float32).reshape(len(vectors), space.dim)


def _prototypes(space: EmbeddingSpace, tenant_id: int | None) -> dict[str, Vectors]:
    """Of skills that have tools: the vector of one without is its own text, which is compared anyway."""
    matrix = skill_matrix(Space(space.pk, space.model, space.fingerprint, space.dim), tenant_id)
    blocks = np.split(matrix.vectors, matrix.starts[1:]) if matrix.skills else []
    return {skill[0]: block for skill, block in zip(matrix.skills, blocks, strict=True) if skill[3] > 0}
