"""One decision for several suggestions: first what it would do, then, confirmed, one after the other."""

from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest

from core.errors import ToolscriptError, ValidationFailed
from skills.admin.decisions import ACTIONS, NEEDS, decide, target_of
from skills.admin.desk import explained
from skills.models import Skill, Suggestion
from skills.services.preview import suggestion_preview
from skills.visible import suggestions_seen

VERBS = {"approve": "Approve", "merge": "Merge", "reject": "Reject"}


@dataclass(frozen=True, slots=True)
class BulkAnswer:
    confirm: dict[str, Any] | None = None
    """What there is to confirm; None when it is done."""
    done: list[int] = field(default_factory=list)


def bulk(request: HttpRequest) -> BulkAnswer:
    action = request.POST.get("action", "")
    if NEEDS.get(action) and not request.user.has_perm(NEEDS[action]):
        raise PermissionDenied
    try:
        ids = [int(pk) for pk in request.POST.getlist("ids") if pk.isdigit()]
        if action not in ACTIONS or not ids:
            raise ValidationFailed("Select suggestions first, then say what to do with them.")
        into = target_of(request.POST) if action == "merge" else None
    except ToolscriptError as exc:
        messages.error(request, explained(exc))
        return BulkAnswer()
    found = list(suggestions_seen().filter(pk__in=ids).order_by("-asked", "name", "id"))
    if "confirmed" not in request.POST:
        return BulkAnswer(confirm=_confirm(request, action, found, into))
    return BulkAnswer(done=_do(request, action, found))


def _confirm(request: HttpRequest, action: str, found: list[Suggestion], into: Skill | None) -> dict[str, Any]:
    previews = [(s, suggestion_preview(s, into=into)) for s in found if action != "reject"]
    return {
        "action": action,
        "verb": VERBS[action],
        "found": found,
        "previews": previews,
        "moving": sum(len(preview.moves) for _, preview in previews),
        "into": into,
        "reason": request.POST.get("reason", ""),
        "posted": {name: request.POST.get(name, "") for name in ("status", "q", "sort", "page")},
    }


def _do(request: HttpRequest, action: str, found: list[Suggestion]) -> list[int]:
    done, refused = [], []
    for suggestion in found:
        try:
            decide(request, suggestion, action)
            done.append(suggestion.pk)
        except ToolscriptError as exc:
            refused.append(f"{suggestion.name}: {explained(exc)}")
    if done:
        word = {"approve": "approved", "merge": "merged", "reject": "rejected"}[action]
        messages.success(request, f"{len(done)} {'suggestion' if len(done) == 1 else 'suggestions'} {word}.")
    for sentence in refused:
        messages.error(request, sentence)
    return done


def query_of(filters: dict[str, str]) -> str:
    """What keeps a link on the page it is on; ready for more parameters."""
    given = {"status": filters["status"], "q": filters["text"], "sort": filters["sort"]}
    kept = {name: value for name, value in given.items() if value and value not in ("pending", "asked")}
    return urlencode(kept) + "&" if kept else ""
