from typing import Any

from django.contrib import admin
from django.db.models import QuerySet

from tools_catalog import admin_schedule, admin_servers, admin_syncs, admin_tools  # noqa: F401 - they register pages
from tools_catalog.admin_base import PublishedAdmin
from tools_catalog.models import EmbeddingSpace


@admin.register(EmbeddingSpace)
class EmbeddingSpaceAdmin(PublishedAdmin):
    def visible(self, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset  # nobody's: vectors of all tenants are made with the same model

    actions = ()
    list_display = ("model", "dim", "is_live", "created_at", "live_at")
