"""Fields of requests that the plain ones cannot say. Each has the schema of exactly what it takes."""

import base64
import binascii
from typing import Any

import orjson
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from core.fields import NO_NUL
from knowledge.metadata import LARGEST_NUMBER, comparable
from knowledge.types import OPERATORS, Condition, Filters

MOST_CONDITIONS = 50
MOST_VALUES = 100
MOST_WORDS = 20
NAME = {"type": "string", "minLength": 1, "maxLength": 100, "pattern": NO_NUL}
TEXT = {"type": "string", "maxLength": 2000, "pattern": NO_NUL}
A_NUMBER = f"a number up to {LARGEST_NUMBER:.0e}"
NUMBER = {"type": "number", "minimum": -LARGEST_NUMBER, "maximum": LARGEST_NUMBER}
SCALAR = {"anyOf": [TEXT, NUMBER, {"type": "boolean"}]}
VALUES = {
    "eq": SCALAR,
    "ne": SCALAR,
    "contains": SCALAR,
    "in": {"type": "array", "items": SCALAR, "minItems": 1, "maxItems": MOST_VALUES},
    "nin": {"type": "array", "items": SCALAR, "minItems": 1, "maxItems": MOST_VALUES},
    "gt": {"anyOf": [TEXT, NUMBER]},
    "gte": {"anyOf": [TEXT, NUMBER]},
    "lt": {"anyOf": [TEXT, NUMBER]},
    "lte": {"anyOf": [TEXT, NUMBER]},
    "exists": {"type": "boolean"},
}
METADATA = {"type": "object", "additionalProperties": {"anyOf": [SCALAR, {"type": "array", "items": SCALAR}]}}


def _condition_schema(*operators: str) -> dict[str, Any]:
    return {
        "type": "object",
        "required": ["field", "op", "value"],
        "additionalProperties": False,
        "properties": {"field": NAME, "op": {"enum": list(operators)}, "value": VALUES[operators[0]]},
    }


CONDITIONS = {
    "type": "array",
    "maxItems": MOST_CONDITIONS,
    "items": {
        "anyOf": [
            _condition_schema("eq", "ne", "contains"),
            _condition_schema("in", "nin"),
            _condition_schema("gt", "gte", "lt", "lte"),
            _condition_schema("exists"),
        ]
    },
}
FILTERS = {
    "type": "object",
    "additionalProperties": False,
    "properties": {"must": CONDITIONS, "should": CONDITIONS, "must_not": CONDITIONS},
}


@extend_schema_field(FILTERS)
class FiltersField(serializers.Field[Any, Any, Any, Any]):
    def to_internal_value(self, data: Any) -> Filters:
        if not isinstance(data, dict):
            raise serializers.ValidationError("An object with must, should and must_not is expected.")
        unknown = sorted(set(data) - {"must", "should", "must_not"})
        if unknown:
            raise serializers.ValidationError(f"{unknown[0][:100]} is not known: must, should and must_not are.")
        return Filters(**{name: _conditions(name, conditions) for name, conditions in data.items()})


def _conditions(clause: str, data: Any) -> tuple[Condition, ...]:
    if not isinstance(data, list) or len(data) > MOST_CONDITIONS:
        raise serializers.ValidationError(f"{clause}: a list of at most {MOST_CONDITIONS} conditions is expected.")
    return tuple(_condition(f"{clause}[{i}]", item) for i, item in enumerate(data))


def _condition(where: str, data: Any) -> Condition:
    if not isinstance(data, dict) or set(data) != {"field", "op", "value"}:
        raise serializers.ValidationError(f"{where}: an object with field, op and value is expected.")
    field, op, value = data["field"], data["op"], data["value"]
    if not _is_name(field):
        raise serializers.ValidationError(f"{where}: field must be a name of 1 to 100 characters.")
    if op not in OPERATORS:
        raise serializers.ValidationError(f"{where}: op must be one of {', '.join(OPERATORS)}.")
    if problem := _value_problem(op, value):
        raise serializers.ValidationError(f"{where}: {op} takes {problem}.")
    return Condition(field, op, value)


def _value_problem(op: str, value: Any) -> str | None:
    """What it should have been."""
    if op == "exists":
        return None if isinstance(value, bool) else "true or false"
    if op in {"in", "nin"}:
        fits = isinstance(value, list) and 1 <= len(value) <= MOST_VALUES and all(comparable(item) for item in value)
        return None if fits else f"a list of 1 to {MOST_VALUES} texts, numbers or booleans"
    if op in {"eq", "ne", "contains"}:
        return None if comparable(value) else f"a text, {A_NUMBER} or a boolean (for null, use exists)"
    return None if comparable(value) and not isinstance(value, bool) else f"a text or {A_NUMBER}"


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and 1 <= len(value) <= 100 and "\0" not in value


@extend_schema_field({"anyOf": [NAME, {"type": "array", "items": NAME, "maxItems": MOST_WORDS}]})
class WordsField(serializers.Field[Any, Any, Any, Any]):
    """One word, or a list of them."""

    def to_internal_value(self, data: Any) -> tuple[str, ...]:
        words = data if isinstance(data, list) else [data]
        if len(words) > MOST_WORDS or not all(
            isinstance(w, str) and 1 <= len(w) <= 100 and "\0" not in w for w in words
        ):
            raise serializers.ValidationError(f"A word, or a list of at most {MOST_WORDS}, is expected.")
        return tuple(words)


@extend_schema_field(METADATA)
class MetadataField(serializers.Field[Any, Any, Any, Any]):
    """Looked at more closely by the service, which knows the rules for every way in."""

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        if not isinstance(data, dict):
            raise serializers.ValidationError("An object is expected.")
        return data


@extend_schema_field({"type": "string", "contentMediaType": "application/json"})
class WrittenMetadata(MetadataField):
    def to_internal_value(self, data: Any) -> dict[str, Any]:
        try:
            written = orjson.loads(data)
        except (orjson.JSONDecodeError, TypeError):
            raise serializers.ValidationError("An object, written as JSON, is expected.") from None
        return super().to_internal_value(written)


def decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise serializers.ValidationError({"content": ["It is not base64."]}) from None
