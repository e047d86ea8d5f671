"""One TypeScript module for many tools: the types of their parameters and results, and a client that calls them."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from tools_catalog.typescript.client import CLIENT, HEADER, RESERVED
from tools_catalog.typescript.comments import comment
from tools_catalog.typescript.names import Names, access, camel, deeper, key, pascal, text
from tools_catalog.typescript.pointers import COMBINED, REFERENCES
from tools_catalog.typescript.schema import ARRAY_WORDS, SchemaTypes

RESULT_OF_ANY = "ToolResult"
_BLANK = re.compile(r"\n\s*\n+")
_DOC = re.compile(r"^ */\*\*(?:.|\n)*?\*/\n", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class CallableTool:
    server: str
    name: str
    description: str = ""
    input_schema: Mapping[str, Any] | None = None
    output_schema: Mapping[str, Any] | None = None

    @property
    def id(self) -> str:
        return f"{self.server}__{self.name}"


def render(tools: Iterable[CallableTool], *, base_url: str = "", compact: bool = False) -> str:
    """The same tools give the same module, whatever order they come in."""
    ordered = sorted(tools, key=lambda tool: (tool.server, tool.name))
    names = Names(RESERVED)
    declarations: list[str] = []
    methods: dict[tuple[str, str], str] = {}
    for tool in ordered:
        written, params, result = _types_of(tool, names, comments=not compact)
        declarations += written
        methods[tool.server, tool.name] = _method(tool, params, result, comments=not compact)
    client = CLIENT.replace("%(base_url)s", text(base_url))
    parts = [HEADER, *([] if compact else [usage(ordered)]), *declarations]
    parts += [_DOC.sub("", client) if compact else client, _tools(ordered, methods)]
    module = "\n\n".join(part.strip("\n") for part in parts if part) + "\n"
    return _BLANK.sub("\n", module) if compact else module


def usage(tools: Sequence[CallableTool]) -> str:
    """How the first of these tools is called, as a comment."""
    return f"// Example: {example_call(tools)}" if tools else "// There are no tools."


def example_call(tools: Sequence[CallableTool]) -> str:
    first = min(tools, key=lambda tool: (tool.server, tool.name))
    server = server_names(tools)[first.server]
    return f"const result = await tools{access(server)}{access(first.name)}({_example_params(first)});"


def server_names(tools: Iterable[CallableTool]) -> dict[str, str]:
    names = Names()
    return {server: names.unique(camel(server)) for server in sorted({tool.server for tool in tools})}


def _example_params(tool: CallableTool) -> str:
    schema = tool.input_schema or {}
    properties, required = schema.get("properties"), schema.get("required")
    if not isinstance(properties, Mapping) or not isinstance(required, list):
        return ""
    values = [f"{key(str(name))}: {_example_value(properties.get(name))}" for name in required]
    return f"{{ {', '.join(values)} }}" if values else ""


def _example_value(schema: Any) -> str:
    kind = schema.get("type") if isinstance(schema, Mapping) else None
    if isinstance(schema, Mapping) and isinstance(schema.get("enum"), list) and schema["enum"]:
        return text(schema["enum"][0]) if not deeper(schema["enum"][0]) else "{}"
    return {"string": '"…"', "number": "1", "integer": "1", "boolean": "true", "array": "[]"}.get(str(kind), "{}")


def _types_of(tool: CallableTool, names: Names, *, comments: bool) -> tuple[list[str], str, str]:
    stem = pascal(tool.server, tool.name)
    params = names.unique(f"{stem}Params")
    written = SchemaTypes(tool.input_schema or {"type": "object"}, params, names, comments=comments).declarations()
    if not tool.output_schema:
        return written, params, RESULT_OF_ANY
    result = names.unique(f"{stem}Result")
    return written + SchemaTypes(tool.output_schema, result, names, comments=comments).declarations(), params, result


def _method(tool: CallableTool, params: str, result: str, *, comments: bool) -> str:
    signature = f"params: {params}{' = {}' if _nothing_needed(tool.input_schema) else ''}, options: CallOptions = {{}}"
    body = f"async {key(tool.name)}({signature}): Promise<{result}> {{\n"
    body += f"  return await callTool<{result}>({text(tool.id)}, params, options{_how(tool)});\n}},"
    return (comment(tool.description) if comments else "") + body


def _how(tool: CallableTool) -> str:
    """Whether the answer is the structured one; and the server, where a name holds the separator itself."""
    readings = sum(tool.id.startswith("__", i) for i in range(len(tool.id)))
    return (", true" if tool.output_schema else ", false") + (f", {text(tool.server)}" if readings > 1 else "")


def _nothing_needed(schema: Mapping[str, Any] | None) -> bool:
    """Whether `{}` is a value of the type: an object, nothing required, nothing combined or referred to."""
    if not schema:
        return True
    plain = schema.get("type", "object") == "object" and not schema.get("required")
    more = (*REFERENCES, *COMBINED, "enum", "const", *(() if "type" in schema else ARRAY_WORDS))
    return plain and not any(word in schema for word in more)


def _tools(tools: Sequence[CallableTool], methods: Mapping[tuple[str, str], str]) -> str:
    names = server_names(tools)
    lines = ["export const tools = {"]
    for server, group in groupby(tools, key=lambda tool: tool.server):
        lines.append(f"  {key(names[server])}: {{")
        lines += ["    " + methods[tool.server, tool.name].replace("\n", "\n    ") for tool in group]
        lines.append("  },")
    return "\n".join([*lines, "};"])
