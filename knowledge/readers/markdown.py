"""Markdown: headings as a Markdown parser sees them (not those in code), and front matter."""

import datetime
import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import Any

import yaml
from markdown_it import MarkdownIt

from knowledge.metadata import UNSTORABLE
from knowledge.readers.headings import Heading, outlined
from knowledge.readers.text import CONTROLS, decode
from knowledge.types import BUILT_IN, Document

FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.{0,20000}?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
MOST_ENTRIES = 1000
MOST_BITS = 4096
BREAKS = ("softbreak", "hardbreak")
LIST_KEYS = {"authors": ("authors", "author"), "topics": ("topics", "tags", "keywords")}


def read(content: bytes) -> Document:
    text = decode(content)
    meta, text = _front_matter(text)
    result = outlined(_parts(text))
    return Document(
        result.passages,
        title=str(meta.get("title") or result.title),
        authors=_words(meta, "authors"),
        topics=_words(meta, "topics"),
        type=str(meta.get("type") or ""),
        metadata={k: v for k, v in meta.items() if k not in BUILT_IN | {"author", "keywords"}},
    )


def _parts(text: str) -> Iterator[Heading | str]:
    lines = text.split("\n")
    done = 0
    for token, inline in _headings(text):
        start, end = token.map
        yield "\n".join(lines[done:start])
        yield Heading(int(token.tag[1]), _plain(inline))
        done = end
    yield "\n".join(lines[done:])


def _headings(text: str) -> Iterator[tuple[Any, Any]]:
    tokens = _parser().parse(text)
    for token, inline in pairwise(tokens):
        if token.type == "heading_open" and token.level == 0:
            yield token, inline


@cache
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark")


def _plain(inline: Any) -> str:
    """A heading's words, without its markup. One that is underlined may have several lines."""
    shown = [child for child in inline.children or () if child.type in {"text", "code_inline", *BREAKS}]
    return "".join(" " if child.type in BREAKS else child.content for child in shown).strip()


def _front_matter(text: str) -> tuple[dict[str, Any], str]:
    """What stands between two lines of `---` at the top. What is no YAML stays part of the text."""
    match = FRONT_MATTER.match(text)
    if match is None:
        return {}, text
    try:
        values = yaml.load(match[1], FrontMatterLoader)  # noqa: S506 - a safe one
        if not isinstance(values, dict):
            return {}, text
        kept = {_text(str(key)): _typed(value) for key, value in values.items()}
    except Exception:  # a 13th month, 5000 digits, `!!bool maybe`: the library fails in any way there is
        return {}, text
    return {key: value for key, value in kept.items() if value is not None}, text[match.end() :]


class FrontMatterLoader(yaml.SafeLoader):
    """Without the merges (`<<`) of merges that make millions of entries of a few lines."""

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        super().flatten_mapping(node)
        if len(node.value) > MOST_ENTRIES:
            raise yaml.YAMLError("There are too many entries.")


def _typed(value: Any) -> Any:
    """Scalars and lists of scalars are metadata; what is nested deeper cannot be filtered by, and is left out."""
    if isinstance(value, list):
        scalars = [_typed(item) for item in value if not isinstance(item, list | dict)]
        return [item for item in scalars if item is not None]
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, int) and value.bit_length() > MOST_BITS:
        return None
    return value if isinstance(value, int | float | bool) else None


def _text(written: str) -> str:
    """Escapes can write what no text may hold."""
    return UNSTORABLE.sub("", CONTROLS.sub("", written))


def _words(meta: dict[str, Any], name: str) -> tuple[str, ...]:
    for key in LIST_KEYS[name]:
        value = meta.get(key)
        if isinstance(value, list):
            return tuple(str(item) for item in value)
        if value:
            return tuple(word.strip() for word in str(value).split(",") if word.strip())
    return ()
