from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from skills.models.skill import Skill
from tenants.models import Tenant
from tools_catalog.models import Tool


class Suggestion(models.Model):
    """A skill that is missing, as classifiers or the clustering of the catalogue propose it. People decide."""

    class Status(models.TextChoices):
        PENDING = "pending"
        APPROVED = "approved"
        MERGED = "merged"
        REJECTED = "rejected"

    class Origin(models.TextChoices):
        LLM = "llm"
        NEAREST = "nearest"
        PROPOSE = "propose"

    tenant = models.ForeignKey(Tenant, models.CASCADE, null=True, blank=True)
    key = models.CharField(max_length=255)
    """The normalised name: suggestions with the same key are the same suggestion."""
    name = models.CharField(max_length=255)
    description = models.TextField(max_length=1000, blank=True)
    reasoning = models.TextField(max_length=1000, blank=True)
    keywords = ArrayField(models.CharField(max_length=100), size=20, default=list, blank=True)
    origin = models.CharField(max_length=16, choices=Origin)
    status = models.CharField(max_length=16, choices=Status, default=Status.PENDING)
    asked = models.PositiveIntegerField(default=0)
    """How many tools asked for it."""
    skill = models.ForeignKey(Skill, models.SET_NULL, null=True, blank=True, related_name="suggestions")
    """What it became, or was merged into."""
    reason = models.TextField(max_length=1000, blank=True)
    decided_by = models.CharField(max_length=255, blank=True)
    decided_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["-asked", "name", "id"]
        constraints = [
            models.UniqueConstraint(fields=["tenant", "key"], nulls_distinct=False, name="suggestion_key_unique"),
            models.CheckConstraint(
                condition=Q(status__in=["pending", "approved", "merged", "rejected"]), name="suggestion_status_known"
            ),
            models.CheckConstraint(
                condition=Q(origin__in=["llm", "nearest", "propose"]), name="suggestion_origin_known"
            ),
            models.CheckConstraint(condition=~Q(name="") & ~Q(key=""), name="suggestion_name_present"),
        ]
        indexes = [models.Index(fields=["status", "-asked"], name="suggestion_queue")]

    def __str__(self) -> str:
        return self.name


class SuggestionAsker(models.Model):
    """A tool that nothing fitted, and the suggestion that was made for it."""

    suggestion = models.ForeignKey(Suggestion, models.CASCADE, related_name="askers")
    tool = models.ForeignKey(Tool, models.CASCADE, related_name="suggestions")
    reasoning = models.TextField(blank=True)
    asked_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["suggestion", "tool"], name="suggestion_asker_unique")]

    def __str__(self) -> str:
        return f"{self.tool_id} asks for {self.suggestion_id}"


class SuggestionDecision(models.Model):
    """Who decided what, when, and what it takes to undo it. Rows are added, never changed, except to mark the undo."""

    class Action(models.TextChoices):
        APPROVE = "approve"
        MERGE = "merge"
        REJECT = "reject"

    suggestion = models.ForeignKey(Suggestion, models.CASCADE, related_name="decisions")
    action = models.CharField(max_length=16, choices=Action)
    by = models.CharField(max_length=255)
    at = models.DateTimeField(auto_now_add=True)
    reason = models.TextField(blank=True)
    skill_id = models.CharField(max_length=64, blank=True)
    before = models.JSONField(default=dict)
    """The suggestion's text and the assignments of the tools that moved, as they were."""
    undone_by = models.CharField(max_length=255, blank=True)
    undone_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-at", "-id"]
        constraints = [
            models.CheckConstraint(condition=Q(action__in=["approve", "merge", "reject"]), name="decision_action_known")
        ]

    def __str__(self) -> str:
        return f"{self.action} {self.suggestion_id}"
