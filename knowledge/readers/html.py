"""HTML: what a reader would see, under its headings."""

import re
import warnings
from collections.abc import Iterator

from bs4 import BeautifulSoup, Tag, XMLParsedAsHTMLWarning
from bs4.element import NavigableString, PreformattedString

from knowledge.readers.headings import Heading, outlined
from knowledge.readers.text import BOMS, clean, decode
from knowledge.types import Document

UNSEEN = ["script", "style", "noscript", "template", "nav", "svg", "iframe", "object", "form", "button", "select"]
BLOCKS = {
    "address", "article", "aside", "blockquote", "body", "dd", "details", "div", "dl", "dt", "fieldset", "figcaption",
    "figure", "footer", "header", "hr", "html", "li", "main", "ol", "p", "pre", "section", "summary", "table", "tbody",
    "thead", "tr", "ul",
}  # fmt: skip
EDGES = {**dict.fromkeys(("tr", "li", "dt", "dd"), ("\n", "\n")), "td": ("", " | "), "th": ("", " | ")}
BLANKS = re.compile(r"\s+")
HEADINGS = {f"h{level}": level for level in range(1, 7)}


def read(content: bytes) -> Document:
    soup = _soup(content)
    authors = [str(tag.get("content") or "").strip() for tag in soup.find_all("meta", attrs={"name": "author"})]
    keywords = [str(tag.get("content") or "") for tag in soup.find_all("meta", attrs={"name": "keywords"})]
    title = soup.title.get_text(" ", strip=True) if soup.title else ""
    for tag in soup(["head", *UNSEEN]):
        tag.decompose()
    result = outlined(_parts(soup))
    return Document(
        result.passages,
        title=result.title or clean(title),
        authors=tuple(author for author in authors if author),
        topics=tuple(word.strip() for word in ",".join(keywords).split(",") if word.strip()),
    )


def _soup(content: bytes) -> BeautifulSoup:
    """A byte order mark decides, then what the page says of itself, then what the bytes look like."""
    marked = any(content.startswith(mark) for mark, _ in BOMS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", XMLParsedAsHTMLWarning)
        if marked or _is_utf8(content):
            return BeautifulSoup(decode(content), "html.parser")
        return BeautifulSoup(content, "html.parser")


def _is_utf8(content: bytes) -> bool:
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
    """In the order of the page, without recursion: pages can be nested deeper than Python's stack."""
    waiting: list[Tag | NavigableString | str] = [root]
    while waiting:
        node = waiting.pop()
        if isinstance(node, NavigableString):
            if not isinstance(node, PreformattedString):
                yield str(node) if node.find_parent("pre") else BLANKS.sub(" ", str(node))
        elif isinstance(node, str):
            yield node
        elif node.name in HEADINGS:
            yield Heading(HEADINGS[node.name], clean(node.get_text(" ", strip=True)))
        elif node.name == "br":
            yield "\n"
        else:
            before, after = EDGES.get(node.name, ("\n\n", "\n\n") if node.name in BLOCKS else ("", ""))
            waiting.append(after)
            waiting += reversed(list(node.children))  # type: ignore[arg-type]
            waiting.append(before)


def _tidy(pieces: list[str]) -> str:
    """Lines without stray blanks or cell edges, and never more than one empty line."""
    tidy: list[str] = []
    for raw in "".join(pieces).split("\n"):
        line = raw.rstrip().removesuffix(" |").rstrip()
        line = line[1:] if line[:1] == " " != line[1:2] else line  # a blank between blocks, not an indent
        if line or (tidy and tidy[-1]):
            tidy.append(line)
    return clean("\n".join(tidy).strip("\n"))
