"""What metadata may hold: names that filters can ask for, and values that can be compared."""

import math
from collections.abc import Mapping
from typing import Any

from knowledge.types import BUILT_IN, PLACE

MOST_NAMES = 100
MOST_ITEMS = 200
LONGEST_NAME = 100
LONGEST_TEXT = 2000


def metadata_problem(name: str, value: Any) -> str | None:
    """What is wrong with this entry, in a sentence."""
    if not 1 <= len(name) <= LONGEST_NAME or "\0" in name:
        return f"A name has 1 to {LONGEST_NAME} characters and no NUL."
    if name in BUILT_IN or name in PLACE:
        return f"{name} is a field that every document has by itself."
    items = value if isinstance(value, list) else [value]
    if len(items) > MOST_ITEMS:
        return f"A list has at most {MOST_ITEMS} entries."
    if not all(_usable(item) for item in items):
        return (
            f"A text (at most {LONGEST_TEXT} characters, no NUL), a number, a boolean, or a list of these is expected."
        )
    return None


def metadata_kept(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """What is usable of metadata that a document brought along: its writer knew nothing of our rules."""
    usable = {name: value for name, value in metadata.items() if metadata_problem(name, value) is None}
    return dict(list(usable.items())[:MOST_NAMES])


def _usable(value: Any) -> bool:
    if isinstance(value, str):
        return len(value) <= LONGEST_TEXT and "\0" not in value
    if isinstance(value, int):  # booleans too
        return abs(value) < 2**63
    return isinstance(value, float) and math.isfinite(value)
