from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVector, SearchVectorField
from django.db import models
from django.db.models import Q
from pgvector.django import VectorField

from tenants.models import Tenant
from tools_catalog.models import EmbeddingSpace

WORD = r"^[a-z][a-z0-9_]*$"
WORD_EXPECTED = "Lower-case letters, digits and underscores, a letter first, are expected."
LANGUAGE = "english"


class Source(models.Model):
    """A document: a file, or what a caller sent."""

    class Format(models.TextChoices):
        MARKDOWN = "markdown"
        TEXT = "text"
        HTML = "html", "HTML"
        PDF = "pdf", "PDF"

    class Origin(models.TextChoices):
        FILE = "file"
        UPLOAD = "upload"

    class Status(models.TextChoices):
        READY = "ready"
        FAILED = "failed"

    tenant = models.ForeignKey(Tenant, models.CASCADE, null=True, blank=True)
    type = models.CharField(max_length=32, default="document", help_text="document, book, paper, case_study …")
    format = models.CharField(max_length=16, choices=Format)
    title = models.CharField(max_length=500)
    authors = ArrayField(models.CharField(max_length=255), default=list, blank=True)
    topics = ArrayField(models.CharField(max_length=100), default=list, blank=True)
    path = models.CharField(max_length=1000)
    """Where it comes from. With the tenant, this is what makes it the same document when it comes again."""
    origin = models.CharField(max_length=8, choices=Origin, default=Origin.UPLOAD)
    root = models.TextField(blank=True, editable=False)
    """The folder that the path of a file is seen from; empty for an absolute path."""
    metadata = models.JSONField(default=dict, blank=True)
    """What filters ask for: names to scalars, or to lists of scalars."""
    facets = models.JSONField(default=dict, editable=False)
    """The metadata and the columns above in one object. A trigger writes it, so that it cannot be stale."""
    status = models.CharField(max_length=16, choices=Status, default=Status.READY)
    error = models.TextField(blank=True)
    """Why it could not be read. What was read before stays searchable."""
    content_hash = models.CharField(max_length=64)
    """Of the bytes, and of how they are read and cut: the same hash means that there is nothing to do."""
    schema_version = models.PositiveSmallIntegerField(default=1)
    ingested_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["title", "id"]
        constraints = [
            models.UniqueConstraint(fields=["tenant", "path"], nulls_distinct=False, name="source_path_unique"),
            models.CheckConstraint(condition=Q(type__regex=WORD), name="source_type_form"),
            models.CheckConstraint(
                condition=Q(format__in=["markdown", "text", "html", "pdf"]), name="source_format_known"
            ),
            models.CheckConstraint(condition=Q(origin__in=["file", "upload"]), name="source_origin_known"),
            models.CheckConstraint(condition=Q(status__in=["ready", "failed"]), name="source_status_known"),
            models.CheckConstraint(condition=~Q(title="") & ~Q(path=""), name="source_title_and_path_present"),
        ]
        indexes = [GinIndex(fields=["facets"], opclasses=["jsonb_path_ops"], name="source_facets")]

    def __str__(self) -> str:
        return self.title


class Chunk(models.Model):
    """A passage of a document, with its place."""

    source = models.ForeignKey(Source, models.CASCADE, related_name="chunks")
    ordinal = models.PositiveIntegerField()
    heading = models.TextField(blank=True)
    """Title, chapter and section: what the passage says nothing about, and searches ask for."""
    content = models.TextField()
    chapter = models.CharField(max_length=500, blank=True)
    section = models.CharField(max_length=500, blank=True)
    page = models.PositiveIntegerField(null=True, blank=True)
    token_count = models.PositiveIntegerField()
    key = models.CharField(max_length=64)
    """Of what its vector is made from: a vector with another key is stale."""
    extracted_key = models.CharField(max_length=64, blank=True)
    """The key it had when a language model last read it."""
    terms = models.GeneratedField(
        expression=SearchVector("heading", weight="B", config=LANGUAGE)
        + SearchVector("content", weight="D", config=LANGUAGE),
        output_field=SearchVectorField(),
        db_persist=True,
    )
    schema_version = models.PositiveSmallIntegerField(default=1)

    class Meta:
        ordering = ["source_id", "ordinal"]
        constraints = [
            # Deferred, because a changed document moves the passages that it keeps.
            models.UniqueConstraint(
                fields=["source", "ordinal"], name="chunk_ordinal_unique", deferrable=models.Deferrable.DEFERRED
            ),
            models.CheckConstraint(condition=~Q(content=""), name="chunk_content_present"),
            models.CheckConstraint(condition=Q(page=None) | Q(page__gte=1), name="chunk_page_from_one"),
        ]
        indexes = [GinIndex(fields=["terms"], name="chunk_terms", fastupdate=False)]

    def __str__(self) -> str:
        return f"{self.source_id}/{self.ordinal}"


