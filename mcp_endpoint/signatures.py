"""A JSON Schema as one line that a model reads like code: a tenth of the schema's tokens, enough to choose by."""

from collections.abc import Mapping
from typing import Any

WORDS = {"integer": "number", "number": "number", "string": "string", "boolean": "boolean", "null": "null"}
MOST_PARAMETERS = 12
MOST_OPTIONS = 6
DEPTH = 2


def signature(name: str, schema: Any) -> str:
    """`create_event(title: string, start: string, attendees?: string[])`"""
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    if not isinstance(properties, Mapping):
        return f"{name}()"
    return f"{name}({_fields(schema, properties, schema, DEPTH)})"


def _fields(schema: Mapping[str, Any], properties: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> str:
    required = schema.get("required")
    needed = set(required) if isinstance(required, list) else set()
    ordered = [*(key for key in properties if key in needed), *(key for key in properties if key not in needed)]
    shown = [
        f"{key}{'' if key in needed else '?'}: {kind(properties[key], root, depth)}"
        for key in ordered[:MOST_PARAMETERS]
    ]
    return ", ".join([*shown, *(["…"] if len(ordered) > MOST_PARAMETERS else [])])


def kind(schema: Any, root: Mapping[str, Any], depth: int = DEPTH) -> str:
    """Never fails: what it cannot read is `any`."""
    if not isinstance(schema, Mapping):
        return "any"
    if isinstance(schema.get("$ref"), str):
        return kind(_target(schema["$ref"], root), root, depth - 1) if depth > 0 else "object"
    if isinstance(schema.get("enum"), list):
        return _options([_literal(value) for value in schema["enum"]])
    if "const" in schema:
        return _literal(schema["const"])
    for union in ("anyOf", "oneOf"):
        if isinstance(schema.get(union), list):
            return _options(list(dict.fromkeys(kind(option, root, depth) for option in schema[union])))
    types = schema.get("type")
    if isinstance(types, list):
        return _options([kind({**schema, "type": one}, root, depth) for one in types])
    return _plain(types, schema, root, depth)


def _plain(name: Any, schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> str:
    if name == "array":
        item = kind(schema.get("items"), root, depth - 1) if depth > 0 else "any"
        return f"({item})[]" if " | " in item else f"{item}[]"
    if name == "object":
        properties = schema.get("properties")
        if isinstance(properties, Mapping) and properties and depth > 0:
            return f"{{{_fields(schema, properties, root, depth - 1)}}}"
        return "object"
    return WORDS.get(name, "any") if isinstance(name, str) else "any"


def _options(options: list[str]) -> str:
    shown = options[:MOST_OPTIONS]
    return " | ".join([*shown, *(["…"] if len(options) > MOST_OPTIONS else [])]) or "any"


def _literal(value: Any) -> str:
    return f'"{value[:40]}"' if isinstance(value, str) else str(value).lower() if value is not None else "null"


def _target(reference: str, root: Mapping[str, Any]) -> Any:
    found: Any = root
    for part in reference.removeprefix("#/").split("/"):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found


def first_sentence(text: str, most: int = 160) -> str:
    line = " ".join(text.split())
    end = line.find(". ")
    sentence = line[: end + 1] if 0 < end < most else line
    return sentence if len(sentence) <= most else sentence[: most - 1].rstrip() + "…"
