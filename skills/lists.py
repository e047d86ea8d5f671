"""Reads for the API and the desk, limited to what a caller may see: shared rows and those of its tenant."""

from django.db.models import Count, Q, QuerySet

from core.errors import NotFound
from skills.models import Assignment, Skill, Suggestion
from skills.selectors import skill_ids_resolved
from tenants.types import Caller
from tools_catalog.models import Tool


def _visible(tenant_id: int | None, path: str = "tenant") -> Q:
    shared = Q(**{f"{path}__isnull": True})
    return shared if tenant_id is None else shared | Q(**{path: tenant_id})


def skills_visible(tenant_id: int | None) -> QuerySet[Skill]:
    active = Q(assignments__tool__is_active=True, assignments__tool__server__is_active=True)
    theirs = active & _visible(tenant_id, "assignments__tool__server__tenant")
    counted = Count("assignments", filter=theirs)
    return Skill.objects.filter(_visible(tenant_id), deleted_at=None).annotate(tool_count=counted)


def skill_get(skill_id: str, tenant_id: int | None) -> Skill:
    """Also by an id that it had before."""
    [now] = skill_ids_resolved([skill_id])
    skill = skills_visible(tenant_id).filter(pk=now).first()
    if skill is None:
        raise NotFound(f"There is no skill with the id {skill_id[:64]!r}.")
    return skill


def skills_list(tenant_id: int | None, *, active: str, parent_domain: str, q: str) -> QuerySet[Skill]:
    skills = skills_visible(tenant_id)
    if active != "all":
        skills = skills.filter(is_active=active == "true")
    if parent_domain:
        skills = skills.filter(parent_domain=parent_domain)
    if q:
        skills = skills.filter(Q(pk__icontains=q) | Q(name__icontains=q) | Q(description__icontains=q))
    return skills.order_by("name", "id")


def skill_assignments(
    skill: Skill, tenant_id: int | None, *, source: str | None = None, primary: str = "all"
) -> QuerySet[Assignment]:
    rows = Assignment.objects.filter(_visible(tenant_id, "tool__server__tenant"), skill=skill)
    if source:
        rows = rows.filter(source=source)
    if primary != "all":
        rows = rows.filter(is_primary=primary == "true")
    return rows.select_related("tool__server").order_by("-confidence", "tool__name", "tool_id")


def suggestions_list(tenant_id: int | None, *, status: str, q: str) -> QuerySet[Suggestion]:
    rows = Suggestion.objects.filter(_visible(tenant_id))
    if status != "all":
        rows = rows.filter(status=status)
    if q:
        rows = rows.filter(Q(name__icontains=q) | Q(description__icontains=q))
    return rows.order_by("-asked", "name", "id")


def suggestion_get(suggestion_id: int, tenant_id: int | None) -> Suggestion:
    suggestion = Suggestion.objects.filter(_visible(tenant_id), pk=suggestion_id).first()
    if suggestion is None:
        raise NotFound(f"There is no suggestion with the id {suggestion_id}.")
    return suggestion


def tool_get(tool_id: int, tenant_id: int | None) -> Tool:
    tool = Tool.objects.select_related("server").filter(_visible(tenant_id, "server__tenant"), pk=tool_id).first()
    if tool is None:
        raise NotFound(f"There is no tool with the id {tool_id}.")
    return tool


def tool_ids_changeable(tool_ids: list[int], caller: Caller) -> list[int]:
    found = list(
        Tool.objects.filter(_visible(caller.tenant_id, "server__tenant"), pk__in=tool_ids).select_related("server")
    )
    if missing := set(tool_ids) - {tool.pk for tool in found}:
        raise NotFound(f"There is no tool with the id {min(missing)}.")
    for tool in found:
        caller.require_write(tool.server.tenant_id, f"The tool {tool.pk}")
    return sorted(tool.pk for tool in found)
