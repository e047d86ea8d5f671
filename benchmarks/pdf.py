"""Writes plain PDFs: text on pages, and an outline. Enough to have as many pages as a benchmark wants."""

from collections.abc import Sequence
from dataclasses import dataclass

LINES = 46


@dataclass(frozen=True)
class Entry:
    """A line of the outline: its title, its page (from 0), and its depth."""

    title: str
    page: int
    depth: int = 0


def write_pdf(pages: Sequence[str], outline: Sequence[Entry] = (), title: str = "", author: str = "") -> bytes:
    count = len(pages)
    first_page = 5
    first_entry = first_page + 2 * count
    objects = [
        f"<< /Type /Catalog /Pages 2 0 R {'/Outlines 4 0 R' if outline else ''} >>",
        f"<< /Type /Pages /Count {count} /Kids [{' '.join(f'{first_page + 2 * i} 0 R' for i in range(count))}] >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
        f"<< /Type /Outlines /Count {len(outline)} {_ends(outline, first_entry, -1, 0, len(outline))} >>",
    ]
    for i, text in enumerate(pages):
        stream = _stream(text)
        box = "/MediaBox [0 0 595 842] /Resources << /Font << /F1 3 0 R >> >>"
        objects.append(f"<< /Type /Page /Parent 2 0 R {box} /Contents {first_page + 2 * i + 1} 0 R >>")
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
    objects += _entries(outline, first_entry, first_page)
    objects.append(f"<< /Title ({_escaped(title)}) /Author ({_escaped(author)}) >>")
    return _assembled(objects)


def _stream(text: str) -> str:
    lines = [line for paragraph in text.split("\n") for line in _wrapped(paragraph)][:LINES]
    return "BT /F1 11 Tf 15 TL 60 780 Td\n" + "\n".join(f"({_escaped(line)}) Tj T*" for line in lines) + "\nET"


def _wrapped(text: str, width: int = 88) -> list[str]:
    lines, line = [], ""
    for word in text.split():
        if line and len(line) + len(word) >= width:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}".strip()
    return [*lines, line]


def _entries(outline: Sequence[Entry], first: int, first_page: int) -> list[str]:
    """Each entry knows its parent, its neighbours and its first and last child."""
    written = []
    for i, entry in enumerate(outline):
        end = next((j for j in range(i + 1, len(outline)) if outline[j].depth <= entry.depth), len(outline))
        parent = next((first + j for j in range(i - 1, -1, -1) if outline[j].depth < entry.depth), 4)
        siblings = [j for j in range(len(outline)) if _parent(outline, j) == _parent(outline, i)]
        place = siblings.index(i)
        links = f"/Prev {first + siblings[place - 1]} 0 R " if place else ""
        links += f"/Next {first + siblings[place + 1]} 0 R " if place + 1 < len(siblings) else ""
        links += _ends(outline, first, entry.depth, i + 1, end)
        target = f"/Dest [{first_page + 2 * entry.page} 0 R /Fit]"
        written.append(f"<< /Title ({_escaped(entry.title)}) /Parent {parent} 0 R {links} {target} >>")
    return written


def _parent(outline: Sequence[Entry], i: int) -> int:
    return next((j for j in range(i - 1, -1, -1) if outline[j].depth < outline[i].depth), -1)


def _ends(outline: Sequence[Entry], first: int, depth: int, start: int, end: int) -> str:
    children = [first + j for j in range(start, end) if outline[j].depth == depth + 1]
    return f"/First {children[0]} 0 R /Last {children[-1]} 0 R" if children else ""


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")


def _assembled(objects: Sequence[str]) -> bytes:
    out, offsets = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, start=1):
        offsets.append(len(out))
        out += f"{number} 0 obj\n{body}\nendobj\n".encode("cp1252")
    table = "".join(f"{offset:010} 00000 n \n" for offset in offsets)
    trailer = f"<< /Size {len(objects) + 1} /Root 1 0 R /Info {len(objects)} 0 R >>"
    xref = f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}trailer\n{trailer}"
    return out + f"{xref}\nstartxref\n{len(out)}\n%%EOF\n".encode()
