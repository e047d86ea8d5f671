"""The patterns of published schemas, with a limit on how long each may take.

Whoever runs a server writes them, and Python's own engine can be made to search for years with one, while every other
request of the process waits.
"""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import regex
from jsonschema import validators  # type: ignore[import-untyped]
from jsonschema.exceptions import ValidationError  # type: ignore[import-untyped]

SECONDS = 0.05


class PatternUnusable(ValueError):
    pass


def matches(pattern: str, text: str) -> bool:
    try:
        return regex.search(pattern, text, timeout=SECONDS, concurrent=True) is not None
    except TimeoutError:
        raise PatternUnusable(f"the pattern {pattern!r} takes too long") from None
    except regex.error as exc:
        raise PatternUnusable(f"the pattern {pattern!r}: {exc}") from None


def bounded(kind: Any, schema: Mapping[str, Any]) -> Any:
    """That class of validators, with these patterns. What `unevaluatedProperties` does with patterns is left out."""
    text = json.dumps(schema, default=str)
    return _bounded(kind, '"unevaluatedProperties"' in text and '"patternProperties"' in text)


@cache
def _bounded(kind: Any, leave_unevaluated: bool) -> Any:
    keywords = {"pattern": _pattern, "patternProperties": _pattern_properties}
    own = kind.VALIDATORS["additionalProperties"]

    def additional(validator: Any, wanted: Any, instance: Any, schema: Mapping[str, Any]) -> Iterator[ValidationError]:
        """As the library has it, of an object that has lost what a pattern describes."""
        patterns = schema.get("patternProperties")
        if patterns and isinstance(instance, Mapping):
            instance = {name: v for name, v in instance.items() if not any(matches(p, name) for p in patterns)}
            schema = {key: value for key, value in schema.items() if key != "patternProperties"}
        for error in own(validator, wanted, instance, schema) or ():
            if wanted is False:
                error.instance = instance  # so that the names in it are those that nothing describes
            yield error

    keywords["additionalProperties"] = additional
    if leave_unevaluated:
        keywords["unevaluatedProperties"] = lambda *_: iter(())
    return validators.extend(kind, keywords)


def _pattern(validator: Any, pattern: str, instance: Any, schema: Mapping[str, Any]) -> Iterator[ValidationError]:
    if isinstance(instance, str) and not matches(pattern, instance):
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


def _pattern_properties(
    validator: Any, patterns: Mapping[str, Any], instance: Any, schema: Mapping[str, Any]
) -> Iterator[ValidationError]:
    for pattern, subschema in patterns.items() if isinstance(instance, Mapping) else ():
        for name, value in instance.items():
            if matches(pattern, name):
                yield from validator.descend(value, subschema, path=name, schema_path=pattern)
