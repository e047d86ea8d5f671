"""Who asks. Every API view and the MCP endpoint come through here; the answer also decides what the database shows."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest
from rest_framework.authentication import BaseAuthentication, SessionAuthentication
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request

from core import scope
from core.errors import Forbidden, Unauthorized
from tenants.limits import client_of, rate_limit_drawn
from tenants.models import Membership
from tenants.plans import STANDARD
from tenants.services.keys import MARK, key_caller
from tenants.services.tokens import token_caller
from tenants.types import IDENTIFIED, Caller

SAFE = {"GET", "HEAD", "OPTIONS"}


class CallerAuthentication(BaseAuthentication):
    """Makes `request.user` a Caller, or refuses: 401 without a good credential, 403 or 429 with one."""

    def authenticate(self, request: Request) -> tuple[Caller, None]:
        caller = caller_from(request._request)
        if not is_read(request):
            if caller.is_anonymous:
                raise Unauthorized("This needs a credential: `Authorization: Bearer …` or `X-API-Key: …`.")
            if not caller.may_write:
                raise Forbidden("Your credential may read only.")
            check_session_form(request, caller)
        scope.enter(caller.scope)
        return caller, None

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


def is_read(request: Request) -> bool:
    view = (request.parser_context or {}).get("view")
    method = str(request.method)
    # A method that the view does not know does nothing but answer 405.
    return method in SAFE or getattr(view, "only_reads", False) or not hasattr(view, method.lower())


def caller_from(request: HttpRequest) -> Caller:
    """From the headers, else from the session of the admin, else nobody in particular."""
    if isinstance(known := request.META.get(IDENTIFIED), Caller):
        return known
    credential = credential_of(request)
    if credential:
        caller = key_caller(credential) if credential.startswith(MARK) else _by_token(credential)
        rate_limit_drawn("request", client_of(request, caller), limit=settings.CALLER_PER_MINUTE)
        return caller
    if settings.DEBUG_BYPASS_AUTH and request.headers.get("X-Debug-Bypass-Auth") == "1":
        return Caller("debug-bypass", may_write=True, is_admin=True, plan=STANDARD)
    if settings.SESSION_COOKIE_NAME in request.COOKIES and request.user.is_authenticated and request.user.is_staff:
        return caller_of_user(request.user)
    if not settings.ANONYMOUS:
        raise Unauthorized("A credential is needed: `Authorization: Bearer …` or `X-API-Key: …`.")
    rate_limit_drawn("request", client_of(request, Caller()), limit=settings.ANONYMOUS_PER_MINUTE)
    return Caller()


def credential_of(request: HttpRequest) -> str:
    """What was sent, or nothing. An empty header is a credential that went wrong, not the wish to be anonymous."""
    given = {name: request.headers[name].strip() for name in ("Authorization", "X-API-Key") if name in request.headers}
    if len(given) > 1:
        raise Unauthorized("Give one credential: Authorization or X-API-Key.")
    if "" in given.values():
        raise Unauthorized("The credential is empty.")
    bearer, key = given.get("Authorization", ""), given.get("X-API-Key", "")
    if not bearer:
        if key and not key.startswith(MARK):
            raise Unauthorized("The API key is not known.")
        return key
    scheme, _, value = bearer.partition(" ")
    if scheme.lower() != "bearer" or not value.strip():
        raise Unauthorized("The Authorization header must be `Bearer` and a token or an API key.")
    return value.strip()


def _by_token(token: str) -> Caller:
    if not settings.TOKENS.accepted:
        raise Unauthorized("The credential is not known.")
    return token_caller(token)


WRITERS = ("skills.change_skill", "tools_catalog.change_server")
"""Who has one of these in the admin may write here too. (Superusers have all.)"""


def caller_of_user(user: Any) -> Caller:
    """A member of staff, as the admin knows them. Superusers here see what is shared, as any administrator does."""
    with scope.scoped(scope.ALL):
        found = Membership.objects.select_related("tenant").filter(user=user).first()
    if found is not None and not found.tenant.is_active:
        raise Forbidden("Your tenant is switched off.")
    tenant_id, plan = (found.tenant_id, found.tenant.plan) if found else (None, STANDARD)
    may_write = any(user.has_perm(name) for name in WRITERS)
    return Caller(f"user:{user.get_username()}", tenant_id, may_write, user.is_superuser, plan)


def check_session_form(request: Request, caller: Caller) -> None:
    """A browser sends its session by itself, also for a page that is not ours: then the CSRF token must come along."""
    if caller.name.startswith("user:"):
        try:
            SessionAuthentication().enforce_csrf(request)
        except PermissionDenied:
            raise Forbidden("The CSRF token is missing or wrong.") from None
