"""Arguments held against a tool's input schema, before anything is sent."""

import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Any

import structlog
from jsonschema import Draft202012Validator, SchemaError  # type: ignore[import-untyped]
from jsonschema.exceptions import ValidationError, best_match  # type: ignore[import-untyped]
from jsonschema.validators import validator_for  # type: ignore[import-untyped]
from referencing import Registry
from referencing.exceptions import Unresolvable

from core.errors import ValidationFailed
from tools_catalog.patterns import bounded

log = structlog.get_logger("toolscript.gateway")
MOST_ERRORS = 20
MOST_KEPT = 1024
_lock = threading.Lock()
_kept: OrderedDict[str, Any] = OrderedDict()


def arguments_check(schema: Any, arguments: Any, *, key: str) -> None:
    """Raises ValidationFailed that names each place in the arguments. `key` stands for the schema.

    A schema that is wrong, refers to what is not in it, or has a pattern that takes too long, judges nothing: the
    server has the last word anyway.
    """
    if not isinstance(arguments, Mapping):
        message = "The arguments must be a JSON object."
        raise ValidationFailed(message, {"fields": {"arguments": [message]}})
    validator = _validator(schema, key)
    if validator is None:
        return
    try:
        errors = [_plain(error) for error, _ in zip(validator.iter_errors(arguments), range(MOST_ERRORS), strict=False)]
    except (Unresolvable, RecursionError, ValueError, TypeError, OverflowError) as exc:
        log.warning("gateway.schema_unusable", tool=key, error=f"{type(exc).__name__}: {exc}"[:300])
        return
    if errors:
        fields: dict[str, list[str]] = {}
        for path, message in errors:
            fields.setdefault(path, []).append(message)
        path, message = errors[0]
        raise ValidationFailed(f"{path}: {message}", {"fields": fields})


def _validator(schema: Any, key: str) -> Any:
    """Compiled once; the least recently used go first. None: nothing can be checked with it."""
    with _lock:
        if key in _kept:
            _kept.move_to_end(key)
            return _kept[key]
    validator = _compiled(schema, key)
    with _lock:
        _kept[key] = validator
        if len(_kept) > MOST_KEPT:
            _kept.popitem(last=False)
    return validator


def _compiled(schema: Any, key: str) -> Any:
    validator = None
    if isinstance(schema, Mapping):
        kind = validator_for(schema, default=Draft202012Validator)
        try:
            kind.check_schema(schema)
            validator = bounded(kind, schema)(schema, registry=Registry())  # an empty registry fetches nothing
        except (SchemaError, Unresolvable, RecursionError, ValueError, TypeError) as exc:
            log.warning("gateway.schema_unusable", tool=key, error=f"{type(exc).__name__}: {exc}"[:300])
    return validator


def _plain(error: ValidationError) -> tuple[str, str]:
    """Path and sentence. Of the branches of an `anyOf`, the one that fits best speaks."""
    best = best_match([error]) or error
    path = list(best.absolute_path)
    if best.validator == "required":
        missing = [name for name in best.validator_value if best.message.startswith(repr(name))]
        return _path([*path, *missing[:1]]), "This argument is required."
    if best.validator == "additionalProperties" and isinstance(best.instance, Mapping):
        known = best.schema.get("properties", {})
        unknown = [name for name in best.instance if name not in known]
        return _path([*path, *unknown[:1]]), "This argument is not known."
    return _path(path), _cut(best.message)


def _path(parts: Iterable[Any]) -> str:
    text = ""
    for part in parts:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text or "arguments"


def _cut(message: str) -> str:
    return message if len(message) <= 300 else f"{message[:140]} … {message[-140:]}"
