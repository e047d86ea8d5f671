import uuid

from django.db import models
from django.db.models import Q
from pgvector.django import VectorField

from skills.models.skill import Skill
from tools_catalog.models import EmbeddingSpace


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


class SkillTextVector(models.Model):
    """Vectors of the words that skills are described with, so that a new process need not embed them again."""

    space = models.ForeignKey(EmbeddingSpace, models.CASCADE)
    key = models.CharField(max_length=64)
    """Of the text."""
    vector = VectorField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["space", "key"], name="skill_text_vector_unique")]

    def __str__(self) -> str:
        return self.key


class SkillIndexVersion(models.Model):
    """One row that triggers change with every write to the index of skills, so that processes can cache it."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    version = models.UUIDField(default=uuid.uuid4)

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(id=1), name="skill_index_version_single")]

    def __str__(self) -> str:
        return str(self.version)
