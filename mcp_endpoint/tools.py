"""The tools of the MCP endpoint: one entry each, on the same services as REST."""

from collections.abc import Mapping
from typing import Any

import orjson
from mcp_types import ContentBlock, TextContent, ToolAnnotations
from pydantic import TypeAdapter

from core.api import json_bytes, validated
from core.errors import NotFound, ToolscriptError, ValidationFailed
from knowledge.bodies import knowledge_body
from knowledge.serializers import KnowledgeInput
from knowledge.services.search_knowledge import knowledge_search
from knowledge.types import KnowledgeRequest
from mcp_endpoint.signatures import first_sentence, signature
from mcp_endpoint.types import Answer, EndpointTool, client_now, in_words
from search.serializers import SearchInput
from search.services import search_tools
from search.types import SearchRequest
from skills.selectors import skill_matrix
from tenants.limits import limit_searches_of
from tenants.types import Caller
from tools_catalog.models import Tool
from tools_catalog.selectors import live_space, tool_by_id
from tools_catalog.services.gateway import prompt_get, resource_read, the_one, tool_call
from tools_catalog.types import ITEM_TYPES, ToolSchemas

CONTENT: TypeAdapter[ContentBlock] = TypeAdapter(ContentBlock)
MOST_NAMED = 40
QUERY = {"type": "string", "minLength": 1, "maxLength": 1000}
ID = {"type": "string", "maxLength": 400, "description": "As search_tools gives it: server__name."}
SERVER = {"type": "string", "maxLength": 128, "description": "Only where an id fits more than one server."}
TEXT = {"type": "string"}
LIST = {"type": "array", "items": TEXT}
WORDS = {"anyOf": [TEXT, LIST]}
"""How many and how long is left to REST's own check: models pay for every word of a schema."""


def skills_of(caller: Caller) -> list[tuple[str, str, str, int]]:
    """Id, name, description and number of tools of the skills that this caller's searches use; largest first."""
    space = live_space()
    found = skill_matrix(space, caller.tenant_id).skills if space else []
    return sorted(found, key=lambda skill: (-skill[3], skill[1]))


def _describe_search(caller: Caller) -> str:
    try:
        filled = [skill for skill in skills_of(caller) if skill[3] > 0]
    except ToolscriptError:
        filled = []
    areas = "; ".join(name for _, name, _, _ in filled[:MOST_NAMED])
    reach = f" There are tools for: {areas}." if areas else ""
    return (
        "Find the tools, prompts and resources that can do something, described in plain words. Use it whenever a task "
        f"needs a capability you do not have at hand.{reach} Gives ids with signatures, best first; get_tool shows a "
        "full schema and call_tool calls."
    )


def _search(caller: Caller, given: Mapping[str, Any]) -> Answer:
    asked = {"query": given["query"], "limit": given.get("limit", 5), "item_type": given.get("type")}
    result = search_tools(SearchRequest(**validated(SearchInput, asked), tenant_id=caller.tenant_id))
    full = given.get("schemas", False)
    found: dict[str, dict[str, Any]] = {}
    for hit in result.found.tools:
        schemas = result.schemas.get(hit.id)
        item = {
            "id": f"{hit.server}__{hit.name}",
            "type": hit.type,
            "signature": signature(f"{hit.server}__{hit.name}", _loaded(schemas)),
            "description": first_sentence(hit.description),
            "score": hit.score,
        }
        found.setdefault(f"{hit.type}:{item['id']}", {**item, "input_schema": _loaded(schemas)} if full else item)
    tools = list(found.values())
    skills = [skill.id for skill in result.found.skills]
    lines = [f"{i}. {t['signature']} [{t['type']} {t['score']:.2f}] {t['description']}" for i, t in enumerate(tools, 1)]
    nothing = "Nothing fits. Try other words, or look at list_skills."
    if result.degraded:
        nothing = f"The search is degraded ({result.degraded}). Try again shortly."
    return in_words("\n".join(lines) or nothing, {"tools": tools, "skills": skills, "degraded": result.degraded})


def _loaded(schemas: ToolSchemas | None) -> Any:
    return orjson.loads(schemas.input_schema) if schemas and schemas.input_schema else None


