import re
from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.postgres.forms import SimpleArrayField
from django.db.models import Count, QuerySet
from django.http import HttpRequest
from unfold.admin import TabularInline
from unfold.widgets import UnfoldAdminTextareaWidget

from core.errors import Conflict
from knowledge.metadata import metadata_problem
from knowledge.models import WORD, WORD_EXPECTED, Chunk, Extraction, Source
from knowledge.services.extract import chat_model
from knowledge.services.extractions import extraction_delete
from knowledge.services.ingest import source_delete, source_describe
from knowledge.tasks import request_extraction
from tenants.admin import TenantRows
from tools_catalog.tasks import request_refresh


class Lines(SimpleArrayField):
    """One name a line: a name may hold a comma."""

    def __init__(self, longest: int) -> None:
        widget = UnfoldAdminTextareaWidget(attrs={"rows": 2})
        name = forms.CharField(max_length=longest)
        super().__init__(name, delimiter="\n", required=False, widget=widget, help_text="One a line.")

    def to_python(self, value: Any) -> Any:
        lines = value.splitlines() if isinstance(value, str) else value
        return super().to_python([line for line in lines or () if line.strip()])


class SourceForm(forms.ModelForm):  # type: ignore[type-arg]
    authors = Lines(255)
    topics = Lines(100)

    class Meta:
        model = Source
        fields = ("title", "type", "authors", "topics", "metadata")
        widgets = {"metadata": UnfoldAdminTextareaWidget(attrs={"rows": 2})}

    def clean_type(self) -> str:
        if not re.fullmatch(WORD, self.cleaned_data["type"]):
            raise forms.ValidationError(WORD_EXPECTED)
        return str(self.cleaned_data["type"])

    def clean_metadata(self) -> dict[str, Any]:
        metadata = self.cleaned_data["metadata"] or {}
        if not isinstance(metadata, dict):
            raise forms.ValidationError("An object is expected.")
        found = {name: metadata_problem(name, value) for name, value in metadata.items()}
        problems = [f"{name}: {problem}" for name, problem in found.items() if problem]
        if problems:
            raise forms.ValidationError(problems)
        return metadata


class ReadOnlyInline(TabularInline):
    extra = 0
    can_delete = False
    per_page = 25
    show_change_link = True
    hide_title = True

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class ChunkInline(ReadOnlyInline):
    model = Chunk
    fields = ("ordinal", "chapter", "section", "page", "token_count", "beginning")
    readonly_fields = fields

    @admin.display(description="Text")
    def beginning(self, chunk: Chunk) -> str:
        return chunk.content[:160]


class ExtractionInline(ReadOnlyInline):
    model = Extraction
    fields = ("type", "text", "topics", "method")
    readonly_fields = fields


@admin.register(Source)
class SourceAdmin(TenantRows):
    """Title, authors, topics and metadata are edited here; the text is that of the document."""

    form = SourceForm
    list_display = ("title", "type", "format", "tenant", "chunk_count", "extraction_count", "status", "updated_at")
    list_filter = ("status", "format", "type", "tenant")
    search_fields = ("title", "path")
    fields = (
        "title",
        "type",
        "authors",
        "topics",
        "metadata",
        "path",
        "origin",
        "format",
        "tenant",
        "status",
        "error",
        "ingested_at",
        "updated_at",
    )
    readonly_fields = ("path", "origin", "format", "tenant", "status", "error", "ingested_at", "updated_at")
    inlines = (ChunkInline, ExtractionInline)
    actions = ("extract",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Source]:
        queryset: QuerySet[Source] = super().get_queryset(request)
        return queryset.annotate(
            chunks_counted=Count("chunks", distinct=True), extractions_counted=Count("extractions", distinct=True)
        )

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    @admin.display(description="Passages", ordering="chunks_counted")
    def chunk_count(self, source: Source) -> int:
        return int(source.chunks_counted)  # type: ignore[attr-defined]

    @admin.display(description="Extractions", ordering="extractions_counted")
    def extraction_count(self, source: Source) -> int:
        return int(source.extractions_counted)  # type: ignore[attr-defined]

    def save_model(self, request: HttpRequest, obj: Source, form: Any, change: bool) -> None:
        source_describe(obj)
        request_refresh()

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Whoever may delete a document may delete what it is made of."""
        deleted, counts, _, protected = super().get_deleted_objects(objs, request)
        return deleted, counts, set(), protected

    def delete_model(self, request: HttpRequest, obj: Source) -> None:
        source_delete(obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Source]) -> None:
        for source in queryset:
            source_delete(source)

    @admin.action(description="Have the language model read them", permissions=["change"])
    def extract(self, request: HttpRequest, queryset: QuerySet[Source]) -> None:
        try:
            chat_model()
        except Conflict as exc:
            self.message_user(request, exc.message, level="error")
            return
        asked = sum(request_extraction(source.pk) for source in queryset)
        self.message_user(request, f"{asked} documents will be read.")


@admin.register(Chunk)
class ChunkAdmin(TenantRows):
    tenant_path = "source__tenant"
    list_display = ("beginning", "source", "chapter", "section", "page", "token_count")
    list_filter = ("source__format", "source__tenant")
    search_fields = ("content", "heading")
    list_select_related = ("source",)
    fields = ("source", "ordinal", "heading", "content", "chapter", "section", "page", "token_count")
    readonly_fields = fields

    def get_queryset(self, request: HttpRequest) -> QuerySet[Chunk]:
        queryset: QuerySet[Chunk] = super().get_queryset(request)
        return queryset.defer("terms")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    @admin.display(description="Text")
    def beginning(self, chunk: Chunk) -> str:
        return chunk.content[:80]


@admin.register(Extraction)
class ExtractionAdmin(TenantRows):
    tenant_path = "source__tenant"
    list_display = ("text", "type", "source", "topics", "method", "extracted_at")
    list_filter = ("type", "method", "source__tenant")
    search_fields = ("text", "source__title")
    list_select_related = ("source",)
    fields = ("source", "chunk", "type", "text", "content", "topics", "chapter", "section", "page", "method")
    readonly_fields = fields

    def get_queryset(self, request: HttpRequest) -> QuerySet[Extraction]:
        queryset: QuerySet[Extraction] = super().get_queryset(request)
        return queryset.defer("terms")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def delete_model(self, request: HttpRequest, obj: Extraction) -> None:
        extraction_delete(obj)
