"""PDF: the text of its pages, and its outline as chapters and sections."""

import io
import re
from collections.abc import Iterator
from typing import Any

from knowledge.readers import Unreadable
from knowledge.readers.text import CONTROLS
from knowledge.types import Document, Passage

HYPHEN = re.compile(r"(?<=[a-z])-\n(?=[a-z])")
LINE_END = re.compile(r"(?<!\n)\n(?!\n)")
SURROGATES = re.compile(r"[\ud800-\udfff]")

Mark = tuple[int, int, int, str]
"""page, offset in its text, depth in the outline, title"""


def read(content: bytes) -> Document:
    from pypdf import PdfReader
    from pypdf.errors import PyPdfError

    try:
        reader = PdfReader(io.BytesIO(content))
        if reader.is_encrypted and not reader.decrypt(""):
            raise Unreadable("It is encrypted, and needs a password.")
        pages = [page_text(page) for page in reader.pages]
        info = reader.metadata
        marks = _marks(reader, pages)
    except Unreadable:
        raise
    except PyPdfError as exc:
        raise Unreadable(f"It is no readable PDF: {exc}") from None
    except Exception as exc:  # a damaged file makes the library fail in any way there is
        raise Unreadable(f"It is no readable PDF: {type(exc).__name__}: {exc}") from None
    if not any(pages):
        raise Unreadable("There is no text in it: its pages may be pictures.")
    return Document(
        tuple(_passages(pages, marks)),
        title=_plain(info.title) if info else "",
        authors=tuple(a.strip() for a in re.split(r"[;,]", _plain(info.author)) if a.strip()) if info else (),
    )


def page_text(page: Any) -> str:
    """Lines become paragraphs again: a line end inside one is only where the paper ended."""
    text = HYPHEN.sub("", _plain(page.extract_text()))
    return LINE_END.sub(" ", "\n".join(line.strip(" \t") for line in text.split("\n"))).strip()


def _plain(text: str | None) -> str:
    return SURROGATES.sub("", CONTROLS.sub("", text or "")).replace("\r\n", "\n").replace("\r", "\n").strip()


def _marks(reader: Any, pages: list[str]) -> list[Mark]:
    """Where each entry of the outline begins. Its title is looked for on its page; else the page begins with it."""
    marks = []
    for depth, entry in _entries(reader.outline, 0):
        number = reader.get_destination_page_number(entry)
        title = " ".join(_plain(entry.title).split())
        if number is not None and 0 <= number < len(pages) and title:
            marks.append((number, max(0, pages[number].find(title)), depth, title))
    return sorted(marks, key=lambda mark: mark[:2])


def _entries(outline: list[Any], depth: int) -> Iterator[tuple[int, Any]]:
    for entry in outline:
        if isinstance(entry, list):
            yield from _entries(entry, depth + 1)
        else:
            yield depth, entry


def _passages(pages: list[str], marks: list[Mark]) -> Iterator[Passage]:
    """The text between two marks, with the offsets at which its pages begin."""
    chapter = section = ""
    starts = [(0, 0, -1, ""), *marks]
    ends = [(mark[0], mark[1]) for mark in marks] + [(len(pages) - 1, len(pages[-1]))]
    for (page, offset, depth, title), end in zip(starts, ends, strict=True):
        if depth == 0:
            chapter, section = title, ""
        elif depth > 0:
            section = title
        text, numbers = "", []
        for number in range(page, end[0] + 1):
            part = pages[number][offset if number == page else 0 : end[1] if number == end[0] else None]
            if part.strip():
                numbers.append((len(text), number + 1))
                text += part + "\n\n"
        if text:
            yield Passage(text, chapter, section, tuple(numbers))
