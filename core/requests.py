"""Request ids and the access line."""

import io
import re
import time
import uuid
from collections.abc import Callable
from typing import Any

import structlog
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.middleware.common import CommonMiddleware

from core import metrics, scope

log = structlog.get_logger("toolscript.http")
METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
PROBES = {"/health", "/ready", "/metrics"}
ACCEPTED_ID = re.compile(r"[A-Za-z0-9._:\-]{1,128}")


def request_id_for(header: str | None) -> str:
    """A caller's id is kept if it is harmless in a log line and a header; otherwise there is a new one."""
    return header if header and ACCEPTED_ID.fullmatch(header) else uuid.uuid4().hex


def take_chunked_body(request: HttpRequest) -> None:
    """Django reads as much as Content-Length says; a chunked body has none, and the server marks its end."""
    meta = request.META
    chunked = "HTTP_TRANSFER_ENCODING" in meta and not meta.get("CONTENT_LENGTH")
    if chunked and meta.get("wsgi.input_terminated"):
        limit = settings.LARGE_BODIES.get(request.path, settings.TOOLSCRIPT_MAX_BODY_BYTES)
        body = meta["wsgi.input"].read(limit + 1)
        meta["CONTENT_LENGTH"] = str(len(body))
        request._stream = io.BytesIO(body)


class HostMiddleware(CommonMiddleware):
    """Refuses requests for other hosts, so that no web page can reach a local service under its own name.

    Probes come by address, from whoever runs the machines.
    """

    def process_request(self, request: HttpRequest) -> Any:
        return None if request.path in PROBES else super().process_request(request)


class RequestMiddleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        started = time.perf_counter()
        take_chunked_body(request)
        request_id = request_id_for(request.headers.get("X-Request-ID"))
        with structlog.contextvars.bound_contextvars(request_id=request_id), scope.scoped(scope.SHARED):
            response = self.get_response(request)
            elapsed = time.perf_counter() - started
            response["X-Request-ID"] = request_id
            route = request.resolver_match.route if request.resolver_match else "unmatched"
            method = request.method if request.method in METHODS else "other"
            metrics.observe_request(str(method), route, response.status_code, elapsed)
            log.info(
                "http.request",
                method=request.method,
                path=request.path,
                status=response.status_code,
                duration_ms=round(elapsed * 1000, 2),
            )
        return response
