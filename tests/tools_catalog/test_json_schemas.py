"""Our check of schemas says what the library's own, slower one says."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator, SchemaError  # type: ignore[import-untyped]

from tools_catalog.json_schemas import complaint

GOOD: list[Any] = [
    {},
    {"type": "object", "properties": {"a": {"type": ["string", "null"], "enum": [1, None]}}, "required": ["a"]},
    {"$defs": {"A": {"type": "object"}}, "properties": {"a": {"$ref": "#/$defs/A"}}, "additionalProperties": False},
    {"prefixItems": [True, {"type": "integer"}], "items": False, "unevaluatedItems": {"type": "string"}},
    {"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"type": "string"}]},
    {"oneOf": [{"const": 1}, {"minimum": 2}], "x-own": 3, "format": "date"},
]
BAD: list[Any] = [
    {"type": "strin"},
    {"properties": {"a": {"type": 3}}},
    {"properties": []},
    {"items": [{"type": "string"}]},
    {"required": "a"},
    {"$defs": {"A": {"minimum": "1"}}},
    {"anyOf": []},
    {"minLength": -1},
    {"$schema": 3},
    {"$schema": "http://["},
]


@pytest.mark.parametrize("schema", GOOD)
def test_good_ones_pass(schema: Any) -> None:
    assert complaint(schema) is None


@pytest.mark.parametrize("schema", BAD)
def test_bad_ones_do_not(schema: Any) -> None:
    assert complaint(schema) is not None


words = st.sampled_from(["type", "properties", "items", "required", "$defs", "allOf", "not", "minLength", "enum", "if"])
values = st.recursive(
    st.sampled_from(["object", "string", "oops", 1, -1, True, None, [], ["a"]]),
    lambda inner: st.dictionaries(words, inner, max_size=4) | st.lists(inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=150)
@given(st.dictionaries(words, values, max_size=4))
def test_the_verdict_is_that_of_the_library(schema: Any) -> None:
    try:
        Draft202012Validator.check_schema(schema)
        fine = True
    except SchemaError:
        fine = False
    assert (complaint(schema) is None) == fine
