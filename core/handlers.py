"""What Django itself answers when no view did: the error format for the API, Django's own pages for the admin."""

from typing import Any

import structlog
from django.http import HttpRequest, HttpResponse
from django.views import defaults

from core.api import is_page, plain_error

log = structlog.get_logger("toolscript.http")


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    if is_page(request):
        return defaults.bad_request(request, exception)
    return plain_error(400, "The request is not acceptable.")


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    if is_page(request):
        return defaults.permission_denied(request, exception)
    return plain_error(403, "You may not do this.")


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    if is_page(request):
        return defaults.page_not_found(request, exception)
    return plain_error(404, "There is nothing at this address.")


def server_error(request: HttpRequest) -> HttpResponse:
    log.error("unhandled", exc_info=True)  # noqa: LOG014 - Django calls this while it handles one
    if is_page(request):
        return defaults.server_error(request)
    return plain_error(500, "Something went wrong on our side.")


def csrf_failure(request: HttpRequest, reason: str = "", **_: Any) -> HttpResponse:
    if is_page(request):
        from django.views.csrf import csrf_failure as page

        return page(request, reason=reason)
    return plain_error(403, "The CSRF token is missing or wrong.")
