"""What the embedding model is shown of a tool, and the hashes that say whether it changed."""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from tools_catalog.types import ToolSpec

TEXT_VERSION = "t1"

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_SEPARATORS = re.compile(r"[_\-./\s]+")


def split_name(name: str) -> str:
    """`readFile` becomes `read File`, `read_file` and `read-file` become `read file`. (The model ignores case.)"""
    return " ".join(_SEPARATORS.sub(" ", _CAMEL.sub(" ", name)).split())


def parameter_names(input_schema: Any) -> list[str]:
    properties = input_schema.get("properties") if isinstance(input_schema, Mapping) else None
    return [str(name) for name in properties] if isinstance(properties, Mapping) else []


def tool_text(server: str, name: str, description: str, parameters: Iterable[str]) -> str:
    """The shipped model is trained on exactly this text: `training` builds its pairs with this function."""
    head = f"{server}: " if server else ""
    words = " ".join(split_name(parameter) for parameter in parameters)
    return " ".join(f"{head}{split_name(name)}. {description} {words}".split())


def content_hash(spec: ToolSpec) -> str:
    return _digest(
        [
            spec.type,
            spec.name,
            spec.description,
            spec.uri,
            spec.input_schema,
            spec.output_schema,
            spec.annotations,
        ]
    )


def index_key(server: str, name: str, description: str, input_schema: Any, requests: Iterable[str]) -> str:
    return _digest([server, name, description, parameter_names(input_schema), list(requests)])


def part_key(text: str | list[str]) -> str:
    return _digest(text)


def _digest(value: Any) -> str:
    canonical = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=dict)
    return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()
