"""Names and literals of TypeScript, from whatever servers call their things."""

import json
import math
import re
import unicodedata
from collections.abc import Iterable
from typing import Any

IDENTIFIER = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
LINE_BREAKS = re.compile("[\u2028\u2029\x7f-\x9f\ud800-\udfff\ufeff]")
MAX_DEPTH = 40
_WORDS = re.compile(r"[^\W_]+")


def pascal(*names: str) -> str:
    """`desktop-commander`, `read_file` become `DesktopCommanderReadFile`. Never empty, never starts with a digit."""
    words = [word for name in names for word in _WORDS.findall(unicodedata.normalize("NFC", name))]
    joined = "".join(word[0].upper() + word[1:] for word in words)
    kept = "".join(char for char in joined if _allowed(char))
    if not kept:
        return "Tool"
    return f"_{kept}" if kept[0].isdigit() else kept


def camel(name: str) -> str:
    made = pascal(name)
    return made[0].lower() + made[1:]


def _allowed(char: str) -> bool:
    return char.isalnum() if char.isascii() else unicodedata.category(char)[0] == "L" and char.isidentifier()


def key(name: str) -> str:
    """A property's name as it stands in an object."""
    return name if IDENTIFIER.fullmatch(name) else text(name)


def access(name: str) -> str:
    return f".{name}" if IDENTIFIER.fullmatch(name) else f"[{text(name)}]"


def text(value: Any) -> str:
    """A JSON value as it stands in code."""
    return LINE_BREAKS.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(value, ensure_ascii=False))


def deeper(value: Any, levels: int = MAX_DEPTH) -> bool:
    """Whether a JSON value is nested deeper than that."""
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return levels < 0 or any(deeper(item, levels - 1) for item in inside)


def literal(value: Any, depth: int = 0) -> str:
    """The type that only this JSON value has."""
    if depth > MAX_DEPTH:
        return "unknown"
    if isinstance(value, str):
        return text(value)
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, int | float):
        return _number(value)
    if isinstance(value, list):
        return f"[{', '.join(literal(item, depth + 1) for item in value)}]"
    if isinstance(value, dict):
        fields = "; ".join(f"{key(str(name))}: {literal(item, depth + 1)}" for name, item in value.items())
        return f"{{ {fields} }}" if fields else "Record<string, never>"
    return "unknown"


def _number(value: float) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return "number"
    return str(int(value)) if value == int(value) and abs(value) < 1e21 else repr(value)


class Names:
    """Gives each thing a name of its own: who comes second gets a 2, in the order of asking."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)
        self._last: dict[str, int] = {}
        """How far the counting has come for each name that was wanted."""

    def unique(self, wanted: str) -> str:
        name, count = wanted, self._last.get(wanted, 1)
        while name in self._taken:
            count += 1
            name = f"{wanted}{count}"
        self._last[wanted] = count
        self._taken.add(name)
        return name
