"""Request ids and the access line."""

import re
import time
import uuid
from collections.abc import Callable

import structlog
from django.http import HttpRequest, HttpResponse

from core import metrics

log = structlog.get_logger("toolscript.http")
ACCEPTED_ID = re.compile(r"[A-Za-z0-9._:\-]{1,128}")


def request_id_for(header: str | None) -> str:
    """A caller's id is kept if it is harmless in a log line and a header; otherwise there is a new one."""
    return header if header and ACCEPTED_ID.fullmatch(header) else uuid.uuid4().hex


class RequestMiddleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        started = time.perf_counter()
        request_id = request_id_for(request.headers.get("X-Request-ID"))
        with structlog.contextvars.bound_contextvars(request_id=request_id):
            response = self.get_response(request)
            elapsed = time.perf_counter() - started
            response["X-Request-ID"] = request_id
            route = request.resolver_match.route if request.resolver_match else "unmatched"
            metrics.observe_request(request.method or "?", route, response.status_code, elapsed)
            log.info(
                "http.request",
                method=request.method,
                path=request.path,
                status=response.status_code,
                duration_ms=round(elapsed * 1000, 2),
            )
        return response
