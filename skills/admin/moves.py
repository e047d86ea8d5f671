"""One tool, another skill: the rows of the skill page and of the coverage page post here."""

from typing import Any

from django.contrib import messages
from django.core import signing
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme

from core.errors import ToolscriptError, ValidationFailed
from skills.admin.desk import explained, is_partial, logged, see_other
from skills.services.filing import Move, tool_move, tool_move_undo
from skills.tasks import request_skill_refresh
from tenants.admin import require_own
from tenants.visible import visible
from tools_catalog.models import Tool

SALT = "desk.move.state"


def move(request: HttpRequest) -> HttpResponse:
    """Files a tool under another skill, as a person's decision."""
    source, target = request.POST.get("source") or None, request.POST.get("target", "").strip()
    try:
        _require_own(_number(request))
        done = tool_move(_number(request), source=source, target=target)
    except ToolscriptError as exc:
        return _answer(request, error=explained(exc))
    verb = "stays in" if source == target else "is now in"
    logged(request, done.tool, f"Filed under {done.skill.pk}" + (f", before under {source}." if source else "."))
    transaction.on_commit(request_skill_refresh)
    return _answer(request, text=f"{done.tool.name} {verb} {done.skill.name}.", token=_token(done))


def undo(request: HttpRequest) -> HttpResponse:
    try:
        tool_id, target, before, state = signing.loads(request.POST.get("token", ""), salt=SALT, max_age=86_400)
        _require_own(tool_id)
        rows = [tuple(row) for row in before]
        tool = tool_move_undo(tool_id, target=target, before=rows, state=tuple(state) if state else None)
    except signing.BadSignature:
        return _answer(request, error="This can no longer be taken back.")
    except ToolscriptError as exc:
        return _answer(request, error=explained(exc))
    logged(request, tool, "Filed as before: the last move was taken back.")
    transaction.on_commit(request_skill_refresh)
    return _answer(request, text=f"{tool.name} is filed as before.")


def _require_own(tool_id: int) -> None:
    tool = visible(Tool.objects.select_related("server"), "server__tenant").filter(pk=tool_id).first()
    if tool is not None:
        require_own(tool.server.tenant_id, tool.name)


def _token(done: Move) -> str:
    return signing.dumps([done.tool.pk, done.skill.pk, done.before, done.state], salt=SALT, compress=True)


def _number(request: HttpRequest) -> int:
    try:
        return int(request.POST.get("tool", ""))
    except ValueError:
        raise ValidationFailed("No tool was chosen.") from None


def _answer(request: HttpRequest, *, text: str = "", token: str = "", error: str = "") -> HttpResponse:
    if is_partial(request):
        context: dict[str, Any] = {"text": text, "token": token, "error": error, "back": _back(request)}
        return render(request, "desk/moved_row.html", context)
    if error:
        messages.error(request, error)
    else:
        messages.success(request, text)
    return see_other(_back(request))


def _back(request: HttpRequest) -> str:
    address = request.POST.get("back", "")
    if url_has_allowed_host_and_scheme(address, None):
        return address
    return reverse("admin:skills_skill_coverage")