class Extraction(models.Model):
    """What somebody learned from a document: a decision, a pattern, a warning."""

    class Method(models.TextChoices):
        LLM = "llm"
        API = "api"

    source = models.ForeignKey(Source, models.CASCADE, related_name="extractions")
    chunk = models.ForeignKey(Chunk, models.SET_NULL, null=True, blank=True, related_name="extractions")
    """Null: the passage is no longer in the document. Its place is kept here."""
    type = models.CharField(max_length=32, help_text="decision, pattern, warning …")
    content = models.JSONField()
    text = models.TextField()
    """The content in words: what is embedded, searched and shown."""
    topics = ArrayField(models.CharField(max_length=100), default=list, blank=True)
    chapter = models.CharField(max_length=500, blank=True)
    section = models.CharField(max_length=500, blank=True)
    page = models.PositiveIntegerField(null=True, blank=True)
    method = models.CharField(max_length=8, choices=Method)
    key = models.CharField(max_length=64)
    terms = models.GeneratedField(
        expression=SearchVector("text", weight="D", config=LANGUAGE), output_field=SearchVectorField(), db_persist=True
    )
    schema_version = models.PositiveSmallIntegerField(default=1)
    extracted_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["source_id", "id"]
        constraints = [
            models.CheckConstraint(condition=Q(type__regex=WORD) & ~Q(type="chunk"), name="extraction_type_form"),
            models.CheckConstraint(condition=Q(method__in=["llm", "api"]), name="extraction_method_known"),
            models.CheckConstraint(condition=~Q(text=""), name="extraction_text_present"),
            models.UniqueConstraint(fields=["source", "type", "key"], name="extraction_unique"),
        ]
        indexes = [GinIndex(fields=["terms"], name="extraction_terms", fastupdate=False)]

    def __str__(self) -> str:
        return f"{self.type}: {self.text[:80]}"


class KnowledgeVector(models.Model):
    """The index of passages and extractions: narrow, so that a vector stays in its row. Can be rebuilt."""

    seen_through = "knowledge_vector_seen"

    space = models.ForeignKey(EmbeddingSpace, models.CASCADE)
    chunk = models.ForeignKey(Chunk, models.CASCADE, null=True, related_name="vectors")
    extraction = models.ForeignKey(Extraction, models.CASCADE, null=True, related_name="vectors")
    source_id = models.BigIntegerField()
    tenant_id = models.BigIntegerField(null=True)
    type = models.CharField(max_length=32)
    """`chunk`, or the type of the extraction"""
    topics = ArrayField(models.CharField(max_length=100), default=list)
    key = models.CharField(max_length=64)
    vector = VectorField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["space", "chunk"], name="knowledge_vector_chunk_unique"),
            models.UniqueConstraint(fields=["space", "extraction"], name="knowledge_vector_extraction_unique"),
            models.CheckConstraint(
                condition=Q(chunk=None, extraction__isnull=False) | Q(chunk__isnull=False, extraction=None),
                name="knowledge_vector_of_one",
            ),
            models.CheckConstraint(
                condition=(Q(extraction=None) & Q(type="chunk")) | (Q(chunk=None) & ~Q(type="chunk")),
                name="knowledge_vector_type",
            ),
        ]
        indexes = [
            models.Index(fields=["space", "source_id"], name="knowledge_vector_source"),
            GinIndex(fields=["topics"], name="knowledge_vector_topics", fastupdate=False),
        ]

    def __str__(self) -> str:
        return f"{self.type} {self.chunk_id or self.extraction_id}"
