"""Takes a decision on a suggestion back: the suggestion is pending again, and its tools are where they were."""

from django.db import transaction
from django.utils import timezone

from core.errors import Conflict
from skills.models import Assignment, Skill, Suggestion, SuggestionDecision, ToolClassification
from skills.selectors import skill_ids_resolved
from skills.services.assignments import assignments_replace, tools_lock, tools_reclassify
from skills.services.skill_index import payload_sync
from skills.types import SkillChoice

Old = dict[str, list[dict[str, object]]]


def decision_last(by: str | None = None) -> SuggestionDecision | None:
    """The latest decision that still stands, of this person or of anyone."""
    decisions = SuggestionDecision.objects.filter(undone_at=None).select_related("suggestion")
    return (decisions.filter(by=by) if by is not None else decisions).first()


@transaction.atomic
def suggestion_undo(suggestion: Suggestion, *, by: str) -> SuggestionDecision:
    decision = suggestion.decisions.filter(undone_at=None).first()
    if decision is None:
        raise Conflict("There is no decision to undo.")
    old: Old = decision.before.get("assignments", {})
    tools_lock([int(pk) for pk in old])
    row = Suggestion.objects.select_for_update(of=("self",)).get(pk=suggestion.pk)
    decision = SuggestionDecision.objects.select_for_update().get(pk=decision.pk)
    if decision.undone_at is not None:
        raise Conflict("Someone else has undone this already.")
    if decision.action != SuggestionDecision.Action.REJECT:
        skill = _skill_of(decision)
        if decision.action == SuggestionDecision.Action.APPROVE:
            _refuse_if_used(skill, row)
        _restore(old, skill)
        if decision.action == SuggestionDecision.Action.APPROVE:
            _skill_remove(skill)
    row.status, row.skill, row.reason = Suggestion.Status.PENDING, None, ""
    row.decided_by, row.decided_at = "", None
    row.save()
    decision.undone_by, decision.undone_at = by[:255], timezone.now()
    decision.save()
    return decision


def _skill_of(decision: SuggestionDecision) -> Skill:
    [skill_id] = skill_ids_resolved([decision.skill_id])
    skill = Skill.objects.select_for_update().filter(pk=skill_id).first()
    if skill is None:
        raise Conflict(f"The skill {decision.skill_id!r} is no longer there.")
    return skill


def _refuse_if_used(skill: Skill, row: Suggestion) -> None:
    """A skill that people have begun to use is not pulled away under them."""
    by_hand = skill.assignments.filter(source=Assignment.Source.HUMAN).count()
    if by_hand:
        raise Conflict(
            f"People have filed {by_hand} tools under {skill.name!r} since. Merge or delete the skill instead."
        )
    if skill.suggestions.exclude(pk=row.pk).exists():
        raise Conflict(f"Another suggestion was merged into {skill.name!r} since. Undo that first.")
    if skill.aliases.exists():
        raise Conflict(f"{skill.name!r} was renamed, or another skill merged into it. Delete the skill instead.")


def _restore(old: Old, skill: Skill) -> None:
    """Only tools that are still where the decision put them: later decisions of people and classifiers stand."""
    still = set(
        skill.assignments.filter(tool_id__in=[int(pk) for pk in old], tool__classification__pinned=False).values_list(
            "tool_id", flat=True
        )
    )
    for pk in sorted(still):
        rows = old[str(pk)]
        usable = [row for row in rows if Skill.objects.filter(pk=str(row["skill_id"])).exists()]
        choices = [
            SkillChoice(str(row["skill_id"]), float(str(row["confidence"])), str(row["reasoning"])) for row in usable
        ]
        source = Assignment.Source(str(usable[0]["source"])) if usable else Assignment.Source.NEAREST
        assignments_replace({pk: choices}, source=source)
        if not choices:
            ToolClassification.objects.filter(tool_id=pk).update(status=ToolClassification.Status.SUGGESTED)


def _skill_remove(skill: Skill) -> None:
    """It was made by the decision, so it goes as if it had never been. Tools that came since are classified again."""
    others = list(skill.assignments.values_list("tool_id", flat=True))
    skill.delete()
    tools_reclassify(others)
    payload_sync(others)
