"""The admin shows a member of staff their tenant's rows; a superuser sees all."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from core import scope
from core.api import is_page
from tenants.authentication import caller_of_user


class AdminScopeMiddleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        user = request.user if is_page(request) else None
        if user is None or not user.is_authenticated:
            return self.get_response(request)
        with scope.scoped(scope_of(user)):
            response = self.get_response(request)
            if hasattr(response, "render") and not getattr(response, "is_rendered", True):
                response = response.render()  # a page asks the database while it is drawn
        return response


def scope_of(user: object) -> scope.Scope:
    if getattr(user, "is_superuser", False):
        return scope.ALL
    caller = caller_of_user(user)
    return scope.Scope(caller.tenant_id, shared_writes=caller.tenant_id is None)