def _get(caller: Caller, given: Mapping[str, Any]) -> Answer:
    tool = _item(caller, given)
    body = {
        "id": given["id"],
        "type": tool.type,
        "server": tool.server.name,
        "name": tool.name,
        "description": tool.description,
        "uri": tool.uri or None,
        "input_schema": tool.input_schema,
        "output_schema": tool.output_schema,
        "annotations": tool.annotations,
        "callable": bool(tool.server.transport),
    }
    return in_words(json_bytes({k: v for k, v in body.items() if v is not None}).decode(), body)


def _item(caller: Caller, given: Mapping[str, Any]) -> Tool:
    for item_type in [given["type"]] if given.get("type") else ITEM_TYPES:
        found = tool_by_id(given["id"], item_type=item_type, tenant_id=caller.tenant_id, server=given.get("server"))
        if found:
            return the_one(found, given["id"])
    raise NotFound(f"There is no item {given['id'][:200]}. search_tools gives ids.")


def _call(caller: Caller, given: Mapping[str, Any]) -> Answer:
    kind, server = given.get("type", "tool"), given.get("server")
    arguments = given.get("arguments", {})
    if kind == "prompt":
        return _passed_on(prompt_get(given["id"], arguments, caller=caller, server=server))
    if kind == "resource":
        uri = arguments.get("uri")
        if uri is not None and not isinstance(uri, str):
            raise ValidationFailed("uri: A text is expected.", {"fields": {"arguments.uri": ["A text is expected."]}})
        return _passed_on(resource_read(given["id"], caller=caller, uri=uri, server=server))
    confirmed = given.get("confirm", False)
    return _passed_on(tool_call(given["id"], arguments, caller=caller, confirmed=confirmed, server=server))


def _passed_on(answer: dict[str, Any]) -> Answer:
    """The tool's own answer, untouched. What is no object is put into one, as older clients expect."""
    if "content" not in answer:  # a prompt's messages or a resource's contents
        return in_words(json_bytes(answer).decode(), answer)
    structured = answer.get("structuredContent")
    if structured is not None and not isinstance(structured, dict):
        structured = {"result": structured}
    content = [CONTENT.validate_python(block) for block in answer["content"]]
    return Answer(content, structured, bool(answer.get("isError")))


def _knowledge(caller: Caller, given: Mapping[str, Any]) -> Answer:
    if client := client_now.get():
        limit_searches_of(client, caller)
    asked = validated(KnowledgeInput, {"limit": 5, **_with_type(given)})
    request = KnowledgeRequest(asked["query"], asked["limit"], asked["type"], asked["topics"], caller.tenant_id)
    body = knowledge_body(knowledge_search(request))
    lines = [f"{i}. {_cited(hit)}\n{hit['content']}" for i, hit in enumerate(body["results"], 1)]
    return in_words("\n\n".join(lines) or "Nothing in the documents fits. Try other words.", body)


def _with_type(given: Mapping[str, Any]) -> dict[str, Any]:
    """`types` is what `type` was called here once."""
    if {"type", "types"} <= given.keys():
        message = "Give type alone: types is its older name."
        raise ValidationFailed(f"types: {message}", {"fields": {"types": [message]}})
    return {"type" if name == "types" else name: value for name, value in given.items()}


def _cited(hit: Mapping[str, Any]) -> str:
    source = hit["source"]
    place = source["position"]
    parts = [place.get("chapter"), place.get("section"), f"page {place['page']}" if place.get("page") else ""]
    where = ", ".join(part for part in parts if part)
    return f"[{source['title']}{f', {where}' if where else ''}] {hit['type']} {hit['score']:.2f}"


def _skills(caller: Caller, given: Mapping[str, Any]) -> Answer:
    told = given.get("descriptions", False)
    rows: list[dict[str, Any]] = []
    for skill_id, name, description, tools in skills_of(caller):
        row = {"id": skill_id, "name": name, "tools": tools}
        rows.append({**row, "description": first_sentence(description)} if told else row)
    lines = [f"{row['id']} ({row['tools']}): {row['name']}. {row.get('description', '')}".strip() for row in rows]
    return in_words("\n".join(lines) or "There are no skills yet.", {"skills": rows})


