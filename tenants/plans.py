"""What a caller may ask for: how often, how much at once, and which metadata. Imports nothing: settings read it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Plan:
    name: str
    searches_per_minute: int
    """0: no limit"""
    max_top_k: int
    fields: frozenset[str] | None = None
    """The metadata that may be filtered by and shown; None: all of it."""

    def may_use(self, field: str) -> bool:
        return self.fields is None or field in self.fields


PUBLIC = "public"
STANDARD = "standard"
DEFAULTS = {
    PUBLIC: Plan(PUBLIC, searches_per_minute=60, max_top_k=50),
    STANDARD: Plan(STANDARD, searches_per_minute=600, max_top_k=200),
}
KEYS = {"searches_per_minute", "max_top_k", "fields"}
MOST = 1000


def plans_from(text: str) -> dict[str, Plan]:
    """`{"public": {"searches_per_minute": 60, "max_top_k": 50, "fields": ["title"]}}`; what is left out stays as it is.

    A new plan starts from `standard`. Raises ValueError with a sentence.
    """
    try:
        given = json.loads(text) if text else {}
    except ValueError:
        raise ValueError("it is not JSON") from None
    if not isinstance(given, dict) or not all(isinstance(values, dict) for values in given.values()):
        raise ValueError("an object of plans is expected, each an object")
    plans = dict(DEFAULTS)
    for name, values in given.items():
        plans[name] = _plan(name, plans.get(name, DEFAULTS[STANDARD]), values)
    return plans


def _plan(name: str, base: Plan, values: Mapping[str, Any]) -> Plan:
    unknown = sorted(set(values) - KEYS)
    if unknown:
        raise ValueError(f"plan {name}: {unknown[0]} is not known")
    fields = values.get("fields", base.fields)
    if fields is not None and not (isinstance(fields, list | frozenset) and all(isinstance(f, str) for f in fields)):
        raise ValueError(f"plan {name}: fields must be a list of names, or null")
    return Plan(
        name,
        _number(name, "searches_per_minute", values, base.searches_per_minute, low=0),
        _number(name, "max_top_k", values, base.max_top_k, low=1, high=MOST),
        None if fields is None else frozenset(fields),
    )


def _number(name: str, key: str, values: Mapping[str, Any], default: int, *, low: int, high: int = 10**9) -> int:
    value = values.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise ValueError(f"plan {name}: {key} must be a whole number from {low} to {high}")
    return value
