"""Headings become chapter and section, for Markdown and HTML alike."""

from collections.abc import Iterable
from dataclasses import dataclass

from knowledge.types import Passage


@dataclass(frozen=True, slots=True)
class Heading:
    level: int
    text: str


@dataclass(frozen=True, slots=True)
class Outlined:
    title: str
    passages: tuple[Passage, ...]


def outlined(parts: Iterable[Heading | str]) -> Outlined:
    """Text under its headings. A single heading of the top level, before any other, is the title of the whole.

    Of the levels that are left, the highest makes chapters; the nearest heading below it is the section.
    A heading with nothing under it is text itself: it would be found nowhere else.
    """
    items = [part for part in parts if isinstance(part, Heading) or part.strip()]
    headings = [item for item in items if isinstance(item, Heading)]
    title = _title(headings)
    levels = sorted({heading.level for heading in headings if heading is not title})
    passages: list[Passage] = []
    chapter = section = ""
    for place, item in enumerate(items, start=1):
        if isinstance(item, str):
            passages.append(Passage(item.strip("\n"), chapter, section))
            continue
        if item is not title:
            chapter, section = (item.text, "") if item.level == levels[0] else (chapter, item.text)
        after = items[place] if place < len(items) else None
        if item.text and (after is None or (isinstance(after, Heading) and after.level <= item.level)):
            passages.append(Passage(item.text, chapter, section))
    return Outlined(title.text if title else "", tuple(_joined(passages)))


def _title(headings: list[Heading]) -> Heading | None:
    if not headings or not headings[0].text:
        return None
    top = min(heading.level for heading in headings)
    alone = sum(heading.level == top for heading in headings) == 1
    return headings[0] if headings[0].level == top and alone else None


def _joined(passages: list[Passage]) -> list[Passage]:
    """Text that stands under one heading is one passage."""
    joined: list[Passage] = []
    for passage in passages:
        last = joined[-1] if joined else None
        if last is not None and (last.chapter, last.section) == (passage.chapter, passage.section):
            joined[-1] = Passage(f"{last.text}\n\n{passage.text}", last.chapter, last.section)
        else:
            joined.append(passage)
    return joined
