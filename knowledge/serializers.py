"""What requests about documents may hold."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from core.fields import (
    NO_NUL,
    NO_NUL_NOT_BLANK,
    CommaList,
    PlainInteger,
    QueryText,
    StrictBoolean,
    StrictChar,
    StrictInteger,
)
from knowledge.fields import NAME, FiltersField, MetadataField, WordsField, WrittenMetadata, decoded
from knowledge.models import WORD, WORD_EXPECTED
from knowledge.readers import format_of
from knowledge.rerankers import RERANKERS
from knowledge.types import FORMATS, FUSIONS, SEARCH_TYPES, DocumentRequest

DEFAULTS = DocumentRequest()


@extend_schema_field(NAME)
class Name(StrictChar):
    def __init__(self, **kwargs: Any) -> None:
        super().__init__(max_length=100, trim_whitespace=False, **kwargs)


@extend_schema_field({"type": "string", "minLength": 1, "maxLength": 1000, "pattern": NO_NUL})
class OptionalText(StrictChar):
    pass


@extend_schema_field({"type": "string", "minLength": 1, "maxLength": 255, "pattern": NO_NUL_NOT_BLANK})
class Line(StrictChar):
    def __init__(self, **kwargs: Any) -> None:
        super().__init__(max_length=255, **kwargs)


@extend_schema_field({"type": "string", "minLength": 1, "maxLength": 32, "pattern": WORD})
class TypeField(serializers.RegexField):
    default_error_messages = {"invalid": WORD_EXPECTED}

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(WORD + r"\Z", max_length=32, **kwargs)

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        return str(super().to_internal_value(data))


class DocumentSearchInput(serializers.Serializer[Any]):
    query = OptionalText(max_length=1000, allow_blank=True, allow_null=True, default="")
    top_k = StrictInteger(min_value=1, max_value=1000, default=DEFAULTS.top_k)
    offset = StrictInteger(min_value=0, max_value=1_000_000, default=0)
    search_type = serializers.ChoiceField(SEARCH_TYPES, default=DEFAULTS.search_type)
    fusion = serializers.ChoiceField(FUSIONS, allow_null=True, default=None)
    filters = FiltersField(allow_null=True, default=None)
    include_snippets = StrictBoolean(default=True)
    snippet_max_chars = StrictInteger(min_value=20, max_value=2000, default=DEFAULTS.snippet_max_chars)
    metadata_fields = serializers.ListField(child=Name(), max_length=50, allow_null=True, default=None)
    rerank = serializers.ChoiceField(tuple(RERANKERS), allow_null=True, default=None)


class KnowledgeInput(serializers.Serializer[Any]):
    query = QueryText()
    limit = StrictInteger(min_value=1, max_value=100, default=10)
    type = WordsField(default=(), help_text="chunk, extraction, or types of extractions. Unknown ones match nothing.")
    topics = WordsField(default=(), help_text="Only what has one of these topics.")


class KnowledgeParams(serializers.Serializer[Any]):
    query = QueryText(required=False)
    limit = PlainInteger(min_value=1, max_value=100, required=False)
    type = CommaList(help_text="chunk, extraction, or types of extractions. Unknown ones match nothing.")
    topics = CommaList(help_text="Only what has one of these topics.")


class SourceFields(serializers.Serializer[Any]):
    """What is said about a document, however it comes."""

    path = StrictChar(
        max_length=1000, default="", help_text="Its name among your documents. The same path replaces it."
    )
    title = StrictChar(max_length=500, default="", allow_blank=True)
    type = TypeField(default="", help_text="document, book, paper, case_study …")
    authors = serializers.ListField(child=Line(), max_length=100, default=list)
    topics = serializers.ListField(child=Name(), max_length=100, default=list)
    metadata = MetadataField(default=dict)


class SourceInput(SourceFields):
    content = StrictChar(trim_whitespace=False, help_text="The document itself; a PDF in base64.")
    format = serializers.ChoiceField(FORMATS, default="markdown")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        content = attrs["content"]
        return {**attrs, "content": decoded(content) if attrs["format"] == "pdf" else content.encode()}


class UploadInput(SourceFields):
    file = serializers.FileField(help_text="The document itself. Its name is the path where none is given.")
    format = serializers.ChoiceField(
        FORMATS, default=None, help_text="Told by the name of the file where it is left out."
    )
    metadata = WrittenMetadata(default=dict, help_text="An object, written as JSON.")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        file = attrs.pop("file")
        name = str(file.name)
        known = attrs["format"] or format_of(name)
        if known is None:
            raise serializers.ValidationError(
                {"format": [f"It cannot be told from {name[:100]}: {', '.join(FORMATS)}?"]}
            )
        return {**attrs, "content": file.read(), "format": known, "path": attrs["path"] or name}


class SourceListInput(serializers.Serializer[Any]):
    limit = PlainInteger(min_value=1, max_value=200, default=50)
    offset = PlainInteger(min_value=0, max_value=1_000_000, default=0)
    type = StrictChar(max_length=32, default="")
    status = serializers.ChoiceField(("ready", "failed"), default=None)


class PageInput(serializers.Serializer[Any]):
    limit = PlainInteger(min_value=1, max_value=200, default=50)
    offset = PlainInteger(min_value=0, max_value=1_000_000, default=0)


class ExtractionInput(serializers.Serializer[Any]):
    chunk_id = StrictInteger(min_value=1, max_value=2**63 - 1, help_text="The passage it was taken from.")
    type = TypeField(help_text="decision, pattern, warning …")
    content = MetadataField(help_text="Names to texts, numbers, booleans or lists of these.")
    topics = serializers.ListField(child=Name(), max_length=20, default=list)


class ExtractionListInput(serializers.Serializer[Any]):
    source_id = PlainInteger(min_value=1, max_value=2**63 - 1, default=None)
    type = StrictChar(max_length=32, default="")
    limit = PlainInteger(min_value=1, max_value=200, default=50)
    offset = PlainInteger(min_value=0, max_value=1_000_000, default=0)


class NoInput(serializers.Serializer[Any]):
    pass
