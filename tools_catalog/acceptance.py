"""Decides item by item what of a published list comes into the catalogue. What does not is named with its reason."""

import json
from collections.abc import Callable, Container, Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any

from tools_catalog.json_schemas import complaint
from tools_catalog.published import prompt_spec, resource_spec, tool_spec
from tools_catalog.text import content_hash
from tools_catalog.types import ItemType, Refusal, ToolSpec

MAX_NAME = 255
MAX_BYTES = 1_000_000
KINDS: dict[str, tuple[ItemType, Callable[[Mapping[str, Any]], ToolSpec]]] = {
    "tools": ("tool", tool_spec),
    "prompts": ("prompt", prompt_spec),
    "resources": ("resource", resource_spec),
    "resourceTemplates": ("resource", resource_spec),
}

Published = tuple[str, Any, str]
"""Which list it is from, the item as published, and why the protocol refuses it (or nothing)."""


class Unacceptable(Exception):
    pass


def accepted(items: Iterable[Published], known: Container[str] = ()) -> tuple[list[ToolSpec], list[Refusal]]:
    """`known` are content hashes that were accepted before: their schemas need no second look."""
    specs: dict[tuple[ItemType, str], ToolSpec] = {}
    refusals = []
    for kind, item, objection in items:
        item_type, read = KINDS[kind]
        try:
            spec = _read(item, objection, read)
            if (item_type, spec.name) in specs:
                raise Unacceptable(f"another {item_type} of this name came before it in the same list")
            if content_hash(spec) not in known:
                _check(spec)
            specs[item_type, spec.name] = spec
        except Unacceptable as exc:
            refusals.append(Refusal(item_type, _name(item), str(exc)))
    return list(specs.values()), refusals


def _read(item: Any, objection: str, read: Callable[[Mapping[str, Any]], ToolSpec]) -> ToolSpec:
    if not isinstance(item, Mapping):
        raise Unacceptable("it is no object")
    name = item.get("name")
    if not isinstance(name, str) or not name.strip():
        raise Unacceptable("it has no name")
    if len(name) > MAX_NAME:
        raise Unacceptable(f"its name has {len(name)} characters; at most {MAX_NAME} are kept")
    if objection:
        raise Unacceptable(objection)
    if not isinstance(item.get("description") or "", str):
        raise Unacceptable("description: a text is expected")
    if "requests" in item and not _are_texts(item["requests"]):
        raise Unacceptable("requests: a list of texts is expected")
    try:
        text = json.dumps(item, ensure_ascii=False, allow_nan=False)
        size = len(text.encode())
        spec = read(item)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as exc:
        raise Unacceptable(f"it cannot be kept: {type(exc).__name__}") from None
    if size > MAX_BYTES:
        raise Unacceptable(f"it has {size:,} bytes; at most {MAX_BYTES:,} are kept")
    if any("\0" in text for text in (spec.name, spec.description, spec.uri, *(spec.requests or ()))):
        raise Unacceptable("it holds a NUL character")
    return spec


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


def _check(spec: ToolSpec) -> None:
    if spec.type == "tool" and not isinstance(spec.input_schema, Mapping):
        raise Unacceptable("inputSchema: an object is expected")
    if spec.type == "tool" and (spec.input_schema or {}).get("type") != "object":
        raise Unacceptable('inputSchema.type: "object" is expected')
    for name, schema in (("inputSchema", spec.input_schema), ("outputSchema", spec.output_schema)):
        if schema is not None:
            _check_schema(name, schema)


def _check_schema(name: str, schema: Any) -> None:
    if not isinstance(schema, Mapping):
        raise Unacceptable(f"{name}: an object is expected")
    try:
        found = complaint(schema)
    except RecursionError:
        raise Unacceptable(f"{name} is nested too deeply") from None
    if found is not None:
        path, message = found
        raise Unacceptable(f"{'.'.join([name, *path])} is no valid JSON Schema: {message[:200]}")


def _name(item: Any) -> str:
    name = item.get("name") if isinstance(item, Mapping) else None
    text = name if isinstance(name, str) else ""
    return text.encode("utf-8", "replace").decode().replace("\0", "")[:MAX_NAME]


def wanted(specs: Iterable[ToolSpec], include: list[str], exclude: list[str]) -> list[ToolSpec]:
    """`includeTools` and `excludeTools`: names, or patterns with `*` and `?`. Prompts and resources always pass."""

    def passes(name: str) -> bool:
        chosen = not include or any(fnmatchcase(name, pattern) for pattern in include)
        return chosen and not any(fnmatchcase(name, pattern) for pattern in exclude)

    return [spec for spec in specs if spec.type != "tool" or passes(spec.name)]
