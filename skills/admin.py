from typing import Any

from django.contrib import admin
from django.db import transaction
from django.db.models import Count, QuerySet
from django.http import HttpRequest
from unfold.admin import TabularInline

from skills.models import Assignment, Skill
from skills.services.curation import skill_delete, skill_save, skill_set_active
from tenants.admin import TenantRows
from tools_catalog.tasks import request_refresh


class AssignmentInline(TabularInline):
    model = Assignment
    fields = ("tool", "confidence", "is_primary", "source", "reasoning")
    readonly_fields = fields
    extra = 0
    can_delete = False
    per_page = 50
    show_change_link = False

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(Skill)
class SkillAdmin(TenantRows):
    list_display = ("name", "id", "parent_domain", "tool_count", "is_active", "updated_at")
    list_filter = ("is_active", "parent_domain", "tenant")
    search_fields = ("id", "name", "description")
    fields = ("id", "name", "description", "keywords", "examples", "parent_domain", "tenant", "is_active")
    inlines = (AssignmentInline,)
    actions = ("switch_on", "switch_off")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Skill]:
        queryset: QuerySet[Skill] = super().get_queryset(request)
        return queryset.filter(deleted_at=None).annotate(assigned=Count("assignments"))

    def get_readonly_fields(self, request: HttpRequest, obj: Skill | None = None) -> tuple[str, ...]:
        return ("id",) if obj else ()

    @admin.display(description="Tools", ordering="assigned")
    def tool_count(self, skill: Skill) -> int:
        return int(skill.assigned)  # type: ignore[attr-defined]

    def save_model(self, request: HttpRequest, obj: Skill, form: Any, change: bool) -> None:
        self.own(obj, change=change)
        skill_save(obj, new=not change)
        transaction.on_commit(request_refresh)

    def delete_model(self, request: HttpRequest, obj: Skill) -> None:
        skill_delete(obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Skill]) -> None:
        for skill in queryset:
            skill_delete(skill)

    @admin.action(description="Switch on", permissions=["change"])
    def switch_on(self, request: HttpRequest, queryset: QuerySet[Skill]) -> None:
        for skill in queryset:
            skill_set_active(skill, active=True)
        transaction.on_commit(request_refresh)

    @admin.action(description="Switch off: searches no longer use it", permissions=["change"])
    def switch_off(self, request: HttpRequest, queryset: QuerySet[Skill]) -> None:
        for skill in queryset:
            skill_set_active(skill, active=False)
        transaction.on_commit(request_refresh)
