"""From what a curator posted to one call of a service, and a sentence about what it did."""

from collections.abc import Callable, Sequence

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, QueryDict

from core.errors import NotFound, ToolscriptError, ValidationFailed
from skills.admin.desk import explained
from skills.models import Skill, Suggestion
from skills.services.curation import skill_id_check
from skills.services.suggestions import suggestion_approve, suggestion_merge, suggestion_reject
from skills.services.undo import decision_last, suggestion_undo
from skills.tasks import request_classification, request_skill_refresh
from skills.types import SkillSpec
from skills.visible import skills_seen, suggestions_seen
from tenants.admin import require_own

NEEDS = {"approve": "skills.add_skill"}
"""What a decision needs beside the right to change suggestions: an approval makes a skill."""


def decide(request: HttpRequest, suggestion: Suggestion, action: str) -> str:
    if action not in ACTIONS:
        raise ValidationFailed(f"There is no decision {action[:20]!r}.")
    require_own(suggestion.tenant_id, suggestion.name)
    sentence = ACTIONS[action](suggestion, request.POST, request.user.get_username())
    follow_up(request)
    return sentence


def follow_up(request: HttpRequest) -> None:
    """Centres of the skills that changed, and the tools that a decision put back into the queue."""
    by = request.user.get_username()
    transaction.on_commit(request_skill_refresh)
    transaction.on_commit(lambda: request_classification(by))


def approve(suggestion: Suggestion, given: QueryDict, by: str) -> str:
    spec = edited_spec(given)
    if spec is not None:
        skill_id_check(spec.id, suggestion.tenant_id)
    skill = suggestion_approve(suggestion, by=by, spec=spec)
    return f"{skill.name} is a skill now, with {skill.assignments.count()} tools."


def merge(suggestion: Suggestion, given: QueryDict, by: str) -> str:
    into = target_of(given)
    before = into.assignments.count()
    suggestion_merge(suggestion, into=into, by=by)
    return f"{suggestion.name} was merged into {into.name}: {into.assignments.count() - before} tools joined it."


def reject(suggestion: Suggestion, given: QueryDict, by: str) -> str:
    suggestion_reject(suggestion, by=by, reason=given.get("reason", "").strip())
    return f"{suggestion.name} was rejected. It will not be suggested again."


ACTIONS: dict[str, Callable[[Suggestion, QueryDict, str], str]] = {
    "approve": approve,
    "merge": merge,
    "reject": reject,
}


def edited_spec(given: QueryDict) -> SkillSpec | None:
    """None where nothing was edited: the suggestion is approved as it stands."""
    if "id" not in given:
        return None
    return SkillSpec(
        id=given.get("id", "").strip(),
        name=given.get("name", "").strip(),
        description=given.get("description", "").strip(),
        keywords=lines(given.get("keywords", "")),
        examples=lines(given.get("examples", "")),
        parent_domain=given.get("parent_domain", "").strip(),
    )


def lines(text: str) -> tuple[str, ...]:
    return tuple(line.strip() for line in text.splitlines() if line.strip())


def target_of(given: QueryDict) -> Skill:
    """The skill that was typed, or else the one that was picked."""
    wanted = given.get("other", "").strip() or given.get("into", "").strip()
    if not wanted:
        raise ValidationFailed("Choose the skill to merge into.")
    skill = skills_seen().filter(pk=wanted, deleted_at=None).first()
    if skill is None:
        raise NotFound(f"There is no skill with the id {wanted[:64]!r}.")
    return skill


def undo_last(request: HttpRequest, ids: Sequence[int]) -> int | None:
    """Takes back the decisions on these suggestions, or the last one of this person. The first that came back."""
    suggestions = list(suggestions_seen().filter(pk__in=ids))
    if not ids and (last := decision_last(request.user.get_username())):
        suggestions = [last.suggestion]
    if not suggestions:
        messages.error(request, "There is no decision of yours to undo.")
    undone: list[Suggestion] = []
    for suggestion in suggestions:
        try:
            require_own(suggestion.tenant_id, suggestion.name)
            suggestion_undo(suggestion, by=request.user.get_username())
            undone.append(suggestion)
        except ToolscriptError as exc:
            messages.error(request, f"{suggestion.name}: {explained(exc)}")
    if undone:
        follow_up(request)
        what = undone[0].name if len(undone) == 1 else f"{len(undone)} suggestions"
        messages.success(request, f"Undone: {what} {'is' if len(undone) == 1 else 'are'} pending again.")
    return undone[0].pk if undone else None
