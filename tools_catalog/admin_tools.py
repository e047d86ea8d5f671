"""Tools, their definitions and their calls in the admin."""

from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.template.response import TemplateResponse
from django.urls import path, reverse
from django.utils.html import format_html
from unfold.admin import TabularInline
from unfold.decorators import display

from core.errors import ToolscriptError
from tenants.admin import TenantRows
from tools_catalog.admin_base import PublishedAdmin, as_json
from tools_catalog.comparison import FIELDS, compare
from tools_catalog.inspection import inspect_definition, shown
from tools_catalog.models import Review, Tool, ToolCall, ToolDefinition
from tools_catalog.selectors import definition_before, definition_now, tool_state
from tools_catalog.services.catalog import tool_set_active
from tools_catalog.services.review import tool_accept, tool_reject, tools_accept, tools_reject
from tools_catalog.tasks import request_refresh

COLOURS = {
    "served": "success",
    "held": "warning",
    "rejected": "danger",
    "missing": "info",
    "accepted": "success",
    "ok": "success",
    "tool_error": "warning",
    "refused": "info",
    "failed": "danger",
    "timed_out": "danger",
}


class StateFilter(admin.SimpleListFilter):
    title = "state"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        states = ("served", "held", "rejected", "missing", "switched off", "server off")
        return [(state, state.capitalize()) for state in states]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(state=self.value()) if self.value() else queryset


class SkillFilter(admin.SimpleListFilter):
    title = "skill"
    parameter_name = "skill"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        used = Tool.objects.filter(assignments__isnull=False).order_by("assignments__skill_id")
        skills = used.values_list("assignments__skill_id", flat=True).distinct()
        return [("-", "In no skill"), *((str(skill), str(skill)) for skill in skills)]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() == "-":
            return queryset.filter(assignments=None)
        return queryset.filter(assignments__skill_id=self.value()) if self.value() else queryset


class ReadOnlyInline(TabularInline):
    extra = 0
    can_delete = False

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class DefinitionInline(ReadOnlyInline):
    model = ToolDefinition
    verbose_name_plural = "Definitions it has or had, newest first"
    hide_title = True
    fields = ("published_at", "verdict", "decided_by", "decided_at", "text", "compared")
    readonly_fields = fields

    @display(description="Review", label=COLOURS)  # type: ignore[untyped-decorator]
    def verdict(self, definition: ToolDefinition) -> str:
        return str(definition.review)

    @admin.display(description="Description")
    def text(self, definition: ToolDefinition) -> str:
        return shown(definition.description[:160]) + ("…" if len(definition.description) > 160 else "")

    @admin.display(description="Compare")
    def compared(self, definition: ToolDefinition) -> str:
        address = reverse("admin:tools_catalog_tool_review", args=[definition.tool_id])
        return format_html(
            '<a class="text-primary-600" href="{}?with={}">with the present one</a>', address, definition.pk
        )


