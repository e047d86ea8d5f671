from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.postgres.forms import SimpleArrayField
from django.core.paginator import Paginator
from django.db import transaction
from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path
from unfold.decorators import display
from unfold.widgets import UnfoldAdminTextareaWidget

from core import scope
from core.errors import ValidationFailed
from skills.admin import coverage, lineage, moves
from skills.admin.desk import changing, told, viewing
from skills.models import Skill
from skills.reports.filing import WEAK, skill_filing
from skills.reports.health import skill_health
from skills.services.curation import skill_delete, skill_id_check, skill_save, skill_set_active
from skills.tasks import request_skill_refresh
from skills.visible import skills_seen
from tenants.admin import TenantRows

TOOLS_PER_PAGE = 25
STATES = {"active": "Active", "off": "Switched off", "deleted": "Deleted"}
TONES = {"Active": "success", "Switched off": "warning", "Deleted": "danger"}


class StateFilter(admin.SimpleListFilter):
    title = "state"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return list(STATES.items())

    def queryset(self, request: HttpRequest, queryset: QuerySet[Skill]) -> QuerySet[Skill]:
        """Deleted ones are seen only where they are asked for."""
        if self.value() == "deleted":
            return queryset.exclude(deleted_at=None)
        alive = queryset.filter(deleted_at=None)
        return alive.filter(is_active=self.value() == "active") if self.value() in STATES else alive


class SkillForm(forms.ModelForm):  # type: ignore[type-arg]  # Django itself takes no parameter here
    """Keywords and examples one a line: examples are sentences, and sentences have commas."""

    keywords = SimpleArrayField(
        forms.CharField(max_length=100, required=False),
        delimiter="\n",
        max_length=20,
        required=False,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 6}),
        help_text="One a line, 20 at most.",
    )
    examples = SimpleArrayField(
        forms.CharField(max_length=255, required=False),
        delimiter="\n",
        max_length=10,
        required=False,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 6}),
        help_text="Requests that belong here, one a line, 10 at most.",
    )

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        if self.instance._state.adding and "id" in cleaned:
            owner = cleaned.get("tenant")
            try:
                skill_id_check(cleaned["id"], owner.pk if owner else scope.current().tenant_id)
            except ValidationFailed as exc:
                self.add_error("id", exc.details["fields"]["id"])
        return cleaned

    def clean_keywords(self) -> list[str]:
        return [word.strip() for word in self.cleaned_data["keywords"] if word.strip()]

    def clean_examples(self) -> list[str]:
        return [line.strip() for line in self.cleaned_data["examples"] if line.strip()]


def state_of(skill: Skill) -> str:
    if skill.deleted_at is not None:
        return "Deleted"
    return "Active" if skill.is_active else "Switched off"


@admin.register(Skill)
class SkillAdmin(TenantRows):
    form = SkillForm
    list_display = ("name", "id", "parent_domain", "tool_count", "weak_count", "state", "updated_at")
    list_filter = (StateFilter, "parent_domain", "tenant")
    search_fields = ("id", "name", "description")
    fields = ("id", "name", "description", "keywords", "examples", "parent_domain", "tenant", "is_active")
    actions = ("switch_on", "switch_off")
    change_form_template = "desk/skill.html"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Skill]:
        queryset: QuerySet[Skill] = super().get_queryset(request)
        weak = Count("assignments", filter=Q(assignments__confidence__lt=WEAK))
        return queryset.annotate(assigned=Count("assignments"), weak=weak)

    def get_urls(self) -> list[URLPattern]:
        ours = [
            path("coverage/", viewing(self, coverage.page_for(self)), name="skills_skill_coverage"),
            path("map/", viewing(self, coverage.map_for(self)), name="skills_skill_map"),
            path("map.json", viewing(self, coverage.map_data), name="skills_skill_map_data"),
            path("move/", changing(self, moves.move), name="skills_skill_move"),
            path("undo/", changing(self, moves.undo), name="skills_skill_undo"),
            path("<str:pk>/merge/", changing(self, lineage.merge_for(self)), name="skills_skill_merge"),
            path("<str:pk>/rename/", changing(self, lineage.rename), name="skills_skill_rename"),
            path("<str:pk>/restore/", changing(self, lineage.restore), name="skills_skill_restore"),
        ]
        urls: list[URLPattern] = super().get_urls()
        return ours + urls

    def get_readonly_fields(self, request: HttpRequest, obj: Skill | None = None) -> tuple[str, ...]:
        if obj is None:
            return ()
        return ("id",) if obj.deleted_at is None else ("id", "is_active")  # that one is restored first

    @admin.display(description="Tools", ordering="assigned")
    def tool_count(self, skill: Skill) -> int:
        return int(skill.assigned)  # type: ignore[attr-defined]

    @admin.display(description="Weak", ordering="weak")
    def weak_count(self, skill: Skill) -> int:
        return int(skill.weak)  # type: ignore[attr-defined]

    @display(description="State", label=TONES)  # type: ignore[untyped-decorator]
    def state(self, skill: Skill) -> str:
        return state_of(skill)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        skill = skills_seen().filter(pk=object_id).first()
        context = self.desk_context(request, skill) if skill and request.method == "GET" else {}
        answer: HttpResponse = super().change_view(request, object_id, form_url, {**context, **(extra_context or {})})
        return answer

    def desk_context(self, request: HttpRequest, skill: Skill) -> dict[str, Any]:
        filed = skill_filing(skill)
        return {
            "health": skill_health(skill),
            "attention": sum(f.weak or f.contested for f in filed),
            "page_obj": Paginator(filed, TOOLS_PER_PAGE).get_page(request.GET.get("page")),
            "all_skills": skills_seen().filter(is_active=True).exclude(pk=skill.pk),
            "state": state_of(skill),
            "state_tone": {"Active": "good", "Switched off": "warn", "Deleted": "bad"}[state_of(skill)],
            "aliases": skill.aliases.all(),
            "now_leads_to": skills_seen().filter(aliases__old_id=skill.pk).first(),
            "may_change": self.has_change_permission(request, skill),
            "can_change": self.has_change_permission(request, skill) and skill.deleted_at is None,
        }

    def save_model(self, request: HttpRequest, obj: Skill, form: Any, change: bool) -> None:
        self.own(obj, change=change)
        skill_save(obj, new=not change)
        transaction.on_commit(request_skill_refresh)

    def delete_model(self, request: HttpRequest, obj: Skill) -> None:
        skill_delete(obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Skill]) -> None:
        for skill in queryset:
            skill_delete(skill)

    @admin.action(description="Switch on", permissions=["change"])
    def switch_on(self, request: HttpRequest, queryset: QuerySet[Skill]) -> None:
        for skill in queryset:
            with told(request):
                skill_set_active(skill, active=True)
        transaction.on_commit(request_skill_refresh)

    @admin.action(description="Switch off: searches no longer use it", permissions=["change"])
    def switch_off(self, request: HttpRequest, queryset: QuerySet[Skill]) -> None:
        for skill in queryset:
            skill_set_active(skill, active=False)
        transaction.on_commit(request_skill_refresh)
