from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from skills.models import Capability
from skills.services.capabilities import capability_save
from tenants.admin import TenantRows, is_of_a_tenant


@admin.register(Capability)
class CapabilityAdmin(TenantRows):
    tenant_path = "provider__tenant"
    list_display = ("provider", "need", "weight", "note")
    list_filter = ("provider", "need")
    search_fields = ("provider__id", "need__id", "note")
    list_select_related = ("provider", "need")
    fields = ("provider", "need", "weight", "note")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return bool(super().has_add_permission(request)) and not is_of_a_tenant()

    def save_model(self, request: HttpRequest, obj: Capability, form: Any, change: bool) -> None:
        capability_save(obj)
