from django.contrib.postgres.fields import ArrayField
from django.core.validators import MaxLengthValidator, MinLengthValidator, RegexValidator
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Length
from django.db.models.lookups import GreaterThanOrEqual, LessThanOrEqual

from tenants.models import Tenant
from tools_catalog.models import Tool

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


class SkillAlias(models.Model):
    """An id that a skill had before it was renamed or merged: it keeps resolving."""

    old_id = models.CharField(max_length=64, primary_key=True)
    skill = models.ForeignKey(Skill, models.CASCADE, related_name="aliases")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.CheckConstraint(condition=~Q(old_id=F("skill_id")), name="skill_alias_is_another_id")]

    def __str__(self) -> str:
        return f"{self.old_id}, now {self.skill_id}"
