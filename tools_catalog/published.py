"""The form in which servers publish what they offer (`tools`, `prompts`, `resources`), read into specs."""

from collections.abc import Iterable, Mapping
from typing import Any

from tools_catalog.types import ToolSpec


def tool_spec(item: Mapping[str, Any]) -> ToolSpec:
    return ToolSpec(
        type="tool",
        name=item["name"],
        description=item.get("description") or "",
        input_schema=item.get("inputSchema"),
        output_schema=item.get("outputSchema"),
        annotations=item.get("annotations"),
        requests=_requests(item),
    )


def prompt_spec(item: Mapping[str, Any]) -> ToolSpec:
    return ToolSpec(
        type="prompt",
        name=item["name"],
        description=item.get("description") or "",
        input_schema=arguments_schema(item.get("arguments") or ()),
        requests=_requests(item),
    )


def resource_spec(item: Mapping[str, Any]) -> ToolSpec:
    return ToolSpec(
        type="resource",
        name=item["name"],
        description=item.get("description") or "",
        uri=item.get("uri") or item.get("uriTemplate") or "",
        annotations={"mimeType": item["mimeType"]} if item.get("mimeType") else None,
        requests=_requests(item),
    )


def arguments_schema(arguments: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """A prompt's arguments as the JSON Schema of an object, so that all items have one kind of schema."""
    arguments = list(arguments)
    return {
        "type": "object",
        "properties": {a["name"]: {"type": "string", "description": a.get("description") or ""} for a in arguments},
        "required": [a["name"] for a in arguments if a.get("required")],
    }


def _requests(item: Mapping[str, Any]) -> tuple[str, ...] | None:
    return tuple(item["requests"]) if "requests" in item else None
