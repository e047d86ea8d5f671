"""Every error that callers branch on.

ToolscriptError             code, http_status, retryable
├── BadRequest              400  the body cannot be read at all
├── Unauthorized            401  who is asking is not known
├── Forbidden               403  it is known, and may not
├── NotFound                404
├── Conflict                409
├── ValidationFailed        422  it can be read, but breaks a rule
├── RateLimited             429  try again later
├── UpstreamError           502  a service we depend on answered badly
│   ├── EmbeddingFailed          the embedding model is away or broken
│   └── UpstreamTimeout     504  it did not answer in time
└── NotReady                503  try again soon
    ├── DatabaseUnavailable
    └── QueryFailed              one statement failed; the database itself answers
        └── QueryTimeout
"""

from typing import Any, ClassVar


class ToolscriptError(Exception):
    code: ClassVar[str] = "INTERNAL_ERROR"
    http_status: ClassVar[int] = 500
    retryable: ClassVar[bool] = False

    def __init__(self, message: str, details: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.details = details or {}


class BadRequest(ToolscriptError):
    code = "BAD_REQUEST"
    http_status = 400


class ValidationFailed(ToolscriptError):
    code = "VALIDATION_ERROR"
    http_status = 422


class Unauthorized(ToolscriptError):
    code = "UNAUTHORIZED"
    http_status = 401


class Forbidden(ToolscriptError):
    code = "FORBIDDEN"
    http_status = 403


class NotFound(ToolscriptError):
    code = "NOT_FOUND"
    http_status = 404


class Conflict(ToolscriptError):
    code = "CONFLICT"
    http_status = 409


class RateLimited(ToolscriptError):
    code = "RATE_LIMITED"
    http_status = 429
    retryable = True


class UpstreamError(ToolscriptError):
    code = "UPSTREAM_ERROR"
    http_status = 502
    retryable = True


class EmbeddingFailed(UpstreamError):
    pass


class UpstreamTimeout(UpstreamError):
    http_status = 504


class NotReady(ToolscriptError):
    code = "NOT_READY"
    http_status = 503
    retryable = True


class DatabaseUnavailable(NotReady):
    pass


class QueryFailed(NotReady):
    pass


class QueryTimeout(QueryFailed):
    pass


def error_body(code: str, message: str, details: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"error": {"code": code, "message": message, "details": details or {}}, "detail": message}
