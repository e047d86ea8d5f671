"""Syncs, and the files that servers come from."""

from django.contrib import admin
from unfold.decorators import display

from tenants.admin import ForTheWholeService, TenantRows
from tools_catalog.admin_base import ReadOnly, counts_of, refusals_table
from tools_catalog.models import ConfigFile, SyncRun

RUN_STATES = {"done": "success", "failed": "danger", "interrupted": "warning", "running": "info"}


@admin.register(SyncRun)
class SyncRunAdmin(ReadOnly, TenantRows):
    tenant_path = "server__tenant"
    list_display = ("started", "server_name", "progress", "trigger", "duration", "counts", "problem")
    list_filter = ("state", "trigger", "server")
    list_select_related = ("server",)
    search_fields = ("server__name", "error")
    fields = (
        "server",
        "trigger",
        "progress",
        "started_at",
        "finished_at",
        "duration",
        "counts",
        "refusal_list",
        "error",
    )

    class Media:
        js = ("follow_syncs.js",)

    @admin.display(description="Started", ordering="id")
    def started(self, run: SyncRun) -> str:
        return f"{run.started_at:%Y-%m-%d %H:%M:%S}"

    @admin.display(description="Server", ordering="server__name")
    def server_name(self, run: SyncRun) -> str:
        return run.server.name

    @display(description="State", label=RUN_STATES)  # type: ignore[untyped-decorator]
    def progress(self, run: SyncRun) -> tuple[str, str]:
        return run.state, f"{run.state}: {run.stage}" if run.stage else run.state

    @admin.display(description="Duration")
    def duration(self, run: SyncRun) -> str:
        return f"{(run.finished_at - run.started_at).total_seconds():.1f} s" if run.finished_at else "…"

    @admin.display(description="Items")
    def counts(self, run: SyncRun) -> str:
        return counts_of(run)

    @admin.display(description="Problem")
    def problem(self, run: SyncRun) -> str:
        return run.error[:100]

    @admin.display(description="Kept out")
    def refusal_list(self, run: SyncRun) -> str:
        return refusals_table(run)


@admin.register(ConfigFile)
class ConfigFileAdmin(ReadOnly, ForTheWholeService):
    list_display = ("path", "exists", "servers", "read_at", "problem")

    @admin.display(description="Problem: nothing was taken over")
    def problem(self, file: ConfigFile) -> str:
        return file.error
