"""Plain text, and how bytes become text for every format that is made of characters."""

import codecs
import re

from knowledge.readers import Unreadable
from knowledge.types import Document, Passage

BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")
MOST_CONTROLS = 0.02


def read(content: bytes) -> Document:
    return Document((Passage(decode(content)),))


def decode(content: bytes) -> str:
    """A byte order mark decides; then UTF-8; then Windows-1252, which is Latin-1 as people write it."""
    for mark, encoding in BOMS:
        if content.startswith(mark):
            return clean(content[len(mark) :].decode(encoding, "replace"))
    try:
        return clean(content.decode("utf-8"))
    except UnicodeDecodeError:
        return clean(content.decode("cp1252", "replace"))


def clean(text: str) -> str:
    """No control characters (Postgres takes no NUL); one that is full of them is no text at all."""
    stripped = CONTROLS.sub("", text)
    if len(text) - len(stripped) > MOST_CONTROLS * len(text):
        raise Unreadable("It is not text.")
    return stripped.replace("\r\n", "\n").replace("\r", "\n")
