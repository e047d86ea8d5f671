"""What several pages of the admin share."""

import json
from typing import Any

from django.contrib import admin
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html, format_html_join

from tenants.admin import TenantRows
from tools_catalog.inspection import shown
from tools_catalog.models import Server, SyncRun
from tools_catalog.services.review import server_accept
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


class AcceptServers:
    """For the page of servers: those that are held as a whole wait for this."""

    message_user: Any

    @admin.action(description="Accept: serve what it publishes now", permissions=["switch"])
    def accept_servers(self, request: HttpRequest, queryset: QuerySet[Server]) -> None:
        released = sum(server_accept(server, by=request.user.get_username()) for server in queryset)
        transaction.on_commit(request_refresh)
        self.message_user(request, f"Accepted. {released} items are served from now on.")


def as_json(value: Any) -> str:
    text = "none" if value is None else shown(json.dumps(value, indent=2, ensure_ascii=False))
    return format_html("<pre class='whitespace-pre-wrap'>{}</pre>", text)


def counts_of(run: SyncRun) -> str:
    names = ("seen", "created", "changed", "unchanged", "missing", "returned", "refused")
    return ", ".join(f"{getattr(run, name)} {name}" for name in names if getattr(run, name))


def refusals_table(run: SyncRun) -> str:
    rows = [(r["type"], r["name"] or "(no name)", r["reason"]) for r in run.refusals]
    return format_html_join("", "<div>{} <b>{}</b>: {}</div>", rows) or "none"


class ReadOnly:
    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False
