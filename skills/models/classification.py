from django.db import models
from django.db.models import Q

from tools_catalog.models import Tool


class ClassificationSwitch(models.Model):
    """One row: whether classification is paused, and whether a refresh of the skills' vectors is on its way."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    paused = models.BooleanField(default=False)
    changed_by = models.CharField(max_length=255, blank=True)
    changed_at = models.DateTimeField(null=True, blank=True)
    refresh_asked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(id=1), name="classification_switch_single")]

    def __str__(self) -> str:
        return "paused" if self.paused else "running"


class ClassificationRun(models.Model):
    """One stretch of classification work, by however many workers: from the first tool claimed until none is left."""

    class Status(models.TextChoices):
        RUNNING = "running"
        DONE = "done"
        PAUSED = "paused"

    classifier = models.CharField(max_length=16)
    model = models.CharField(max_length=255, blank=True)
    status = models.CharField(max_length=16, choices=Status, default=Status.RUNNING)
    started_by = models.CharField(max_length=255, blank=True)
    total = models.PositiveIntegerField(default=0)
    assigned = models.PositiveIntegerField(default=0)
    suggested = models.PositiveIntegerField(default=0)
    failed = models.PositiveIntegerField(default=0)
    skipped = models.PositiveIntegerField(default=0)
    """Someone decided, or the tool or its skills changed, while it was being classified."""
    prompt_tokens = models.PositiveBigIntegerField(default=0)
    completion_tokens = models.PositiveBigIntegerField(default=0)
    cost = models.DecimalField(max_digits=12, decimal_places=6, default=0)
    started_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-started_at", "-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["status"], condition=Q(status="running"), name="classification_run_one_running"
            ),
            models.CheckConstraint(condition=Q(status__in=["running", "done", "paused"]), name="run_status_known"),
        ]

    def __str__(self) -> str:
        return f"{self.classifier}, {self.status}"

    @property
    def done(self) -> int:
        return self.assigned + self.suggested + self.failed + self.skipped


class ToolClassification(models.Model):
    """Where a tool stands in the pipeline. A tool without a row has never been looked at."""

    class Status(models.TextChoices):
        PENDING = "pending"
        CLAIMED = "claimed"
        ASSIGNED = "assigned"
        SUGGESTED = "suggested"
        FAILED = "failed"

    tool = models.OneToOneField(Tool, models.CASCADE, primary_key=True, related_name="classification")
    status = models.CharField(max_length=16, choices=Status, default=Status.PENDING)
    pinned = models.BooleanField(default=False)
    """A person filed it: no classifier touches it unless forced."""
    key = models.CharField(max_length=64, blank=True)
    """The tool's content hash when it was last classified: another one means that it changed."""
    claim = models.UUIDField(null=True, blank=True)
    claimed_until = models.DateTimeField(null=True, blank=True)
    attempts = models.PositiveIntegerField(default=0)
    error = models.TextField(blank=True)
    run = models.ForeignKey(ClassificationRun, models.SET_NULL, null=True, blank=True)
    classified_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(status__in=["pending", "claimed", "assigned", "suggested", "failed"]),
                name="tool_classification_status_known",
            ),
            models.CheckConstraint(
                condition=Q(claim=None) | Q(claimed_until__isnull=False), name="tool_classification_claim_ends"
            ),
        ]
        indexes = [models.Index(fields=["status", "claimed_until"], name="tool_classification_queue")]

    def __str__(self) -> str:
        return f"{self.tool_id}: {self.status}"
