"""Seeding from what is there: clusters tools and files a named suggestion for each cluster."""

from collections.abc import Sequence

import numpy as np

from core.errors import NotReady
from skills.models import Skill, Suggestion, ToolClassification
from skills.services.clusters import central, distinctive, groups, words_of
from skills.services.naming import cluster_name
from skills.services.similar import space_live, vectors_of
from skills.services.suggestions import suggestion_file, suggestion_key
from skills.types import ProposeReport, SkillIdea
from tools_catalog.models import Tool
from tools_catalog.selectors import tools_served

MOST_TOOLS = 4000
"""The clustering compares every pair; beyond this, the tools that have waited longest are taken."""


def skills_propose(*, everything: bool = False) -> ProposeReport:
    """Clusters the tools that are in no skill, or all that nobody filed by hand. Deterministic."""
    space = space_live()
    if space is None:
        raise NotReady("The search index is being built. Try again shortly.")
    tools = list(_candidates(everything)[:MOST_TOOLS])
    found = vectors_of([tool.pk for tool in tools], space)
    tools = [tool for tool in tools if tool.pk in found]
    if not tools:
        return ProposeReport(0, 0, 0)
    vectors = np.array([found[tool.pk] for tool in tools], dtype=np.float32)
    words = [words_of(tool.name, tool.description) for tool in tools]
    clusters = groups(vectors)
    known = {suggestion_key(name) for name in Skill.objects.filter(is_active=True).values_list("name", flat=True)}
    filed: list[int] = []
    for cluster in clusters:
        order = [cluster[i] for i in central(vectors[cluster])]
        terms = distinctive([words[i] for i in cluster], words)
        if not terms:
            continue
        idea = cluster_name([tools[i] for i in order], terms)
        if suggestion_key(idea.name) in known:
            continue
        filed += _file(idea, [tools[i] for i in cluster])
    return ProposeReport(len(tools), len(clusters), len(filed), tuple(filed))


def _candidates(everything: bool) -> "Sequence[Tool]":
    tools = tools_served().select_related("server").order_by("pk")
    tools = tools.exclude(classification__pinned=True)
    if not everything:
        tools = tools.filter(assignments=None)
    return tools  # type: ignore[return-value]


def _file(idea: SkillIdea, tools: Sequence[Tool]) -> list[int]:
    """One suggestion a tenant: what is proposed from one tenant's tools is shown to that tenant alone."""
    made = []
    for tenant in {tool.server.tenant for tool in tools}:
        ids = [tool.pk for tool in tools if tool.server.tenant == tenant]
        suggestion = suggestion_file(idea, ids, origin=Suggestion.Origin.PROPOSE, tenant=tenant)
        if suggestion.status == Suggestion.Status.PENDING:
            made.append(suggestion.pk)
            ToolClassification.objects.filter(
                tool_id__in=ids, status=ToolClassification.Status.ASSIGNED, tool__assignments=None
            ).update(status=ToolClassification.Status.SUGGESTED)
    return made
