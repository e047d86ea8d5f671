"""Servers: how they are reached, and how their syncs went."""

from datetime import datetime
from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.timesince import timesince
from unfold.decorators import action, display
from unfold.widgets import UnfoldAdminTextareaWidget, UnfoldAdminTextInputWidget

from core.errors import ToolscriptError
from tenants.admin import TenantRows, is_of_a_tenant
from tools_catalog.admin_base import AcceptServers, counts_of, refusals_table
from tools_catalog.models import Server, SyncRun
from tools_catalog.services.catalog import server_set_active
from tools_catalog.services.configuration import configuration_apply
from tools_catalog.services.servers import server_check, server_define
from tools_catalog.tasks import request_refresh, request_sync
from tools_catalog.types import ServerConfig

CONNECTION = ("transport", "command", "args", "env", "cwd", "url", "headers")
CHOICE = ("include_tools", "exclude_tools", "timeout_seconds")
SYNC = ("state", "last_sync", "failed", "next_sync", "protocol", "announces", "refused_items", "recent_runs")
RUNS_SHOWN = 8
STATES = {
    "up to date": "success",
    "stale": "danger",
    "failing": "danger",
    "never synced": "warning",
    "imported": "info",
    "held": "warning",
}


class Lines(forms.Field):
    """A list of texts, one on each line."""

    widget = UnfoldAdminTextareaWidget(attrs={"rows": 4})

    def prepare_value(self, value: Any) -> Any:
        return "\n".join(value) if isinstance(value, list | tuple) else value

    def to_python(self, value: Any) -> list[str]:
        return [line.strip() for line in (value or "").splitlines() if line.strip()]


class ServerForm(forms.ModelForm):  # type: ignore[type-arg]
    args = Lines(required=False, help_text="One argument on each line.")
    include_tools = Lines(required=False, help_text="Only these tools: one name or pattern (read_*) on each line.")
    exclude_tools = Lines(required=False, help_text="Not these tools.")
    env = forms.JSONField(
        required=False,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 4}),
        help_text='Environment of the command. Secrets are references: {"API_KEY": "${API_KEY}"}',
    )
    headers = forms.JSONField(
        required=False,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 4}),
        help_text='Sent with every request. Secrets are references: {"Authorization": "Bearer ${TOKEN}"}',
    )
    request: HttpRequest

    class Meta:
        model = Server
        fields = ("name", "title", "description", "tenant", *CONNECTION, *CHOICE)
        widgets = {name: UnfoldAdminTextInputWidget() for name in ("command", "cwd", "url")} | {
            "description": UnfoldAdminTextareaWidget(attrs={"rows": 3})
        }

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        for name in {"env", "headers"} & cleaned.keys():
            cleaned[name] = cleaned[name] or {}
        if not self.errors:
            known = Server.objects.filter(pk=self.instance.pk).first()
            try:
                server_check(self.config(cleaned), may_run_commands=may_run_commands(self.request), server=known)
            except ToolscriptError as exc:
                fields = exc.details.get("fields")
                raise ValidationError(fields or {"transport": [exc.message]}) from None
        return cleaned

    def config(self, cleaned: dict[str, Any]) -> ServerConfig:
        """What cannot be edited by this user is as it was."""
        values = {name: cleaned.get(name, getattr(self.instance, name)) for name in (*CONNECTION, *CHOICE)}
        lists = {name: tuple(values[name]) for name in ("args", "include_tools", "exclude_tools")}
        return ServerConfig(name=cleaned.get("name") or self.instance.name, **{**values, **lists})


def may_run_commands(request: HttpRequest) -> bool:
    return bool(request.user.is_active and request.user.is_superuser)


