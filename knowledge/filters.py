"""Filters on a document's facets, compiled to SQL. Fields and values only ever travel as parameters.

A field that holds a list matches when one of its elements does. Types are not converted: `1` is not `"1"`.
`ne` and `nin` are the opposites of `eq` and `in`, so they also match a document without the field.
"""

import json
from collections.abc import Iterable
from typing import Any

from knowledge.types import Condition, Filters

Params = dict[str, Any]

ORDER = {"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}


def compile_filters(filters: Filters) -> tuple[str, Params]:
    """A condition on `s.facets`, and its parameters."""
    params: Params = {}
    parts = [_compile(condition, params) for condition in filters.must]
    if filters.should:
        parts.append("(" + " OR ".join(_compile(condition, params) for condition in filters.should) + ")")
    parts += [f"NOT {_compile(condition, params)}" for condition in filters.must_not]
    return " AND ".join(parts) or "true", params


def _compile(condition: Condition, params: Params) -> str:
    """Never NULL, so that NOT means what it says."""
    field, op, value = condition.field, condition.op, condition.value
    if op in ORDER:
        path = f"'$[*] ? (@ {ORDER[op]} $v)'"
        return f"coalesce(jsonb_path_exists({_facet(field, params)}, {path}, {_json({'v': value}, params)}), false)"
    if op == "exists":
        present = f"coalesce(jsonb_typeof({_facet(field, params)}), 'null') <> 'null'"
        return f"({present})" if value else f"(NOT {present})"
    if op == "contains":
        return _contains(field, value, params)
    equal = _equals_one_of(field, value if op in {"in", "nin"} else [value], params)
    return f"(NOT {equal})" if op in {"ne", "nin"} else equal


def _equals_one_of(field: str, values: Iterable[Any], params: Params) -> str:
    """Containment, because the GIN index answers it: the value itself, or a list that holds it."""
    held = [form for value in values for form in ({field: value}, {field: [value]})]
    return "(" + (" OR ".join(f"s.facets @> {_json(form, params)}" for form in held) or "false") + ")"


def _contains(field: str, value: Any, params: Params) -> str:
    listed = f"s.facets @> {_json({field: [value]}, params)}"
    if not isinstance(value, str):
        return f"({listed})"
    facet = _facet(field, params)
    text = f"{facet} #>> '{{}}'"
    within = f"jsonb_typeof({facet}) = 'string' AND strpos({text}, {_add(value, params)}::text) > 0"
    return f"({listed} OR coalesce({within}, false))"


def _facet(field: str, params: Params) -> str:
    return f"(s.facets -> {_add(field, params)}::text)"


def _json(value: Any, params: Params) -> str:
    return f"{_add(json.dumps(value, ensure_ascii=False, allow_nan=False), params)}::jsonb"


def _add(value: Any, params: Params) -> str:
    name = f"f{len(params)}"
    params[name] = value
    return f"%({name})s"
