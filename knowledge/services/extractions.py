"""What people and language models learned from documents."""

from collections.abc import Iterable, Mapping
from typing import Any

from django.db import transaction

from core.errors import NotFound, ValidationFailed
from knowledge.metadata import comparable, storable
from knowledge.models import Chunk, Extraction, Source
from knowledge.services.knowledge_index import text_key

FIRST = ("statement", "summary", "text", "title", "name")
"""The parts of a content that need no label."""
LONGEST = 20_000


def extraction_create(
    chunk: Chunk,
    *,
    type: str,  # noqa: A002 - the name of the field
    content: Mapping[str, Any],
    topics: Iterable[str] = (),
    method: str = Extraction.Method.API,
) -> tuple[Extraction, bool]:
    """The extraction, and whether it is new: the same words from the same document are kept once."""
    _check(content)
    text = extraction_text(type, content)
    if type in {"chunk", "extraction"}:
        raise ValidationFailed(f"type: {type} is no type of extraction.", {"fields": {"type": ["This is taken."]}})
    with transaction.atomic():
        Source.objects.select_for_update(no_key=True).filter(pk=chunk.source_id).first()
        if not Chunk.objects.filter(pk=chunk.pk).exists():
            raise NotFound("There is no such chunk any more.")
        return Extraction.objects.get_or_create(
            source_id=chunk.source_id,
            type=type,
            key=text_key("", text),
            defaults={
                "chunk": chunk,
                "content": dict(content),
                "text": text,
                "topics": [topic for topic in dict.fromkeys(" ".join(given.split()) for given in topics) if topic],
                "chapter": chunk.chapter,
                "section": chunk.section,
                "page": chunk.page,
                "method": method,
            },
        )


def extraction_text(kind: str, content: Mapping[str, Any]) -> str:
    """`Warning: never copy a live file. Reason: it changes while it is read.`"""
    first = [_words(content[name]) for name in FIRST if name in content]
    rest = [f"{_label(name)}: {_words(value)}" for name, value in content.items() if name not in FIRST]
    said = " ".join(part if part[-1:] in ".!?" else f"{part}." for part in [*first, *rest] if part)
    if not any(_words(value) for value in content.values()):
        raise _refused("At least one part with text is expected.")
    text = f"{_label(kind)}: {said}"
    if len(text) > LONGEST:
        raise _refused(f"At most {LONGEST} characters are possible.")
    return text


def _check(content: Mapping[str, Any]) -> None:
    for name, value in content.items():
        items = value if isinstance(value, list) else [value]
        if not storable(name) or not all(comparable(item, LONGEST) for item in items):
            raise _refused("Texts without NUL, numbers up to 1e15, booleans, and lists of these are possible.")


def _refused(message: str) -> ValidationFailed:
    return ValidationFailed(f"content: {message}", {"fields": {"content": [message]}})


def _words(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(_words(item) for item in value)
    return " ".join(str(value).split()) if isinstance(value, str | int | float) else ""


def _label(name: str) -> str:
    return name.replace("_", " ").capitalize()


def extraction_delete(extraction: Extraction) -> None:
    extraction.delete()
