import uuid

from django.contrib.postgres.fields import ArrayField
from django.core.validators import (
    MaxLengthValidator,
    MaxValueValidator,
    MinLengthValidator,
    MinValueValidator,
    RegexValidator,
)
from django.db import models
from django.db.models import F, Q
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


class Capability(models.Model):
    """Tools of one skill can also do the work of another: whoever has a shell can commit to Git."""

    provider = models.ForeignKey(Skill, models.CASCADE, related_name="serves", help_text="The skill whose tools can.")
    need = models.ForeignKey(Skill, models.CASCADE, related_name="served_by", help_text="The skill that is asked for.")
    weight = models.FloatField(
        default=0.5,
        validators=[MinValueValidator(0), MaxValueValidator(1)],
        help_text="How well, from 0 to 1. The gateway's search raises the tools of the provider by it.",
    )
    note = models.CharField(max_length=255, blank=True)

    class Meta:
        ordering = ["provider", "-weight", "need"]
        verbose_name_plural = "capabilities"
        constraints = [
            models.UniqueConstraint(fields=["provider", "need"], name="capability_unique"),
            models.CheckConstraint(condition=~Q(provider=F("need")), name="capability_of_another_skill"),
            models.CheckConstraint(condition=Q(weight__gte=0) & Q(weight__lte=1), name="capability_weight_range"),
        ]

    def __str__(self) -> str:
        return f"{self.provider_id} serves {self.need_id}"


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
