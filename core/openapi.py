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
    return result


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
