"""Two definitions side by side: lines that belong together, and what differs inside them."""

import difflib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

FIELDS = ("description", "uri", "input_schema", "output_schema", "annotations")
TOKENS = re.compile(r"\w+|\s+|[^\w\s]")
MOST_TOKENS = 4000
"""Longer lines are shown as changed as a whole: comparing them word by word takes too long."""
CONTEXT = 3

Segment = tuple[bool, str]
"""Whether it differs from the other side, and the text."""


@dataclass(frozen=True, slots=True)
class Row:
    left: list[Segment] | None
    right: list[Segment] | None
    """None: there is no such line on this side."""
    skipped: int = 0
    """Equal lines that are left out here."""

    @property
    def is_changed(self) -> bool:
        return self.left is None or self.right is None or any(changed for changed, _ in self.left + self.right)


@dataclass(frozen=True, slots=True)
class FieldComparison:
    name: str
    rows: list[Row]
    is_changed: bool


def field_text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)


def compare(old: dict[str, Any], new: dict[str, Any]) -> list[FieldComparison]:
    """Field by field; fields that are empty on both sides are left out."""
    result = []
    for name in FIELDS:
        left, right = field_text(old.get(name)), field_text(new.get(name))
        if left or right:
            result.append(FieldComparison(name, list(_folded(side_by_side(left, right))), left != right))
    return result


def side_by_side(left: str, right: str) -> list[Row]:
    before, after = left.splitlines(), right.splitlines()
    rows: list[Row] = []
    for tag, a, b, c, d in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag == "equal":
            rows += [Row([(False, line)], [(False, line)]) for line in before[a:b]]
            continue
        pairs = min(b - a, d - c)
        rows += [Row(*_inside(before[a + i], after[c + i])) for i in range(pairs)]
        rows += [Row([(True, line)], None) for line in before[a + pairs : b]]
        rows += [Row(None, [(True, line)]) for line in after[c + pairs : d]]
    return rows


def _inside(left: str, right: str) -> tuple[list[Segment], list[Segment]]:
    before, after = TOKENS.findall(left), TOKENS.findall(right)
    if len(before) + len(after) > MOST_TOKENS:
        return [(True, left)], [(True, right)]
    lefts: list[Segment] = []
    rights: list[Segment] = []
    for tag, a, b, c, d in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        lefts += [(tag != "equal", "".join(before[a:b]))] if b > a else []
        rights += [(tag != "equal", "".join(after[c:d]))] if d > c else []
    return lefts, rights


def _folded(rows: list[Row]) -> Iterator[Row]:
    """Long equal stretches are cut to a few lines around what changed. Without any change, nothing is cut."""
    changed = [i for i, row in enumerate(rows) if row.is_changed]
    if not changed:
        yield from rows
        return
    shown = {i for at in changed for i in range(at - CONTEXT, at + CONTEXT + 1)}
    skipped = 0
    for i, row in enumerate(rows):
        if i not in shown:
            skipped += 1
            continue
        if skipped:
            yield Row([], [], skipped)
            skipped = 0
        yield row
    if skipped:
        yield Row([], [], skipped)
