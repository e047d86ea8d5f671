"""The suggestions queue as a curator sees it: what asked, what is near, and what each decision would do."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from django.db.models import Q, QuerySet

from embeddings.types import Vectors, unit
from skills.models import Skill, Suggestion, SuggestionAsker
from skills.reports.filing import Rival, rivals
from skills.reports.vectors import centroids, tool_vectors
from skills.services.preview import suggestion_preview
from skills.services.similar import space_live
from skills.services.suggestions import suggestion_spec
from skills.types import Preview, SkillSpec
from skills.visible import skills_seen, suggestions_seen
from tenants.visible import visible
from tools_catalog.models import Tool

EXAMPLES = 3
SHOWN_TOOLS = 12
PICKED = 6
SORTS = {"asked": ("-asked", "name", "id"), "new": ("-created_at", "-id"), "name": ("name", "id")}


@dataclass(frozen=True, slots=True)
class QueueRow:
    suggestion: Suggestion
    nearest: list[Rival]
    examples: list[Tool]

    @property
    def more(self) -> int:
        return max(self.suggestion.asked - len(self.examples), 0)


@dataclass(frozen=True, slots=True)
class Review:
    """One suggestion in full."""

    suggestion: Suggestion
    nearest: list[Rival]
    askers: list[SuggestionAsker]
    spec: SkillSpec
    preview: Preview

    @property
    def more(self) -> int:
        return max(self.suggestion.asked - len(self.askers), 0)


def suggestions_queue(status: str, text: str = "", sort: str = "asked") -> QuerySet[Suggestion]:
    found = suggestions_seen().filter(status=status).select_related("skill", "tenant")
    if text:
        found = found.filter(Q(name__icontains=text) | Q(description__icontains=text) | Q(keywords__icontains=text))
    if status != Suggestion.Status.PENDING:
        return found.order_by("-decided_at", "-id")
    return found.order_by(*SORTS.get(sort, SORTS["asked"]))


def counts_by_status() -> dict[str, int]:
    rows = suggestions_seen().order_by().values_list("status", flat=True)
    found = list(rows)
    return {status: found.count(status) for status in Suggestion.Status.values}


def queue_rows(suggestions: Sequence[Suggestion], near: int = 2) -> list[QueueRow]:
    """For a page of the queue: three statements, however many suggestions there are."""
    askers: dict[int, list[SuggestionAsker]] = {s.pk: [] for s in suggestions}
    rows = (
        visible(SuggestionAsker.objects.all(), "tool__server__tenant")
        .filter(suggestion__in=suggestions)
        .select_related("tool__server")
        .order_by("pk")
    )
    for row in rows:
        askers[row.suggestion_id].append(row)
    space = space_live()
    vectors = tool_vectors(space, [row.tool_id for rows in askers.values() for row in rows])
    centres, skills = centroids(space), list(skills_seen().filter(is_active=True))
    found = []
    for suggestion in suggestions:
        mine = [vectors[row.tool_id] for row in askers[suggestion.pk] if row.tool_id in vectors]
        nearest: list[Rival] = []
        if mine:
            nearest = rivals(_mean(mine), centres, skills, without=[], tenant_id=suggestion.tenant_id, limit=near)
        found.append(QueueRow(suggestion, nearest, [row.tool for row in askers[suggestion.pk][:EXAMPLES]]))
    return found


def review(suggestion: Suggestion, into: Skill | None = None) -> Review:
    [row] = queue_rows([suggestion], near=PICKED)
    askers = suggestion.askers.select_related("tool__server").order_by("pk")[:SHOWN_TOOLS]
    preview = suggestion_preview(suggestion, into=into)
    return Review(suggestion, row.nearest, list(askers), suggestion_spec(suggestion), preview)


def skills_for(suggestion: Suggestion) -> QuerySet[Skill]:
    """What it can be merged into."""
    return skills_seen().filter(Q(tenant=None) | Q(tenant=suggestion.tenant_id), is_active=True).order_by("name")


def _mean(vectors: list[Vectors]) -> Vectors:
    mean = np.mean(vectors, axis=0, keepdims=True).astype(np.float32)
    centre: Vectors = unit(mean)[0] if np.linalg.norm(mean) > 1e-6 else vectors[0]
    return centre