def record(properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


TOOLS = {
    tool.name: tool
    for tool in (
        EndpointTool(
            name="search_tools",
            title="Search tools",
            describe=_describe_search,
            run=_search,
            input_schema=record(
                {
                    "query": {**QUERY, "description": "What should be done, in plain words."},
                    "limit": {"type": "integer", "minimum": 1, "maximum": 20, "default": 5},
                    "type": {"type": "string", "enum": list(ITEM_TYPES), "description": "Only items of this type."},
                    "schemas": {"type": "boolean", "default": False, "description": "Full input schemas too."},
                },
                ["query"],
            ),
            output_schema={
                "type": "object",
                "properties": {
                    "tools": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "properties": {
                                "id": TEXT,
                                "type": TEXT,
                                "signature": TEXT,
                                "description": TEXT,
                                "score": {"type": "number"},
                                "input_schema": {"type": ["object", "null"]},
                            },
                            "required": ["id", "type", "signature", "description", "score"],
                        },
                    },
                    "skills": {"type": "array", "items": TEXT},
                    "degraded": {"type": ["string", "null"]},
                },
                "required": ["tools", "skills", "degraded"],
            },
        ),
        EndpointTool(
            name="get_tool",
            title="Show a tool",
            describe=lambda caller: "The full definition of one tool, prompt or resource: schemas and annotations.",
            run=_get,
            input_schema=record(
                {"id": ID, "type": {"type": "string", "enum": list(ITEM_TYPES)}, "server": SERVER}, ["id"]
            ),
            output_schema={
                "type": "object",
                "properties": {
                    **dict.fromkeys(("id", "type", "server", "name", "description"), TEXT),
                    "uri": {"type": ["string", "null"]},
                    "input_schema": {"type": ["object", "null"]},
                    "output_schema": {"type": ["object", "null"]},
                    "annotations": {"type": ["object", "null"]},
                    "callable": {"type": "boolean"},
                },
                "required": ["id", "type", "server", "name", "description", "callable"],
            },
        ),
        EndpointTool(
            name="call_tool",
            title="Call a tool",
            describe=lambda caller: (
                "Calls a tool that search_tools found and gives its answer. With type prompt or resource it gets "
                "the prompt or reads the resource."
            ),
            run=_call,
            input_schema=record(
                {
                    "id": ID,
                    "arguments": {"type": "object", "description": "As the tool's input schema says.", "default": {}},
                    "type": {"type": "string", "enum": list(ITEM_TYPES), "default": "tool"},
                    "confirm": {
                        "type": "boolean",
                        "default": False,
                        "description": "Yes, although the tool may destroy something.",
                    },
                    "server": SERVER,
                },
                ["id"],
            ),
            annotations=ToolAnnotations(read_only_hint=False, destructive_hint=True, open_world_hint=True),
            needs_write=True,
        ),
        EndpointTool(
            name="search_knowledge",
            title="Search documents",
            describe=lambda caller: (
                "Search the documents that were taken in: passages and extracted decisions, patterns and warnings, "
                "each with its source, chapter, section and page."
            ),
            run=_knowledge,
            input_schema=record(
                {
                    "query": {**QUERY, "description": "A question or topic, in plain words."},
                    "limit": {"type": "integer", "minimum": 1, "maximum": 100, "default": 5},
                    "type": {**WORDS, "description": "chunk, extraction, or types of extractions such as decision."},
                    "topics": WORDS,
                    "types": {**LIST, "description": "Older name of type."},
                },
                ["query"],
            ),
            output_schema={
                "type": "object",
                "properties": {
                    "results": {"type": "array", "items": {"type": "object"}},
                    "metadata": {"type": "object"},
                },
                "required": ["results", "metadata"],
            },
        ),
        EndpointTool(
            name="list_skills",
            title="List skills",
            describe=lambda caller: "The map of what there is: every skill with its number of tools. Cheap.",
            run=_skills,
            input_schema=record({"descriptions": {"type": "boolean", "default": False}}, []),
            output_schema={
                "type": "object",
                "properties": {
                    "skills": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "properties": {"id": TEXT, "name": TEXT, "description": TEXT, "tools": {"type": "integer"}},
                            "required": ["id", "name", "tools"],
                        },
                    }
                },
                "required": ["skills"],
            },
        ),
    )
}


def error_answer(error: ToolscriptError) -> Answer:
    body = {"error": {"code": error.code, "message": error.message, "details": error.details}}
    return Answer([TextContent(type="text", text=f"{error.code}: {error.message}")], body, is_error=True)
