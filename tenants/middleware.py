"""The admin shows a member of staff their tenant's rows; a superuser sees all."""

from collections.abc import Callable

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from core import scope
from core.api import is_page
from core.errors import Forbidden
from tenants.authentication import caller_of_user

DOORS = ("admin:login", "admin:logout")
"""Open to everybody, also to staff whose tenant is switched off."""


class AdminScopeMiddleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        user = request.user if is_page(request) else None
        if user is None or not user.is_authenticated:
            return self.get_response(request)
        try:
            mine = scope_of(user)
        except Forbidden as exc:
            if request.path not in {reverse(name) for name in DOORS}:
                return refusal(request, exc)
            mine = scope.SHARED
        with scope.scoped(mine):
            response = self.get_response(request)
            if hasattr(response, "render") and not getattr(response, "is_rendered", True):
                response = response.render()  # a page asks the database while it is drawn
        return response


def scope_of(user: object) -> scope.Scope:
    if getattr(user, "is_superuser", False):
        return scope.ALL
    caller = caller_of_user(user)
    return scope.Scope(caller.tenant_id, shared_writes=caller.tenant_id is None)


def refusal(request: HttpRequest, error: Forbidden) -> HttpResponse:
    """A page that says why, with the way out."""
    with scope.scoped(scope.SHARED):
        context = {**admin.site.each_context(request), "title": "No access", "reason": error.message}
        return render(request, "admin/tenants/refused.html", context, status=error.http_status)
