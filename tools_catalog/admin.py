import json
from typing import Any

from django.contrib import admin
from django.db import transaction
from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html

from tenants.admin import TenantRows
from tools_catalog.inspection import shown
from tools_catalog.models import EmbeddingSpace, Server
from tools_catalog.services.catalog import server_set_active
from tools_catalog.tasks import request_refresh


class PublishedAdmin(TenantRows):
    """What servers publish is seen here and switched on or off, but not edited: it is theirs."""

    actions: tuple[str, ...] = ("switch_on", "switch_off")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_switch_permission(self, request: HttpRequest) -> bool:
        opts = self.opts
        return bool(request.user.has_perm(f"{opts.app_label}.change_{opts.model_name}"))

    @admin.action(description="Switch on: searches find it", permissions=["switch"])
    def switch_on(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        self.switch(request, queryset, active=True)

    @admin.action(description="Switch off: searches no longer find it", permissions=["switch"])
    def switch_off(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        self.switch(request, queryset, active=False)

    def switch(self, request: HttpRequest, queryset: QuerySet[Any], *, active: bool) -> None:
        for item in queryset:
            self.set_active(item, active=active)
        transaction.on_commit(request_refresh)
        self.message_user(request, f"{len(queryset)} switched {'on' if active else 'off'}.")

    def set_active(self, item: Any, *, active: bool) -> None:
        raise NotImplementedError


@admin.register(Server)
class ServerAdmin(PublishedAdmin):
    list_display = ("name", "title", "tenant", "tool_count", "is_active", "updated_at")
    list_filter = ("is_active", "tenant")
    search_fields = ("name", "title", "description")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Server]:
        queryset: QuerySet[Server] = super().get_queryset(request)
        return queryset.annotate(active_tools=Count("tools", filter=Q(tools__is_active=True)))

    @admin.display(description="Active tools", ordering="active_tools")
    def tool_count(self, server: Server) -> int:
        return int(server.active_tools)  # type: ignore[attr-defined]

    def set_active(self, item: Server, *, active: bool) -> None:
        server_set_active(item, active=active)


@admin.register(EmbeddingSpace)
class EmbeddingSpaceAdmin(PublishedAdmin):
    def visible(self, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset  # nobody's: vectors of all tenants are made with the same model

    actions = ()
    list_display = ("model", "dim", "is_live", "created_at", "live_at")


def as_json(value: Any) -> str:
    text = "none" if value is None else shown(json.dumps(value, indent=2, ensure_ascii=False))
    return format_html("<pre class='whitespace-pre-wrap'>{}</pre>", text)


import tools_catalog.tools_admin  # noqa: E402, F401 - it needs what is above
