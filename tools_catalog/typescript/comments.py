"""Descriptions as comments. They come from servers, so nothing in them may end the comment."""

import json
import re
from typing import Any

from tools_catalog.typescript.names import LINE_BREAKS, deeper

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f]")
_DIRECTIVE = re.compile(r"[/*\s]*@ts-")
"""The compiler obeys it on the last line of a comment, which is its own line where there are several."""
LONGEST_DEFAULT = 200


def comment_safe(text: str) -> str:
    plain = LINE_BREAKS.sub("", _CONTROL.sub("", text.replace("\r\n", "\n").replace("\r", "\n")))
    return plain.replace("*/", "*\\/")


def comment(text: str) -> str:
    lines = [line.rstrip() for line in comment_safe(text).strip().splitlines()]
    if not lines:
        return ""
    if len(lines) == 1 and not _DIRECTIVE.match(lines[0]):
        return f"/** {lines[0]} */\n"
    return "\n".join(["/**", *(f" * {line}".rstrip() for line in lines), " */"]) + "\n"


def documented(schema: Any, code: str, comments: bool) -> str:
    """The code under what its schema says about it."""
    if not comments or not isinstance(schema, dict):
        return code
    described = schema.get("description")
    parts = [described] if isinstance(described, str) else []
    if "default" in schema and not deeper(schema["default"]):
        default = json.dumps(schema["default"], ensure_ascii=False)
        parts += [f"@default {default}"] if len(default) <= LONGEST_DEFAULT else []
    parts += ["@deprecated"] if schema.get("deprecated") is True else []
    return comment("\n".join(parts)) + code
