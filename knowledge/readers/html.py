"""HTML: what a reader would see, under its headings."""

import re
import warnings
from collections import deque
from collections.abc import Iterator

from bs4 import BeautifulSoup, Tag, XMLParsedAsHTMLWarning
from bs4.element import NavigableString, PageElement, PreformattedString

from knowledge.readers.headings import Heading, outlined
from knowledge.readers.text import BOMS, clean, decode
from knowledge.types import Document

UNSEEN = [
    "title", "script", "style", "noscript", "template", "nav", "svg", "iframe", "object", "form", "button", "select",
]  # fmt: skip
BLOCKS = {
    "address", "article", "aside", "blockquote", "body", "dd", "details", "div", "dl", "dt", "fieldset", "figcaption",
    "figure", "footer", "header", "hr", "html", "li", "main", "ol", "p", "pre", "section", "summary", "table", "tbody",
    "thead", "tr", "ul",
}  # fmt: skip
CELL = "\x01"
"""Before each cell of a table. Not after it: a cell may end where the next one begins, without a tag."""
EDGES = {
    **dict.fromkeys(("tr", "li", "dt", "dd"), ("\n", "\n")),
    **dict.fromkeys(("td", "th"), (CELL, "")),
    "br": ("", "\n"),
}
BLANKS = re.compile(r"\s+")
HEADINGS = {f"h{level}": level for level in range(1, 7)}


def read(content: bytes) -> Document:
    soup = _soup(content)
    authors = [str(tag.get("content") or "").strip() for tag in soup.find_all("meta", attrs={"name": "author"})]
    keywords = [str(tag.get("content") or "") for tag in soup.find_all("meta", attrs={"name": "keywords"})]
    title = soup.title.get_text(" ", strip=True) if soup.title else ""
    for tag in soup(UNSEEN):  # not the head: one that nobody closed holds the whole page
        tag.decompose()
    result = outlined(_parts(soup))
    return Document(
        result.passages,
        title=result.title or clean(title),
        authors=tuple(author for author in authors if author),
        topics=tuple(word.strip() for word in ",".join(keywords).split(",") if word.strip()),
    )


def _soup(content: bytes) -> BeautifulSoup:
    """A byte order mark decides. What can be UTF-8 is that, whatever the page says; else what it says counts."""
    marked = any(content.startswith(mark) for mark, _ in BOMS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", XMLParsedAsHTMLWarning)
        if marked or _is_utf8(content):
            return BeautifulSoup(decode(content), "html.parser")
        return BeautifulSoup(content, "html.parser")


def _is_utf8(content: bytes) -> bool:
    if b"\x1b" in content:  # ISO-2022, which shifts between alphabets with it, and is ASCII besides
        return False
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _parts(soup: BeautifulSoup) -> Iterator[Heading | str]:
    text: list[str] = []
    for piece in _walk(soup):
        if isinstance(piece, Heading):
            yield _tidy(text)
            text = []
            yield piece
        else:
            text.append(piece)
    yield _tidy(text)


def _walk(root: Tag) -> Iterator[Heading | str]:
    """In the order of the page, without recursion: pages can be nested deeper than Python's stack.

    What waits comes with whether it stands in `pre`.
    """
    waiting: list[tuple[PageElement | str, bool]] = [(root, False)]
    while waiting:
        node, as_written = waiting.pop()
        if isinstance(node, Tag) and node.name in HEADINGS:
            words, rest = _heading(node)
            yield Heading(HEADINGS[node.name], clean(words))
            waiting += [(child, as_written) for child in reversed(rest)]
        elif isinstance(node, Tag):
            before, after = EDGES.get(node.name, ("\n\n", "\n\n") if node.name in BLOCKS else ("", ""))
            inside = as_written or node.name == "pre"
            waiting.append((after, inside))
            waiting += [(child, inside) for child in reversed(list(node.children))]
            waiting.append((before, inside))
        elif not isinstance(node, PreformattedString):
            is_text = isinstance(node, NavigableString) and not as_written
            yield BLANKS.sub(" ", str(node)) if is_text else str(node)


def _heading(node: Tag) -> tuple[str, deque[PageElement]]:
    """Its words, and what stands behind them in a block of its own, because nobody closed the heading."""
    words: list[str] = []
    rest = deque(node.children)
    while rest and not (words and isinstance(rest[0], Tag) and rest[0].name in {*BLOCKS, *HEADINGS}):
        child = rest.popleft()
        if isinstance(child, Tag):
            words += child.stripped_strings
        elif not isinstance(child, PreformattedString) and str(child).strip():
            words.append(str(child).strip())
    return " ".join(words), rest


def _tidy(pieces: list[str]) -> str:
    """Lines without stray blanks or cell edges, and never more than one empty line."""
    tidy: list[str] = []
    for raw in "".join(pieces).split("\n"):
        line = _row(raw) if CELL in raw else raw.rstrip()
        line = line[1:] if line[:1] == " " != line[1:2] else line  # a blank between blocks, not an indent
        if line or (tidy and tidy[-1]):
            tidy.append(line)
    return clean("\n".join(tidy).strip("\n"))


def _row(line: str) -> str:
    cells = line.rstrip(f" {CELL}").lstrip().removeprefix(CELL).split(CELL)
    return " | ".join(cell.strip() for cell in cells)