@admin.register(Server)
class ServerAdmin(AcceptServers, TenantRows):
    form = ServerForm
    actions = ("sync_now", "switch_on", "switch_off", "accept_servers")
    actions_list = ("sync_all", "read_configuration")
    list_display = ("name", "state", "way", "source", "items", "last_sync", "problem", "tenant")
    list_filter = ("is_active", "source", "transport", "tenant")
    search_fields = ("name", "title", "description")
    always_readonly = ("is_active", "source", "config_path", *SYNC)

    class Media:
        js = ("follow_syncs.js",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Server]:
        served = Q(tools__is_active=True, tools__missing_since=None, tools__review="accepted")
        queryset: QuerySet[Server] = super().get_queryset(request)
        return queryset.annotate(known=Count("tools"), offered=Count("tools", filter=served))

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        form = super().get_form(request, obj, change, **kwargs)
        form.request = request
        return form

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        hidden = self.get_exclude(request, obj)
        named = tuple(name for name in ("name", "title", "description", "tenant") if name not in hidden)
        origin = ("is_active", "source", "config_path") if obj else ()
        sections = [(None, (*named, *origin)), ("Connection", CONNECTION), ("What is taken in", CHOICE)]
        if is_of_a_tenant() and obj is not None and obj.tenant_id is None:
            del sections[1]  # how a shared server is reached is for those who run it
        return [(title, {"fields": fields}) for title, fields in [*sections, *([("Sync", SYNC)] if obj else [])]]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        if obj is None:
            return self.always_readonly
        if obj.source == Server.Source.FILE:
            return (*self.always_readonly, "name", "tenant", *CONNECTION, *CHOICE)
        hidden = CONNECTION if obj.transport == "stdio" and not may_run_commands(request) else ()
        return (*self.always_readonly, "name", "tenant", *hidden)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Staff of a tenant switch and sync its servers; what this machine connects to, others decide."""
        return bool(super().has_add_permission(request)) and not is_of_a_tenant()

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        editable = obj is None or obj.source != Server.Source.FILE
        return super().has_change_permission(request, obj) and editable and not is_of_a_tenant()

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        deletable = obj is not None and obj.source != Server.Source.FILE
        return super().has_delete_permission(request, obj) and deletable and not is_of_a_tenant()

    def has_configure_permission(self, request: HttpRequest) -> bool:
        return self.has_switch_permission(request) and not is_of_a_tenant()

    def has_switch_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.has_perm("tools_catalog.change_server"))

    def save_model(self, request: HttpRequest, obj: Server, form: Any, change: bool) -> None:
        server_define(obj, form.config(form.cleaned_data), may_run_commands=may_run_commands(request))
        if obj.transport:
            transaction.on_commit(lambda: request_sync([obj.pk], SyncRun.Trigger.MANUAL))

    @admin.action(description="Sync now", permissions=["switch"])
    def sync_now(self, request: HttpRequest, queryset: QuerySet[Server]) -> None:
        ids = [server.pk for server in queryset if server.transport and server.is_active and not server.removed_at]
        request_sync(ids, SyncRun.Trigger.MANUAL)
        left = len(queryset) - len(ids)
        note = f" {left} cannot be synced: switched off, removed, or without a connection." if left else ""
        self.message_user(request, f"{len(ids)} will be synced now.{note}")

    @action(description="Sync all now", icon="sync", permissions=["switch"])  # type: ignore[untyped-decorator]
    def sync_all(self, request: HttpRequest) -> HttpResponse:
        self.sync_now(request, self.changeable(Server.objects.exclude(transport="")))
        return HttpResponseRedirect(reverse("admin:tools_catalog_syncrun_changelist"))

    @action(description="Read configuration files", permissions=["configure"])  # type: ignore[untyped-decorator]
    def read_configuration(self, request: HttpRequest) -> HttpResponse:
        try:
            report = configuration_apply(trigger=SyncRun.Trigger.MANUAL)
        except ToolscriptError as exc:
            self.message_user(request, f"Nothing was changed. {exc.message}", "error")
        else:
            parts = [f"{len(report.added)} new", f"{len(report.changed)} changed", f"{len(report.removed)} removed"]
            self.message_user(request, f"Read: {', '.join(parts)}.")
        return HttpResponseRedirect(reverse("admin:tools_catalog_configfile_changelist"))

    @admin.action(description="Switch on: its tools are served", permissions=["switch"])
    def switch_on(self, request: HttpRequest, queryset: QuerySet[Server]) -> None:
        self.switch(request, queryset, active=True)

    @admin.action(description="Switch off: its tools are no longer served", permissions=["switch"])
    def switch_off(self, request: HttpRequest, queryset: QuerySet[Server]) -> None:
        self.switch(request, queryset, active=False)

    def switch(self, request: HttpRequest, queryset: QuerySet[Server], *, active: bool) -> None:
        for server in queryset:
            server_set_active(server, active=active)
        transaction.on_commit(request_refresh)
        self.message_user(request, f"{len(queryset)} switched {'on' if active else 'off'}.")

    @display(description="State", label=STATES)  # type: ignore[untyped-decorator]
    def state(self, server: Server) -> str:
        return state_of(server)

    @admin.display(description="Items served", ordering="offered")
    def items(self, server: Server) -> str:
        known, offered = server.known, server.offered  # type: ignore[attr-defined]
        return str(offered) if known == offered else f"{offered} of {known}"

    @admin.display(description="Transport", ordering="transport")
    def way(self, server: Server) -> str:
        return server.transport or "none"

    @admin.display(description="Last sync", ordering="synced_at")
    def last_sync(self, server: Server) -> str:
        return ago(server.synced_at)

    @admin.display(description="Problem")
    def problem(self, server: Server) -> str:
        return server.last_error[:120] + ("…" if len(server.last_error) > 120 else "")

    @admin.display(description="Failure")
    def failed(self, server: Server) -> str:
        if not server.failures:
            return "none"
        return format_html(
            "<p>{} in a row, the last {}. Its tools are served as they were.</p><pre class='{}'>{}</pre>",
            server.failures,
            ago(server.failed_at),
            "whitespace-pre-wrap",
            server.last_error,
        )

    @admin.display(description="Next sync")
    def next_sync(self, server: Server) -> str:
        if server.due_at:
            return "as soon as a worker is free"
        if server.retry_at:
            return f"not before {server.retry_at:%Y-%m-%d %H:%M} UTC: it failed {server.failures} times"
        return "with the schedule"

    @admin.display(description="Kept out by the last sync")
    def refused_items(self, server: Server) -> str:
        run = server.runs.filter(state=SyncRun.State.DONE).first()
        return refusals_table(run) if run else "none"

    @admin.display(description="Recent syncs")
    def recent_runs(self, server: Server) -> str:
        rows = [
            (
                reverse("admin:tools_catalog_syncrun_change", args=[r.pk]),
                f"{r.started_at:%Y-%m-%d %H:%M:%S}",
                r.state,
                counts_of(r) or r.error[:100],
            )
            for r in server.runs.all()[:RUNS_SHOWN]
        ]
        return format_html_join("", "<div><a href='{}'>{}</a> {}: {}</div>", rows) or "none"


def ago(moment: datetime | None) -> str:
    if moment is None:
        return "never"
    since = timesince(moment, depth=1)
    return "just now" if since.startswith("0") else f"{since} ago"


def state_of(server: Server) -> str:
    if server.removed_at:
        return "removed"
    if not server.is_active:
        return "off"
    if server.accepted_at is None:
        return "held"
    if not server.transport:
        return "imported"
    if server.is_stale:
        return "stale" if server.synced_at else "failing"
    return "up to date" if server.synced_at else "never synced"
