"""The queue of skills that are missing: filed by classifiers and by clustering, decided by people."""

import re
from collections.abc import Sequence

from django.conf import settings
from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone

from core.errors import Conflict, ValidationFailed
from skills.models import Assignment, Skill, Suggestion, SuggestionAsker, SuggestionDecision, ToolClassification
from skills.services.assignments import (
    MAX_SKILLS_PER_TOOL,
    assignments_replace,
    skills_usable,
    tools_lock,
    tools_reclassify,
)
from skills.services.curation import RESERVED, id_taken, skill_create, skill_id_for
from skills.services.similar import centre_of, space_live, tools_near
from skills.types import SkillChoice, SkillIdea, SkillSpec
from tenants.models import Tenant

ASKED_CONFIDENCE = 0.75
"""Of a tool in the skill that was made for it, by the word of a person who looked at the suggestion."""
MAPPED_CONFIDENCE = 0.6
"""Of a tool whose suggestion a person has answered with a skill before."""
FILLER = {"tool", "skill", "and", "the", "of", "for", "a", "an", "with", "management", "operation"}
AUTOMATIC = "automatic"


def suggestion_key(name: str) -> str:
    """Names that differ in case, punctuation, plural or filler words are one suggestion."""
    words = re.findall(r"[^\W_]+", name.casefold())
    singular = [_singular(word) for word in words]
    telling = [word for word in singular if word not in FILLER]
    return " ".join(telling or singular)[:255]


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def suggestion_spec(suggestion: Suggestion) -> SkillSpec:
    """The skill that approving it unchanged would make."""
    description = " ".join(suggestion.description.split())
    if len(description) < 10:
        description = f"Tools for {suggestion.name}. {description}".strip()
    return SkillSpec(
        id=_free_id(suggestion.name, suggestion.tenant_id),
        name=suggestion.name,
        description=description[:1000],
        keywords=tuple(suggestion.keywords[:20]),
    )


def _free_id(name: str, tenant_id: int | None) -> str:
    base = re.sub(r"[^a-z0-9]+", "_", name.casefold()).strip("_")
    base = (base if re.match(r"[a-z]", base) else f"skill_{base}".rstrip("_"))[:60].rstrip("_")
    base = skill_id_for(base, tenant_id)[:60].rstrip("_")
    wanted, number = base, 2
    while wanted in RESERVED or id_taken(wanted):
        wanted, number = f"{base}_{number}", number + 1
    return wanted


@transaction.atomic
def suggestion_file(
    idea: SkillIdea, tool_ids: Sequence[int], *, origin: Suggestion.Origin, tenant: Tenant | None = None
) -> Suggestion:
    """Adds the tools to the suggestion of this name, which is made when it is new. Decided ones stay decided."""
    key = suggestion_key(idea.name)
    if not key:
        raise ValidationFailed("A suggestion needs a name.")
    texts: dict[str, object] = {
        "name": " ".join(idea.name.split())[:255],
        "description": idea.description[:1000],
        "reasoning": idea.reasoning[:1000],
        "keywords": [word[:100] for word in idea.keywords[:20]],
        "origin": origin,
    }
    suggestion = _gathered(tenant, key, texts)
    if suggestion.skill is not None and not suggestion.skill.is_active:
        # What it became is gone, so the question is open again.
        suggestion.status, suggestion.skill = Suggestion.Status.PENDING, None
    SuggestionAsker.objects.bulk_create(
        [SuggestionAsker(suggestion=suggestion, tool_id=pk, reasoning=idea.reasoning[:1000]) for pk in tool_ids],
        ignore_conflicts=True,
    )
    suggestion.asked = suggestion.askers.count()
    suggestion.save()
    enough = settings.SUGGESTION_AUTO_APPROVE
    if enough and suggestion.status == Suggestion.Status.PENDING and suggestion.asked >= enough:
        suggestion_approve(suggestion, by=AUTOMATIC)
        suggestion.refresh_from_db()
    return suggestion


def _gathered(tenant: Tenant | None, key: str, texts: dict[str, object]) -> Suggestion:
    """The row of this name, locked. Its last asker may withdraw, and the row go, before the lock is had."""
    for _ in range(2):
        made, _new = Suggestion.objects.get_or_create(tenant=tenant, key=key, defaults=texts)
        row = Suggestion.objects.select_for_update(of=("self",)).filter(pk=made.pk).first()
        if row is not None:
            return row
    raise Conflict(f"The suggestion {texts['name']!r} was withdrawn meanwhile. Try again.")


@transaction.atomic
def suggestion_approve(suggestion: Suggestion, *, by: str, spec: SkillSpec | None = None) -> Skill:
    """Makes the skill (as suggested, or edited), files the tools that asked under it, has near ones looked at."""
    row, before = _open(suggestion)
    skill = skill_create(spec or suggestion_spec(row), tenant=row.tenant)
    near = _near(row)
    _decide(row, SuggestionDecision.Action.APPROVE, by, before, skill=skill)
    tools_reclassify(near)
    return skill


@transaction.atomic
def suggestion_merge(suggestion: Suggestion, *, into: Skill, by: str) -> Skill:
    """The suggestion means a skill that exists: the tools that asked go there."""
    row, before = _open(suggestion)
    if not skills_usable([into.pk]):
        raise Conflict(f"The skill {into.pk!r} is not active.")
    _decide(row, SuggestionDecision.Action.MERGE, by, before, skill=into)
    return into