@admin.register(Tool)
class ToolAdmin(PublishedAdmin):
    tenant_path = "server__tenant"
    list_display = ("name", "server", "type", "skills", "shown_state", "updated_at")
    list_filter = (StateFilter, SkillFilter, "type", "server")
    search_fields = ("name", "description", "server__name")
    list_select_related = ("server",)
    actions = ("switch_on", "switch_off", "accept", "reject")
    inlines = (DefinitionInline,)
    change_form_before_template = "admin/tools_catalog/tool/notice.html"
    fields = (
        "name", "server", "type", "shown_state", "text", "uri", "skills", "requests",
        "input", "output", "hints", "calls_made", "missing_since", "created_at", "updated_at",
    )  # fmt: skip

    def get_queryset(self, request: HttpRequest) -> QuerySet[Tool]:
        queryset: QuerySet[Tool] = super().get_queryset(request)
        return queryset.annotate(state=tool_state()).prefetch_related("assignments")

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return self.fields

    @display(description="State", ordering="state", label=COLOURS)  # type: ignore[untyped-decorator]
    def shown_state(self, tool: Tool) -> str:
        return str(tool.state)  # type: ignore[attr-defined]

    @admin.display(description="Skills")
    def skills(self, tool: Tool) -> str:
        return ", ".join(a.skill_id for a in tool.assignments.all()) or "none"

    @admin.display(description="Description")
    def text(self, tool: Tool) -> str:
        return shown(tool.description)

    @admin.display(description="Input schema")
    def input(self, tool: Tool) -> str:
        return as_json(tool.input_schema)

    @admin.display(description="Output schema")
    def output(self, tool: Tool) -> str:
        return as_json(tool.output_schema)

    @admin.display(description="Annotations")
    def hints(self, tool: Tool) -> str:
        return as_json(tool.annotations)

    @admin.display(description="Calls")
    def calls_made(self, tool: Tool) -> str:
        address = reverse("admin:tools_catalog_toolcall_changelist")
        count = tool.calls.count()
        return format_html(
            '<a class="text-primary-600" href="{}?tool__id__exact={}">{} recorded</a>', address, tool.pk, count
        )

    def set_active(self, item: Tool, *, active: bool) -> None:
        tool_set_active(item, active=active)

    @admin.action(description="Accept: serve it as it is now", permissions=["switch"])
    def accept(self, request: HttpRequest, queryset: QuerySet[Tool]) -> None:
        count = tools_accept(queryset, by=request.user.get_username())
        transaction.on_commit(request_refresh)
        self.message_user(request, f"{count} accepted.")

    @admin.action(description="Reject: out of service until it changes again", permissions=["switch"])
    def reject(self, request: HttpRequest, queryset: QuerySet[Tool]) -> None:
        count = tools_reject(queryset, by=request.user.get_username())
        transaction.on_commit(request_refresh)
        self.message_user(request, f"{count} rejected. Each stays out of service until its definition changes again.")

    def get_urls(self) -> list[Any]:
        view = self.admin_site.admin_view(self.review_view)
        return [path("<int:tool_id>/review/", view, name="tools_catalog_tool_review"), *super().get_urls()]

    def review_view(self, request: HttpRequest, tool_id: int) -> HttpResponse:
        if not self.has_view_permission(request):
            raise PermissionDenied
        tool = get_object_or_404(self.get_queryset(request), pk=tool_id)
        if request.method == "POST":
            return self.decide(request, tool)
        now = definition_now(tool)
        chosen = request.GET.get("with", "")
        given = tool.definitions.filter(pk=int(chosen)).first() if chosen.isdecimal() else None
        before = given or definition_before(tool)
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": f"{tool.server.name} / {tool.name}",
            "tool": tool,
            "now": now,
            "before": before,
            "comparison": compare(fields_of(before), fields_of(now)),
            "findings": inspect_definition({"name": tool.name, **fields_of(now)}),
            "may_decide": self.has_switch_permission(request),
        }
        return TemplateResponse(request, "admin/tools_catalog/tool/review.html", context)

    def decide(self, request: HttpRequest, tool: Tool) -> HttpResponse:
        if not self.has_switch_permission(request):
            raise PermissionDenied
        who, seen = request.user.get_username(), request.POST.get("seen", "")
        accepted = request.POST.get("verdict") == Review.ACCEPTED
        try:
            (tool_accept if accepted else tool_reject)(tool, by=who, seen=seen)
        except ToolscriptError as exc:
            self.message_user(request, exc.message, messages.ERROR)
            return HttpResponseRedirect(request.path)
        transaction.on_commit(request_refresh)
        ending = (
            "accepted: it is served as it is now." if accepted else "rejected: out of service until it changes again."
        )
        self.message_user(request, f"{tool.name} is {ending}")
        return HttpResponseRedirect(reverse("admin:tools_catalog_tool_changelist") + "?state=held")


def fields_of(definition: ToolDefinition | None) -> dict[str, Any]:
    return {name: getattr(definition, name) for name in FIELDS} if definition is not None else {}


@admin.register(ToolCall)
class ToolCallAdmin(TenantRows):
    """A record is looked at, not edited."""

    list_display = ("started_at", "target", "caller", "shown_outcome", "error_code", "took", "tenant")
    list_filter = ("outcome", "error_code", "tenant", ("tool__server", admin.RelatedOnlyFieldListFilter))
    search_fields = ("target", "caller", "request_id")
    date_hierarchy = "started_at"
    list_select_related = ("tenant",)
    fields = (
        "started_at", "target", "tool", "caller", "tenant", "shown_outcome", "error_code", "error",
        "took", "request_id", "given",
    )  # fmt: skip

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return self.fields

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest | None = None) -> bool:
        return lookup == "tool__id__exact" or bool(super().lookup_allowed(lookup, value, request))

    @display(description="Outcome", ordering="outcome", label=COLOURS)  # type: ignore[untyped-decorator]
    def shown_outcome(self, call: ToolCall) -> tuple[str, str]:
        return str(call.outcome), call.get_outcome_display()

    @admin.display(description="Took", ordering="duration_ms")
    def took(self, call: ToolCall) -> str:
        return f"{call.duration_ms:,.0f} ms" if call.duration_ms is not None else "-"

    @admin.display(description="Arguments")
    def given(self, call: ToolCall) -> str:
        return as_json(call.arguments) if call.arguments is not None else "not kept (TOOLSCRIPT_CALL_LOG_ARGUMENTS)"
