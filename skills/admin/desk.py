"""What the pages of the desk have in common: who may, how an answer goes back, what is written to the log."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.contrib import messages
from django.contrib.admin.models import CHANGE, LogEntry
from django.core.exceptions import PermissionDenied
from django.db.models import Model
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.views.decorators.http import require_POST
from unfold.admin import ModelAdmin

from core.errors import ToolscriptError

View = Callable[..., HttpResponse]


def is_partial(request: HttpRequest) -> bool:
    """A script asks for a part of the page; without scripts the whole page comes back."""
    return request.headers.get("HX-Request") == "true"


def page(admin: ModelAdmin, request: HttpRequest, template: str, title: str, **context: Any) -> TemplateResponse:
    request.current_app = admin.admin_site.name
    return TemplateResponse(request, template, {**admin.admin_site.each_context(request), "title": title, **context})


def see_other(address: str) -> HttpResponse:
    response = HttpResponseRedirect(address)
    response.status_code = 303
    return response


def viewing(admin: ModelAdmin, view: View) -> View:
    return admin.admin_site.admin_view(_guarded(view, admin.has_view_permission))  # type: ignore[no-any-return]


def changing(admin: ModelAdmin, view: View) -> View:
    """POST only, with the CSRF token that the admin asks for, by those who may change the model."""
    return admin.admin_site.admin_view(require_POST(_guarded(view, admin.has_change_permission)))  # type: ignore[no-any-return]


def _guarded(view: View, allowed: Callable[[HttpRequest], bool]) -> View:
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not allowed(request):
            raise PermissionDenied
        return view(request, *args, **kwargs)

    return guarded


@contextmanager
def told(request: HttpRequest) -> Iterator[None]:
    """What a service refuses is said to the curator in its own words."""
    try:
        yield
    except ToolscriptError as exc:
        messages.error(request, explained(exc))


def explained(error: ToolscriptError) -> str:
    fields = error.details.get("fields") or {}
    parts = [f"{name}: {problem}" for name, problems in fields.items() for problem in problems]
    return " ".join([error.message, *parts])


def logged(request: HttpRequest, item: Model, sentence: str) -> None:
    """For the history that the admin shows with every object."""
    LogEntry.objects.log_actions(str(request.user.pk), [item], CHANGE, sentence, single_object=True)
