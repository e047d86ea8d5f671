from django.db import models
from django.db.models import Case, Q, Value, When


class ProposeRun(models.Model):
    """One time that skills were proposed from the catalogue."""

    class Status(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"

    OPEN = (Status.QUEUED, Status.RUNNING)

    by = models.CharField(max_length=255)
    everything = models.BooleanField(default=False)
    """All tools that nobody filed by hand, not only those in no skill."""
    status = models.CharField(max_length=16, choices=Status, default=Status.QUEUED)
    done = models.PositiveIntegerField(default=0)
    total = models.PositiveIntegerField(default=0)
    looked_at = models.PositiveIntegerField(default=0)
    clusters = models.PositiveIntegerField(default=0)
    created = models.PositiveIntegerField(default=0)
    error = models.TextField(blank=True)
    started_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-started_at", "-id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(status__in=["queued", "running", "done", "failed"]), name="propose_run_status_known"
            ),
            # Null for those that are over, and nulls are distinct.
            models.UniqueConstraint(
                Case(When(status__in=["queued", "running"], then=Value(1)), output_field=models.IntegerField()),
                name="propose_run_one_open",
            ),
        ]

    def __str__(self) -> str:
        return f"by {self.by}, {self.status}"

    @property
    def open(self) -> bool:
        return self.status in self.OPEN