@transaction.atomic
def suggestion_reject(suggestion: Suggestion, *, by: str, reason: str = "") -> None:
    """The tools that asked stay without a skill, and the same suggestion does not come back."""
    row, before = _open(suggestion)
    _decide(row, SuggestionDecision.Action.REJECT, by, before, reason=reason)


def suggestions_lock(tool_id: int, name: str, tenant: Tenant | None) -> None:
    """What the tool asks for now and what it is about to ask for, in one order: two that swap do not wait in a ring."""
    asking = SuggestionAsker.objects.filter(tool_id=tool_id).values("suggestion_id")
    wanted = Q(pk__in=asking) | Q(tenant=tenant, key=suggestion_key(name))
    list(Suggestion.objects.select_for_update(of=("self",)).filter(wanted).order_by("pk"))


@transaction.atomic
def suggestion_withdraw(tool_id: int, *, but_for: Suggestion | None = None) -> None:
    """The tool found a place, or asks for something else: it no longer asks. What `propose` gathered stays together."""
    asking = SuggestionAsker.objects.filter(tool_id=tool_id, suggestion__status=Suggestion.Status.PENDING)
    asking = asking.exclude(suggestion__origin=Suggestion.Origin.PROPOSE).exclude(suggestion=but_for)
    ids = list(asking.values_list("suggestion_id", flat=True))
    # Locked before anything is counted: others add their tools to it at the same time.
    rows = Suggestion.objects.select_for_update(of=("self",)).filter(pk__in=ids, status=Suggestion.Status.PENDING)
    for row in rows.order_by("pk"):
        row.askers.filter(tool_id=tool_id).delete()
        row.asked = row.askers.count()
        if row.asked or row.decisions.exists():
            Suggestion.objects.filter(pk=row.pk).update(asked=row.asked)
        else:
            row.delete()


def askers_movable(suggestion: Suggestion) -> list[int]:
    """The tools that asked, without those that a person has filed since."""
    pinned = ToolClassification.objects.filter(pinned=True).values("tool_id")
    return list(suggestion.askers.exclude(tool_id__in=pinned).order_by("tool_id").values_list("tool_id", flat=True))


def choices_with(skill_id: str, old: Sequence[Assignment], reasoning: str) -> list[SkillChoice]:
    """The new skill first; what the tool was in before stays behind it, as far as there is room."""
    others = [a for a in old if a.skill_id != skill_id][: MAX_SKILLS_PER_TOOL - 1]
    ceiling = ASKED_CONFIDENCE - 0.01
    kept = [SkillChoice(a.skill_id, min(a.confidence, ceiling), a.reasoning) for a in others]
    return [SkillChoice(skill_id, ASKED_CONFIDENCE, reasoning), *kept]


def _open(suggestion: Suggestion) -> tuple[Suggestion, dict[str, object]]:
    """The row, locked, with its tools; refused when someone has decided already."""
    tools_lock(list(suggestion.askers.values_list("tool_id", flat=True)))
    row = Suggestion.objects.select_for_update(of=("self",)).get(pk=suggestion.pk)
    if row.status != Suggestion.Status.PENDING:
        raise Conflict(f"This suggestion is {row.status} already.", {"status": row.status, "by": row.decided_by})
    return row, {"assignments": {}}


def _near(suggestion: Suggestion) -> list[int]:
    space = space_live()
    askers = list(suggestion.askers.values_list("tool_id", flat=True))
    centre = centre_of(askers, space) if space else None
    return tools_near(centre, space, but_not=askers) if space and centre is not None else []


def _decide(
    row: Suggestion,
    action: SuggestionDecision.Action,
    by: str,
    before: dict[str, object],
    *,
    skill: Skill | None = None,
    reason: str = "",
) -> None:
    if skill is not None:
        before["assignments"] = _file_askers(row, skill)
    status = {"approve": "approved", "merge": "merged", "reject": "rejected"}[action]
    row.status = Suggestion.Status(status)
    row.skill, row.reason = skill, reason[:1000]
    row.decided_by, row.decided_at = by[:255], timezone.now()
    row.save()
    SuggestionDecision.objects.create(
        suggestion=row,
        action=action,
        by=by[:255],
        reason=reason[:1000],
        skill_id=skill.pk if skill else "",
        before=before,
    )


def _file_askers(row: Suggestion, skill: Skill) -> dict[str, list[dict[str, object]]]:
    """What the tools were in before, for the undo."""
    tool_ids = askers_movable(row)
    old: dict[int, list[Assignment]] = {pk: [] for pk in tool_ids}
    for assignment in Assignment.objects.filter(tool_id__in=tool_ids).order_by(F("confidence").desc()):
        old[assignment.tool_id].append(assignment)
    source = Assignment.Source.LLM if row.origin == Suggestion.Origin.LLM else Assignment.Source.NEAREST
    reasons = dict(row.askers.values_list("tool_id", "reasoning"))
    wanted = {pk: choices_with(skill.pk, old[pk], reasons.get(pk) or row.reasoning) for pk in tool_ids}
    assignments_replace(wanted, source=source)
    return {
        str(pk): [
            {"skill_id": a.skill_id, "confidence": a.confidence, "reasoning": a.reasoning, "source": a.source}
            for a in assignments
        ]
        for pk, assignments in old.items()
    }
