"""`/mcp` for the web server. Who asks is found out as everywhere else; the rest is the SDK's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.conf import settings
from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from core.api import ApiView, plain_error
from core.wire import BodyTooLarge
from mcp_endpoint.types import client_now, find_caller
from tenants.limits import client_of
from tenants.types import caller_of

if TYPE_CHECKING:
    from mcp_endpoint.bridge import HttpAnswer

NOT_OURS = {"content-length", "connection"}


class McpView(ApiView):
    """Streamable HTTP without sessions: GET and DELETE, which only sessions need, are a 405."""

    only_reads = True  # tools that do more ask for a credential themselves
    http_method_names = ["post"]

    @extend_schema(exclude=True)
    def post(self, request: Request) -> HttpResponse:
        from mcp_endpoint.bridge import exchange  # brings the SDK

        limit = settings.TOOLSCRIPT_MAX_BODY_BYTES
        body = request._request.read(limit + 1)
        if len(body) > limit:
            raise BodyTooLarge(f"The body is larger than {limit} bytes.", {"limit_bytes": limit})
        host = request.get_host()
        origins = [f"http://{host}", f"https://{host}", *settings.CSRF_TRUSTED_ORIGINS]
        caller = caller_of(request)
        who, counted = find_caller.set(lambda: caller), client_now.set(client_of(request, caller))
        try:
            return answered(exchange(dict(request.headers), body, host=host, origins=origins, limit=limit))
        finally:
            find_caller.reset(who)
            client_now.reset(counted)


def answered(answer: HttpAnswer) -> HttpResponse:
    content_type = answer.headers.get("content-type", "")
    if answer.status >= 400 and "json" not in content_type:  # the transport itself refused, in plain words
        return plain_error(answer.status, answer.body.decode("utf-8", "replace") or "The request is not acceptable.")
    kept = {name: value for name, value in answer.headers.items() if name.lower() not in NOT_OURS}
    return HttpResponse(answer.body, status=answer.status, headers=kept)
