"""Merge, rename and restore a skill, from its page."""

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from unfold.admin import ModelAdmin

from core.errors import ToolscriptError
from skills.admin.decisions import target_of
from skills.admin.desk import View, explained, logged, page, see_other, told
from skills.reports.merging import merge_preview
from skills.services.curation import skill_id_check
from skills.services.lineage import skill_merge, skill_rename
from skills.services.revival import skill_restore
from skills.tasks import request_skill_refresh
from skills.visible import skills_seen
from tenants.admin import require_own


def merge_for(admin: ModelAdmin) -> View:
    def merge(request: HttpRequest, pk: str) -> HttpResponse:
        """First what it would do, then, confirmed, the merge."""
        skill = get_object_or_404(skills_seen(), pk=pk)
        try:
            into = target_of(request.POST)
            for changed in (skill, into):
                require_own(changed.tenant_id, changed.name)
            if "confirmed" not in request.POST:
                preview = merge_preview(skill, into)
                context = {"skill": skill, "into": into, "preview": preview}
                return page(admin, request, "desk/merge_skill.html", f"Merge {skill.name}", **context)
            count = skill_merge(skill, into=into)
        except ToolscriptError as exc:
            messages.error(request, explained(exc))
            return _to(pk)
        logged(request, into, f"{skill.pk} was merged into it, with {count} tools.")
        transaction.on_commit(request_skill_refresh)
        messages.success(request, f"{skill.name} was merged into {into.name}. Its id keeps leading here.")
        return _to(into.pk)

    return merge


def rename(request: HttpRequest, pk: str) -> HttpResponse:
    skill = get_object_or_404(skills_seen(), pk=pk)
    new_id = request.POST.get("new_id", "").strip()
    with told(request):
        require_own(skill.tenant_id, skill.name)
        skill_id_check(new_id, skill.tenant_id)
        skill = skill_rename(skill, new_id=new_id)
        logged(request, skill, f"Its id was {pk} before.")
        transaction.on_commit(request_skill_refresh)
        messages.success(request, f"The id is {skill.pk} now; {pk} keeps leading here.")
    return _to(skill.pk if skills_seen().filter(pk=skill.pk).exists() else pk)


def restore(request: HttpRequest, pk: str) -> HttpResponse:
    skill = get_object_or_404(skills_seen(), pk=pk)
    with told(request):
        require_own(skill.tenant_id, skill.name)
        skill = skill_restore(skill)
        logged(request, skill, "Restored.")
        transaction.on_commit(request_skill_refresh)
        messages.success(request, f"{skill.name} is back.")
    return _to(pk)


def _to(pk: str) -> HttpResponse:
    return see_other(reverse("admin:skills_skill_change", args=[pk]))
