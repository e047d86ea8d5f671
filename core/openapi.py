"""Pieces of the OpenAPI description that all endpoints share."""

from typing import Any

Schema = dict[str, Any]

ERROR: Schema = {
    "type": "object",
    "required": ["error", "detail"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message", "details"],
            "properties": {
                "code": {
                    "type": "string",
                    "enum": [
                        "VALIDATION_ERROR",
                        "BAD_REQUEST",
                        "UNAUTHORIZED",
                        "FORBIDDEN",
                        "NOT_FOUND",
                        "CONFLICT",
                        "RATE_LIMITED",
                        "UPSTREAM_ERROR",
                        "NOT_READY",
                        "INTERNAL_ERROR",
                    ],
                },
                "message": {"type": "string"},
                "details": {"type": "object"},
            },
        },
        "detail": {"type": "string"},
    },
}


def record(required: dict[str, Schema], optional: dict[str, Schema] | None = None) -> Schema:
    return {"type": "object", "required": list(required), "properties": {**required, **(optional or {})}}


def array(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def nullable(kind: str) -> Schema:
    return {"type": [kind, "null"]}


def responses(success: Schema, *errors: int) -> dict[int, Schema]:
    return {200: success, **dict.fromkeys(errors, ERROR)}


def close_inputs(result: Schema, **_: Any) -> Schema:
    """Unknown fields are refused, so the description says so. Inputs are the only components there are."""
    for component in result.get("components", {}).get("schemas", {}).values():
        if component.get("type") == "object":
            component["additionalProperties"] = False
    for operation in (op for methods in result.get("paths", {}).values() for op in methods.values()):
        body = operation.get("requestBody", {})
        if any(media.get("schema", {}).get("required") for media in body.get("content", {}).values()):
            body["required"] = True  # drf-spectacular says so for serializers only
        for parameter in operation.get("parameters", []):
            parameter["schema"] = _blank_once(parameter.get("schema", {}))
    return result


def _blank_once(schema: Schema) -> Schema:
    """The library writes "this text, or nothing" as `oneOf`; a text that may be empty fits both, and so neither."""
    choices = schema.get("oneOf", [])
    if len(choices) == 2 and choices[1] == {"type": "string", "maxLength": 0}:
        return {"anyOf": choices, **{name: value for name, value in schema.items() if name != "oneOf"}}
    return schema


FOR_EVERYBODY = {"401", "403", "429"}
"""Where callers say who they are, each of these can happen; the documentation says it once, for all endpoints."""


def say_who_may(result: Schema, **_: Any) -> Schema:
    for methods in result["paths"].values():
        for operation in methods.values():
            if operation.get("security"):
                example = operation["responses"].get("422") or operation["responses"]["503"]
                for status in FOR_EVERYBODY:
                    operation["responses"].setdefault(status, example)
    return result
