"""Arguments against schemas of every kind that servers publish."""

import socket
from typing import Any

import pytest

from core.errors import ValidationFailed
from tools_catalog.arguments import arguments_check


def paths(schema: Any, arguments: Any) -> list[str]:
    try:
        arguments_check(schema, arguments, key=repr(schema))
    except ValidationFailed as exc:
        return list(exc.details["fields"])
    return []


ITEM = {"type": "object", "properties": {"price": {"type": "number", "minimum": 0}}, "required": ["price"]}
ORDER = {
    "type": "object",
    "properties": {"items": {"type": "array", "items": {"$ref": "#/$defs/item"}}},
    "$defs": {"item": ITEM},
}
DRAFT_7 = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "definitions": {"n": {"type": "integer"}},
    "properties": {"n": {"$ref": "#/definitions/n"}},
}
DRAFT_4 = {
    "$schema": "http://json-schema.org/draft-04/schema#",
    "properties": {"n": {"maximum": 3, "exclusiveMaximum": True}},
}
PATTERNS = {
    "properties": {"n": {}},
    "patternProperties": {"^x-": {"type": "integer"}},
    "additionalProperties": False,
}
TREE = {"type": "object", "properties": {"left": {"$ref": "#"}, "value": {"type": "integer"}}}


@pytest.mark.parametrize(
    ("schema", "arguments", "expected"),
    [
        (ORDER, {"items": [{"price": 1}, {"price": -1}]}, ["items[1].price"]),
        (ORDER, {"items": [{}]}, ["items[0].price"]),
        (ORDER, {"items": [{"price": 1}]}, []),
        (TREE, {"left": {"left": {"value": "x"}}}, ["left.left.value"]),
        ({"type": "object", "additionalProperties": False, "properties": {"a": {}}}, {"b": 1}, ["b"]),
        ({"type": "object", "required": ["a", "b"]}, {}, ["a", "b"]),
        ({"type": "object", "minProperties": 1}, {}, ["arguments"]),
        ({"properties": {"a": {"anyOf": [{"type": "integer"}, {"type": "null"}]}}}, {"a": "x"}, ["a"]),
        (DRAFT_7, {"n": 1.5}, ["n"]),
        (DRAFT_4, {"n": 3}, ["n"]),
        ({"properties": {"day": {"format": "date-time"}}}, {"day": "2026-11-30T15:00"}, []),
        ({"properties": {"id": {"pattern": r"^\d+$"}}}, {"id": "12a"}, ["id"]),
        ({"properties": {"id": {"pattern": r"^\d+$"}}}, {"id": "12"}, []),
        ({"properties": {"id": {"pattern": "x"}}}, {"id": 5}, []),
        (PATTERNS, {"x-a": 1, "n": 2}, []),
        (PATTERNS, {"x-a": "one", "n": 2}, ["x-a"]),
        (PATTERNS, {"x-a": 1, "y": 2}, ["y"]),
        ({**PATTERNS, "additionalProperties": {"type": "null"}}, {"x-a": 1, "y": 2, "z": None}, ["y"]),
        ({**PATTERNS, "unevaluatedProperties": False}, {"x-a": "one", "n": 1}, ["x-a"]),
    ],
)
def test_the_place_is_named(schema: Any, arguments: Any, expected: list[str]) -> None:
    assert paths(schema, arguments) == expected


@pytest.mark.parametrize(
    "schema",
    [
        None,
        {},
        True,
        {"type": "objekt"},
        {"type": "object", "properties": []},
        {"$ref": "#"},
        {"$ref": "#/$defs/nowhere"},
        {"$ref": "https://schemas.example/remote.json"},
        {"$schema": "https://schemas.example/own-draft", "properties": {"a": {"type": "object"}}},
        {"properties": {"a": {"pattern": "("}}},
        {"properties": {"a": {"multipleOf": 0}}},
        {"allOf": [{"$ref": "#/allOf/0"}]},
    ],
)
def test_a_schema_that_is_wrong_judges_nothing_and_fetches_nothing(
    schema: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_network(*_: Any) -> None:
        raise AssertionError("a schema must not be fetched")

    monkeypatch.setattr(socket.socket, "connect", no_network)
    arguments_check(schema, {"a": {}} if schema is True else {"b": "x"}, key=repr(schema))


@pytest.mark.parametrize("arguments", [None, [], "x", 5])
def test_arguments_are_an_object(arguments: Any) -> None:
    assert paths({}, arguments) == ["arguments"]


def test_a_long_value_does_not_make_a_long_error() -> None:
    with pytest.raises(ValidationFailed) as caught:
        arguments_check({"properties": {"a": {"maxLength": 3}}}, {"a": "x" * 100_000}, key="long")
    assert len(caught.value.message) < 400


EVIL = "^(a|aa)+$"
LONG = "a" * 40 + "!"


@pytest.mark.parametrize(
    ("schema", "arguments"),
    [
        ({"properties": {"id": {"pattern": EVIL}}}, {"id": LONG}),
        ({"patternProperties": {EVIL: {"type": "integer"}}}, {LONG: "x"}),
        ({"patternProperties": {EVIL: {}}, "additionalProperties": False}, {LONG: "x"}),
        ({"additionalProperties": False, "patternProperties": {EVIL: {}}}, {LONG: "x"}),
        ({"unevaluatedProperties": False, "patternProperties": {EVIL: {}}}, {LONG: "x"}),
        ({"propertyNames": {"pattern": EVIL}}, {LONG: "x"}),
    ],
)
def test_a_pattern_that_would_search_for_years_judges_nothing(schema: Any, arguments: Any) -> None:
    """With Python's own engine this test does not end."""
    assert paths(schema, arguments) == []
