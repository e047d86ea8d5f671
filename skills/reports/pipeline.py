"""Where classification stands: the switch, the queue, the runs and what failed."""

from dataclasses import dataclass

from django.db.models import Count, QuerySet

from skills.models import ClassificationRun, ClassificationSwitch, ProposeRun, ToolClassification
from tools_catalog.models import Tool
from tools_catalog.selectors import tools_served


@dataclass(frozen=True, slots=True)
class Pipeline:
    switch: ClassificationSwitch
    current: ClassificationRun | None
    waiting: int
    """New, changed, and those that were put back."""
    working: int
    assigned: int
    suggested: int
    failed: int
    pinned: int
    proposal: ProposeRun | None

    @property
    def state(self) -> str:
        if self.switch.paused:
            return "paused"
        return "running" if self.current else "idle"

    @property
    def moving(self) -> bool:
        """Whether the page should look again soon."""
        return self.current is not None or self.working > 0 or (self.proposal is not None and self.proposal.open)


def pipeline() -> Pipeline:
    rows = ToolClassification.objects.order_by().values_list("status").annotate(count=Count("pk"))
    counts: dict[str, int] = dict(rows)
    return Pipeline(
        switch=ClassificationSwitch.objects.first() or ClassificationSwitch(),
        current=ClassificationRun.objects.filter(status=ClassificationRun.Status.RUNNING).first(),
        waiting=counts.get("pending", 0) + never_looked_at().count(),
        working=counts.get("claimed", 0),
        assigned=counts.get("assigned", 0),
        suggested=counts.get("suggested", 0),
        failed=counts.get("failed", 0),
        pinned=ToolClassification.objects.filter(pinned=True).count(),
        proposal=ProposeRun.objects.first(),
    )


def never_looked_at() -> QuerySet[Tool]:
    return tools_served().filter(classification=None)


def tools_failed(run_id: int | None = None) -> QuerySet[ToolClassification]:
    failed = ToolClassification.objects.filter(status=ToolClassification.Status.FAILED).select_related("tool__server")
    if run_id is not None:
        failed = failed.filter(run=run_id)
    return failed.order_by("-classified_at", "tool__name", "pk")
