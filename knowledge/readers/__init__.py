"""From bytes to passages with their headings and pages: one file a format, loaded on first use."""

from collections.abc import Callable
from importlib import import_module
from pathlib import PurePath

from core.errors import ToolscriptError
from knowledge.types import Document

READERS = {
    "markdown": "knowledge.readers.markdown:read",
    "text": "knowledge.readers.text:read",
    "html": "knowledge.readers.html:read",
    "pdf": "knowledge.readers.pdf:read",
}
SUFFIXES = {
    ".md": "markdown",
    ".markdown": "markdown",
    ".mdown": "markdown",
    ".txt": "text",
    ".text": "text",
    ".rst": "text",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".pdf": "pdf",
}


class Unreadable(ToolscriptError):
    """A document that cannot be read: damaged, encrypted, empty, or not what it says it is."""

    code = "VALIDATION_ERROR"
    http_status = 422


def format_of(path: str) -> str | None:
    return SUFFIXES.get(PurePath(path).suffix.lower())


def read(content: bytes, format: str) -> Document:  # noqa: A002 - the name of the field
    module, _, function = READERS[format].partition(":")
    reader: Callable[[bytes], Document] = getattr(import_module(module), function)
    document = reader(content)
    if not any(passage.text.strip() for passage in document.passages):
        raise Unreadable("There is no text in it.")
    return document
