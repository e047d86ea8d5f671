"""Proves that the index says what the truth says, and mends it where it does not.

Columns are compared by the very statements that keep them in line: run inside a transaction that is rolled back, they
tell how many rows they would have changed. Vectors are computed again from what they are made of.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from django.db import transaction
from django.db.models import Count, Q

from core.errors import NotReady
from embeddings.types import Vectors
from skills.models import Assignment, Skill, SkillVector
from skills.services import skill_index
from skills.services.prototypes import centroid, prototypes
from skills.services.similar import space_live
from tools_catalog.models import EmbeddingSpace, Tool, ToolEmbedding, ToolVector
from tools_catalog.services import tool_index
from tools_catalog.services.reindex import index_refresh

TOLERANCE = 1e-4


@dataclass(frozen=True, slots=True)
class Finding:
    what: str
    count: int


def index_check() -> list[Finding]:
    """One finding a kind of difference, with how many there are. All counts 0: index and truth agree."""
    space = space_live()
    if space is None:
        raise NotReady("There is no search index yet. Run `manage.py reembed`.")
    return [
        Finding("tools whose vector is missing or stale", tool_index.stale(space)),
        Finding("tool vectors that differ from their parts", len(_blends_wrong(space))),
        Finding("tool vectors with other columns than their tool", _dry(lambda: tool_index.payload_sync(None))),
        Finding("tool vectors with other skill ids than assigned", _dry(lambda: skill_index.payload_sync(None))),
        Finding("skills whose vectors are missing or stale", skill_index.stale(space)),
        Finding("skill vectors that differ from their tools", len(_centroids_wrong(space))),
        Finding("tools without one primary skill, or in more than three", len(_badly_filed())),
    ]


def index_repair() -> None:
    """Builds again what differs. Running searches see the old rows until each new one is written."""
    space = space_live()
    if space is not None:
        wrong = _blends_wrong(space)
        ToolEmbedding.objects.filter(space=space, tool_id__in=wrong).delete()
        ToolVector.objects.filter(space=space, tool_id__in=wrong).update(key="")
        SkillVector.objects.filter(space=space, skill_id__in=_centroids_wrong(space)).update(key="")
    for tool_id in _badly_filed():
        _file_again(tool_id)
    if index_refresh() is None:
        raise NotReady("Another process is building the index. Try again when it is done.")


class _Undo(Exception):
    pass


def _dry(change: Callable[[], int]) -> int:
    count = 0
    try:
        with transaction.atomic():
            count = change()
            raise _Undo
    except _Undo:
        return count


def _blends_wrong(space: EmbeddingSpace) -> list[int]:
    """Tools whose searchable vector is not what its parts blend to."""
    parts: dict[int, dict[str, tuple[str, Vectors]]] = {}
    for row in ToolEmbedding.objects.filter(space=space).iterator():
        parts.setdefault(row.tool_id, {})[row.part] = (row.key, np.asarray(row.vector, dtype=np.float32))
    rows = ToolVector.objects.filter(space=space).values_list("tool_id", "vector").iterator()
    return [
        tool_id
        for tool_id, vector in rows
        if "text" not in parts.get(tool_id, {}) or not _same(tool_index.blend(parts[tool_id]), vector)
    ]


def _centroids_wrong(space: EmbeddingSpace) -> list[str]:
    """Skills whose centroid, prototypes or number of tools is not what their tools give, stale ones aside."""
    stale = set(skill_index.stale_keys(space))
    rows = SkillVector.objects.filter(space=space).exclude(skill_id__in=stale).prefetch_related("prototypes")
    return [row.skill_id for row in rows if not _as_computed(row, space)]


def _as_computed(row: SkillVector, space: EmbeddingSpace) -> bool:
    skill = Skill.objects.get(pk=row.skill_id)
    if (row.name, row.description, row.is_active) != (skill.name, skill.description, skill.is_active):
        return False
    vectors, weights = skill_index.tool_vectors(row.skill_id, space)
    kept = [np.asarray(p.vector) for p in sorted(row.prototypes.all(), key=lambda p: p.ordinal)]
    if row.tool_count != len(vectors):
        return False
    if not len(vectors):
        return not kept
    wanted = prototypes(vectors)
    return len(kept) == len(wanted) and _same(np.array(kept), wanted) and _same(row.vector, centroid(vectors, weights))


def _same(left: object, right: object) -> bool:
    return bool(np.allclose(np.asarray(left), np.asarray(right), atol=TOLERANCE))


def _badly_filed() -> list[int]:
    primary = Count("assignments", filter=Q(assignments__is_primary=True))
    tools = Tool.objects.annotate(filed=Count("assignments"), primary=primary).filter(filed__gt=0)
    return list(tools.filter(~Q(primary=1) | Q(filed__gt=3)).order_by("pk").values_list("pk", flat=True))


@transaction.atomic
def _file_again(tool_id: int) -> None:
    """The three most confident stay, and the first of them is primary."""
    rows = list(Assignment.objects.select_for_update().filter(tool_id=tool_id).order_by("-confidence", "skill_id"))
    Assignment.objects.filter(pk__in=[row.pk for row in rows[3:]]).delete()
    Assignment.objects.filter(tool_id=tool_id).update(is_primary=False)
    Assignment.objects.filter(pk=rows[0].pk).update(is_primary=True)
