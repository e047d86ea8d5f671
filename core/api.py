"""API plumbing: strict JSON in, orjson out, and the one error format."""

import difflib
import json
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, ClassVar

import orjson
import structlog
from django.core.exceptions import PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse
from rest_framework import exceptions, serializers
from rest_framework.request import Request
from rest_framework.views import APIView

from core.errors import BadRequest, DatabaseUnavailable, ToolscriptError, ValidationFailed, error_body

log = structlog.get_logger("toolscript.api")

CODE_BY_STATUS = {
    401: "UNAUTHORIZED",
    403: "FORBIDDEN",
    404: "NOT_FOUND",
    409: "CONFLICT",
    422: "VALIDATION_ERROR",
    429: "RATE_LIMITED",
    503: "NOT_READY",
}


class ApiView(APIView):
    only_reads: ClassVar[bool] = False
    """Whether POST changes nothing here, so that whoever may read may send it."""
    http_method_names = ["get", "head", "post", "put", "patch", "delete"]


def json_body(request: Request) -> Any:
    if request.stream is None:  # DRF then asks no parser
        raise BadRequest("The body is empty; a JSON object is expected.")
    return request.data


def json_bytes(data: Any) -> bytes:
    try:
        return orjson.dumps(data)
    except TypeError:  # an integer of more than 64 bits: what Postgres makes of the 1e30 in somebody's schema
        return json.dumps(data, separators=(",", ":")).encode()


def json_response(data: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> HttpResponse:
    return HttpResponse(json_bytes(data), status=status, content_type="application/json", headers=headers)


def error_response(error: ToolscriptError) -> HttpResponse:
    return json_response(error_body(error.code, error.message, error.details), error.http_status, error_headers(error))


def error_headers(error: ToolscriptError) -> dict[str, str]:
    if error.http_status == 401:
        return {"WWW-Authenticate": 'Bearer realm="toolscript"'}
    return {"Retry-After": str(error.details.get("retry_after_s", 1))} if error.retryable else {}


def validated(serializer_class: type[serializers.Serializer[Any]], data: Any) -> dict[str, Any]:
    """The validated values, or a ValidationFailed that names every bad field."""
    serializer = _validator(serializer_class)
    if not isinstance(data, Mapping):
        message = "A JSON object is expected."
        raise ValidationFailed(f"body: {message}", {"fields": {"body": [message]}})
    refuse_unknown(data.keys(), serializer.fields.keys())
    try:
        values: dict[str, Any] = serializer.run_validation(data)
    except exceptions.ValidationError as exc:
        fields = _flat(exc.detail)
        first = next(iter(fields.items()))
        raise ValidationFailed(f"{first[0]}: {first[1][0]}", {"fields": fields}) from None
    return values


@cache
def _validator(serializer_class: type[serializers.Serializer[Any]]) -> serializers.Serializer[Any]:
    """One for all requests: validating changes nothing in a serializer, and making one copies all its fields."""
    return serializer_class()


def refuse_unknown(given: Iterable[str], known: Iterable[str]) -> None:
    names = sorted(known)
    unknown = sorted(set(given) - set(names))
    if unknown:
        close = difflib.get_close_matches(unknown[0], names, n=1)
        hint = f" Did you mean {close[0]}?" if close else f" Known are: {', '.join(names)}."
        fields = {name: ["This field is not known."] for name in unknown}
        raise ValidationFailed(f"{unknown[0][:100]}: this field is not known.{hint}", {"fields": fields})


def _flat(errors: Any) -> dict[str, list[str]]:
    """DRF nests errors of lists and dicts; callers want one flat map from field (`authors[0]`) to sentences."""
    fields: dict[str, list[str]] = {}
    for name, problems in errors.items():
        _flatten("body" if name == "non_field_errors" else str(name), problems, fields)
    return fields


def _flatten(name: str, problems: Any, fields: dict[str, list[str]]) -> None:
    if not isinstance(problems, Mapping):
        fields[name] = [str(problem) for problem in problems]
        return
    for place, nested in problems.items():
        inner = f"[{place}]" if isinstance(place, int) else "" if place == "non_field_errors" else f".{place}"
        _flatten(name + inner, nested, fields)


def exception_handler(exc: Exception, context: Any) -> HttpResponse:
    """DRF calls this for whatever a view raises."""
    if isinstance(exc, ToolscriptError):
        return error_response(exc)
    if isinstance(exc, OperationalError | InterfaceError):
        log.warning("database.unavailable", error=str(exc))
        return error_response(DatabaseUnavailable("The database is not reachable. Try again shortly."))
    if isinstance(exc, Http404):
        return plain_error(404, "There is nothing at this address.")
    if isinstance(exc, RequestDataTooBig):
        return plain_error(413, "The body is too large.")
    if isinstance(exc, PermissionDenied):
        return plain_error(403, "You may not do this.")
    if isinstance(exc, SuspiciousOperation):
        return plain_error(400, "The request is not acceptable.")
    if isinstance(exc, exceptions.APIException):
        return plain_error(exc.status_code, _message(exc))
    log.error("unhandled", exc_info=exc)
    return plain_error(500, "Something went wrong on our side.")


def plain_error(status: int, message: str) -> HttpResponse:
    fallback = "BAD_REQUEST" if status < 500 else "INTERNAL_ERROR"
    return json_response(error_body(CODE_BY_STATUS.get(status, fallback), message), status)


def _message(exc: exceptions.APIException) -> str:
    detail = exc.detail
    return str(detail) if isinstance(detail, str) else str(exc.default_detail)


def is_page(request: HttpRequest) -> bool:
    return request.path.startswith("/admin/")
