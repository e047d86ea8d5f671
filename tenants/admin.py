from django.contrib import admin
from unfold.admin import ModelAdmin

from tenants.models import Tenant


@admin.register(Tenant)
class TenantAdmin(ModelAdmin):
    list_display = ("name", "slug", "plan", "is_active", "created_at")
    list_filter = ("is_active", "plan")
    search_fields = ("name", "slug")
    prepopulated_fields = {"slug": ("name",)}
