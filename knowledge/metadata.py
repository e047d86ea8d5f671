"""What metadata may hold: names that filters can ask for, and values that can be compared."""

import math
import re
from collections.abc import Mapping
from typing import Any

from knowledge.types import BUILT_IN, PLACE

LARGEST_NUMBER = 1e15
"""Numbers beyond this are written in more ways than one, and nobody filters by them."""
MOST_NAMES = 100
MOST_ITEMS = 200
LONGEST_NAME = 100
LONGEST_TEXT = 2000
EXPECTED = (
    f"A text (at most {LONGEST_TEXT} characters, no NUL), a number up to {LARGEST_NUMBER:.0e}, a boolean, or a list of "
    "these is expected."
)
UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def metadata_problem(name: str, value: Any) -> str | None:
    """What is wrong with this entry, in a sentence."""
    if not 1 <= len(name) <= LONGEST_NAME or not storable(name):
        return f"A name has 1 to {LONGEST_NAME} characters and no NUL."
    if name in BUILT_IN or name in PLACE:
        return f"{name} is a field that every document has by itself."
    items = value if isinstance(value, list) else [value]
    if len(items) > MOST_ITEMS:
        return f"A list has at most {MOST_ITEMS} entries."
    if not all(comparable(item) for item in items):
        return f"{EXPECTED} Larger numbers can be written as texts."
    return None


def metadata_kept(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """What is usable of metadata that a document brought along: its writer knew nothing of our rules."""
    readable = {name: _within(value) for name, value in metadata.items()}
    usable = {name: value for name, value in readable.items() if metadata_problem(name, value) is None}
    return dict(list(usable.items())[:MOST_NAMES])


def comparable(value: Any, longest: int = LONGEST_TEXT) -> bool:
    """A text that the database takes, a number that is written in one way, or a boolean."""
    if isinstance(value, str):
        return len(value) <= longest and storable(value)
    return isinstance(value, int | float) and abs(value) <= LARGEST_NUMBER  # NaN is not


def storable(text: str) -> bool:
    """No NUL and no half of a character: Postgres takes neither."""
    return not UNSTORABLE.search(text)


def _within(value: Any) -> Any:
    """Numbers that are too large, as texts: most are ids that look like numbers."""
    if isinstance(value, list):
        return [_within(item) for item in value]
    is_large = isinstance(value, int | float) and LARGEST_NUMBER < abs(value) < math.inf
    return str(value) if is_large else value
