from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import F, Q
from pgvector.django import VectorField

from core.jsonfield import OrderedJSONField
from tenants.models import Tenant

SERVER_NAME = r"^[A-Za-z0-9][A-Za-z0-9_.-]*$"


class Server(models.Model):
    """An MCP server whose tools are in the catalogue."""

    tenant = models.ForeignKey(Tenant, models.CASCADE, null=True, blank=True)
    name = models.CharField(max_length=128)
    title = models.CharField(max_length=255, blank=True)
    description = models.TextField(blank=True)
    is_active = models.BooleanField(default=True)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(fields=["tenant", "name"], nulls_distinct=False, name="server_name_unique"),
            models.CheckConstraint(condition=Q(name__regex=SERVER_NAME), name="server_name_form"),
        ]

    def __str__(self) -> str:
        return self.title or self.name


class Tool(models.Model):
    """A tool, prompt or resource as its server publishes it."""

    class Type(models.TextChoices):
        TOOL = "tool"
        PROMPT = "prompt"
        RESOURCE = "resource"

    server = models.ForeignKey(Server, models.CASCADE, related_name="tools")
    type = models.CharField(max_length=16, choices=Type, default=Type.TOOL)
    name = models.CharField(max_length=255)
    description = models.TextField(blank=True)
    uri = models.TextField(blank=True)
    input_schema = OrderedJSONField(null=True, blank=True)
    output_schema = OrderedJSONField(null=True, blank=True)
    annotations = OrderedJSONField(null=True, blank=True)
    requests = ArrayField(models.TextField(), default=list, blank=True)
    content_hash = models.CharField(max_length=64)
    """Of the definition as published: the same hash means that nothing changed."""
    index_key = models.CharField(max_length=64)
    """Of what the vector is made from: a vector with another key is stale."""
    is_active = models.BooleanField(default=True)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["name", "id"]
        constraints = [
            models.UniqueConstraint(fields=["server", "type", "name"], name="tool_name_unique"),
            models.CheckConstraint(condition=Q(type__in=["tool", "prompt", "resource"]), name="tool_type_known"),
            models.CheckConstraint(condition=~Q(name=""), name="tool_name_present"),
        ]

    def __str__(self) -> str:
        return self.name


class EmbeddingSpace(models.Model):
    """One embedding model, as it was when vectors were made with it. Vectors of two spaces are never compared."""

    model = models.CharField(max_length=255)
    fingerprint = models.CharField(max_length=64)
    dim = models.PositiveIntegerField()
    is_live = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)
    live_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["model", "fingerprint"], name="space_unique"),
            models.UniqueConstraint(fields=["is_live"], condition=Q(is_live=True), name="space_one_live"),
            models.CheckConstraint(condition=Q(dim__gt=0), name="space_dim_positive"),
        ]

    def __str__(self) -> str:
        return f"{self.model} ({self.dim})"


class ToolEmbedding(models.Model):
    """The parts a tool's searchable vector is blended from, each kept so that each can change alone."""

    class Part(models.TextChoices):
        TEXT = "text"
        REQUESTS = "requests"

    tool = models.ForeignKey(Tool, models.CASCADE, related_name="embeddings")
    space = models.ForeignKey(EmbeddingSpace, models.CASCADE)
    part = models.CharField(max_length=16, choices=Part)
    key = models.CharField(max_length=64)
    vector = VectorField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["space", "tool", "part"], name="tool_embedding_unique"),
            models.CheckConstraint(condition=Q(part__in=["text", "requests"]), name="tool_embedding_part_known"),
        ]

    def __str__(self) -> str:
        return f"{self.tool_id} {self.part}"


class ToolVector(models.Model):
    """The index of tools: narrow, so that a vector stays in its row. Can be thrown away and rebuilt."""

    seen_through = "mcp_unified_search_seen"

    tool = models.ForeignKey(Tool, models.CASCADE, related_name="vectors")
    space = models.ForeignKey(EmbeddingSpace, models.CASCADE)
    server_id = models.BigIntegerField()
    tenant_id = models.BigIntegerField(null=True)
    type = models.CharField(max_length=16)
    is_active = models.BooleanField()
    skill_ids = ArrayField(models.CharField(max_length=64), default=list)
    primary_skill_id = models.CharField(max_length=64, null=True)  # noqa: DJ001 - null is "none" in the API too
    key = models.CharField(max_length=64)
    vector = VectorField()

    class Meta:
        db_table = "mcp_unified_search"
        constraints = [
            models.UniqueConstraint(fields=["space", "tool"], name="tool_vector_unique"),
            models.CheckConstraint(
                condition=Q(primary_skill_id=None) | Q(skill_ids__contains=[F("primary_skill_id")]),
                name="tool_vector_primary_is_member",
            ),
        ]
        # Without fastupdate: a search would have to read the whole list of entries that wait to be sorted in.
        indexes = [GinIndex(fields=["skill_ids"], name="tool_vector_skill_ids", fastupdate=False)]

    def __str__(self) -> str:
        return str(self.tool_id)
