"""Seeding from what is there: clusters tools and files a named suggestion for each cluster."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from django.db.models import Q, QuerySet

from core.errors import NotReady
from embeddings.types import Vectors
from skills.models import Skill, Suggestion, ToolClassification
from skills.services.clusters import central, distinctive, groups, words_of
from skills.services.naming import cluster_name
from skills.services.similar import space_live, vectors_of
from skills.services.suggestions import suggestion_file, suggestion_key
from skills.types import ProposeReport, SkillIdea
from tenants.models import Tenant
from tools_catalog.models import Tool
from tools_catalog.selectors import tools_served

MOST_TOOLS = 4000
"""The clustering compares every pair; beyond this, the tools that have waited longest are taken."""


Progress = Callable[[int, int], None]


def skills_propose(*, everything: bool = False, progress: Progress = lambda done, of: None) -> ProposeReport:
    """Clusters the tools that are in no skill, or all that nobody filed by hand. Deterministic."""
    space = space_live()
    if space is None:
        raise NotReady("The search index is being built. Try again shortly.")
    tools = list(_candidates(everything)[:MOST_TOOLS])
    found = vectors_of([tool.pk for tool in tools], space)
    tools = [tool for tool in tools if tool.pk in found]
    if not tools:
        return ProposeReport(0, 0, 0)
    clusters = [cluster for part in _by_tenant(tools) for cluster in _clusters(part, found)]
    words = {tool.pk: words_of(tool.name, tool.description) for tool in tools}
    filed: list[int] = []
    for number, cluster in enumerate(clusters, 1):
        tenant = cluster[0].server.tenant
        seen = [words[tool.pk] for tool in tools if tool.server.tenant_id in {None, cluster[0].server.tenant_id}]
        terms = distinctive([words[tool.pk] for tool in cluster], seen)
        idea = cluster_name(cluster, terms) if terms else None
        if idea is not None and suggestion_key(idea.name) not in _known(tenant):
            filed += _file(idea, cluster, tenant)
        progress(number, len(clusters))
    return ProposeReport(len(tools), len(clusters), len(filed), tuple(filed))


def _by_tenant(tools: Sequence[Tool]) -> list[list[Tool]]:
    """The shared ones and those of each tenant apart: no name or text of one may come before another."""
    parts: dict[int, list[Tool]] = {}
    for tool in tools:
        parts.setdefault(tool.server.tenant_id or 0, []).append(tool)
    return [parts[tenant_id] for tenant_id in sorted(parts)]


def _clusters(tools: Sequence[Tool], found: Mapping[int, Vectors]) -> list[list[Tool]]:
    """Each with its most central tool first."""
    vectors = np.array([found[tool.pk] for tool in tools], dtype=np.float32)
    return [[tools[cluster[i]] for i in central(vectors[cluster])] for cluster in groups(vectors)]


def _known(tenant: Tenant | None) -> set[str]:
    skills = Skill.objects.filter(Q(tenant=None) | Q(tenant=tenant), is_active=True)
    return {suggestion_key(name) for name in skills.values_list("name", flat=True)}


def _candidates(everything: bool) -> QuerySet[Tool]:
    tools = tools_served().select_related("server__tenant").order_by("pk")
    tools = tools.exclude(classification__pinned=True)
    if not everything:
        tools = tools.filter(assignments=None)
    return tools


def _file(idea: SkillIdea, tools: Sequence[Tool], tenant: Tenant | None) -> list[int]:
    ids = [tool.pk for tool in tools]
    suggestion = suggestion_file(idea, ids, origin=Suggestion.Origin.PROPOSE, tenant=tenant)
    if suggestion.status != Suggestion.Status.PENDING:
        return []
    ToolClassification.objects.filter(
        tool_id__in=ids, status=ToolClassification.Status.ASSIGNED, tool__assignments=None
    ).update(status=ToolClassification.Status.SUGGESTED)
    return [suggestion.pk]
