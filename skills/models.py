import uuid

from django.contrib.postgres.fields import ArrayField
from django.core.validators import MaxLengthValidator, MinLengthValidator, RegexValidator
from django.db import models
from django.db.models import Case, F, Q, Value, When
from django.db.models.functions import Length
from django.db.models.lookups import GreaterThanOrEqual, LessThanOrEqual
from pgvector.django import VectorField

from tenants.models import Tenant
from tools_catalog.models import EmbeddingSpace, Tool

SKILL_ID = r"^[a-z][a-z0-9_]*$"


class Skill(models.Model):
    """A category of tools that people curate."""

    id = models.CharField(
        max_length=64,
        primary_key=True,
        validators=[RegexValidator(SKILL_ID, "A lower-case letter, then lower-case letters, digits and underscores.")],
    )
    tenant = models.ForeignKey(Tenant, models.CASCADE, null=True, blank=True)
    name = models.CharField(max_length=255)
    description = models.TextField(max_length=1000, validators=[MinLengthValidator(10), MaxLengthValidator(1000)])
    keywords = ArrayField(models.CharField(max_length=100), size=20, default=list, blank=True)
    examples = ArrayField(models.CharField(max_length=255), size=10, default=list, blank=True)
    parent_domain = models.CharField(max_length=64, blank=True)
    is_active = models.BooleanField(default=True)
    deleted_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["name", "id"]
        constraints = [
            models.CheckConstraint(condition=Q(id__regex=SKILL_ID), name="skill_id_form"),
            models.CheckConstraint(condition=~Q(name=""), name="skill_name_present"),
            models.CheckConstraint(
                condition=Q(
                    GreaterThanOrEqual(Length("description"), 10),
                    LessThanOrEqual(Length("description"), 1000),
                ),
                name="skill_description_length",
            ),
            models.CheckConstraint(condition=Q(keywords__len__lte=20), name="skill_keywords_at_most_20"),
            models.CheckConstraint(condition=Q(examples__len__lte=10), name="skill_examples_at_most_10"),
            models.CheckConstraint(
                condition=Q(deleted_at=None) | Q(is_active=False), name="skill_deleted_is_not_active"
            ),
        ]

    def __str__(self) -> str:
        return self.name


class Assignment(models.Model):
    """A tool filed under a skill."""

    class Source(models.TextChoices):
        LLM = "llm"
        NEAREST = "nearest"
        HUMAN = "human"

    tool = models.ForeignKey(Tool, models.CASCADE, related_name="assignments")
    skill = models.ForeignKey(Skill, models.CASCADE, related_name="assignments")
    confidence = models.FloatField()
    is_primary = models.BooleanField(default=False)
    source = models.CharField(max_length=16, choices=Source)
    reasoning = models.TextField(blank=True)
    assigned_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-is_primary", "-confidence"]
        constraints = [
            models.UniqueConstraint(fields=["tool", "skill"], name="assignment_unique"),
            models.UniqueConstraint(fields=["tool"], condition=Q(is_primary=True), name="assignment_one_primary"),
            models.CheckConstraint(
                condition=Q(confidence__gte=0) & Q(confidence__lte=1), name="assignment_confidence_range"
            ),
            models.CheckConstraint(condition=Q(source__in=["llm", "nearest", "human"]), name="assignment_source_known"),
        ]

    def __str__(self) -> str:
        return f"{self.tool_id} in {self.skill_id}"


class SkillVector(models.Model):
    """The index of skills: payload and centroid (or, without tools, the vector of the skill's own text)."""

    skill = models.ForeignKey(Skill, models.CASCADE, related_name="vectors")
    space = models.ForeignKey(EmbeddingSpace, models.CASCADE)
    name = models.CharField(max_length=255)
    description = models.TextField()
    tool_count = models.PositiveIntegerField()
    is_active = models.BooleanField()
    tenant_id = models.BigIntegerField(null=True)
    key = models.CharField(max_length=64)
    """Of all that the vectors were made from: another key means that they are stale."""
    vector = VectorField()

    class Meta:
        db_table = "mcp_skills"
        constraints = [models.UniqueConstraint(fields=["space", "skill"], name="skill_vector_unique")]

    def __str__(self) -> str:
        return self.skill_id


class SkillPrototype(models.Model):
    """Centres of a skill's sub-clusters: a query is compared with the nearest of them."""

    skill_vector = models.ForeignKey(SkillVector, models.CASCADE, related_name="prototypes")
    ordinal = models.PositiveSmallIntegerField()
    vector = VectorField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["skill_vector", "ordinal"], name="skill_prototype_unique")]

    def __str__(self) -> str:
        return f"{self.skill_vector_id}/{self.ordinal}"


class SkillIndexVersion(models.Model):
    """One row that triggers change with every write to the index of skills, so that processes can cache it."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    version = models.UUIDField(default=uuid.uuid4)

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(id=1), name="skill_index_version_single")]

    def __str__(self) -> str:
        return str(self.version)


class SkillAlias(models.Model):
    """An id that a skill had before it was renamed or merged: it keeps resolving."""

    old_id = models.CharField(max_length=64, primary_key=True)
    skill = models.ForeignKey(Skill, models.CASCADE, related_name="aliases")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.CheckConstraint(condition=~Q(old_id=F("skill_id")), name="skill_alias_is_another_id")]

    def __str__(self) -> str:
        return f"{self.old_id}, now {self.skill_id}"


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
