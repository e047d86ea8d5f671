from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from unfold.admin import ModelAdmin

from skills.models import Capability
from skills.services.capabilities import capability_save


@admin.register(Capability)
class CapabilityAdmin(ModelAdmin):
    list_display = ("provider", "need", "weight", "note")
    list_filter = ("provider", "need")
    search_fields = ("provider__id", "need__id", "note")
    list_select_related = ("provider", "need")
    fields = ("provider", "need", "weight", "note")

    def save_model(self, request: HttpRequest, obj: Capability, form: Any, change: bool) -> None:
        capability_save(obj)
