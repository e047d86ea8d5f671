"""What a curator does with one tool: move it, confirm it, file it, take that back."""

from dataclasses import dataclass

from django.db import transaction

from core.errors import Conflict, NotFound, ValidationFailed
from skills.models import Assignment, Skill, ToolClassification
from skills.services.assignments import MAX_SKILLS_PER_TOOL, assignment_replace, skills_usable, tools_lock
from skills.types import SkillChoice
from tools_catalog.models import Tool

CERTAIN = 1.0
"""What a person says counts in full."""
NEARLY = 0.99
"""What the tool's other skills have at most after that, so that the person's choice is the primary one."""

Row = tuple[str, float, str, str]
"""Skill, confidence, source, reasoning."""
State = tuple[str, bool]
"""Status, pinned."""


@dataclass(frozen=True, slots=True)
class Move:
    tool: Tool
    skill: Skill
    before: list[Row]
    """How the tool was filed until now: enough to take the move back."""
    state: State | None
    """Where it stood in the pipeline; None when that had not seen it yet."""


@transaction.atomic
def tool_move(tool_id: int, *, source: str | None, target: str) -> Move:
    """Takes the tool out of one skill (None: of none) and files it under another, as a human's decision.

    It stays in its other skills. Where the tool is no longer in the skill it is to leave, somebody was faster.
    """
    tool = _locked(tool_id)
    skill = _skill_for(target, tool)
    before, state = _rows(tool), _state(tool)
    if source is not None and source not in {row[0] for row in before}:
        raise Conflict(f"{tool.name} is not in {source} any more: somebody moved it meanwhile. Nothing was changed.")
    kept = [row for row in before if row[0] not in (source, target)][: MAX_SKILLS_PER_TOOL - 1]
    choices = [SkillChoice(target, CERTAIN, "Filed by a curator.")]
    choices += [SkillChoice(skill_id, min(confidence, NEARLY), why) for skill_id, confidence, _, why in kept]
    assignment_replace(tool, choices, source=Assignment.Source.HUMAN)
    return Move(tool, skill, before, state)


def tool_confirm(tool_id: int, *, skill_id: str) -> Move:
    """Says that the tool is where it belongs."""
    return tool_move(tool_id, source=skill_id, target=skill_id)


@transaction.atomic
def tool_move_undo(tool_id: int, *, target: str, before: list[Row], state: State | None) -> Tool:
    """Files the tool as it was, unless somebody filed it anew meanwhile."""
    tool = _locked(tool_id)
    now = _rows(tool)
    if not now or now[0][0] != target or now[0][1:3] != (CERTAIN, Assignment.Source.HUMAN):
        raise Conflict(f"{tool.name} was filed anew meanwhile. Nothing was changed.")
    alive = set(Skill.objects.filter(pk__in=[row[0] for row in before], deleted_at=None).values_list("pk", flat=True))
    choices = [SkillChoice(skill_id, confidence, why) for skill_id, confidence, _, why in before if skill_id in alive]
    source = before[0][2] if before else Assignment.Source.NEAREST
    assignment_replace(tool, choices, source=Assignment.Source(source))
    _restore(tool, state)
    return tool


def _state(tool: Tool) -> State | None:
    return ToolClassification.objects.filter(tool=tool).values_list("status", "pinned").first()


def _restore(tool: Tool, state: State | None) -> None:
    """Without this, a tool that is in no skill again would count as filed, and never be looked at."""
    row = ToolClassification.objects.filter(tool=tool)
    if state is None:
        row.delete()
        return
    status, pinned = state
    # Whoever had claimed it lost the claim when it was moved.
    claimed = status == ToolClassification.Status.CLAIMED
    row.update(status=ToolClassification.Status.PENDING if claimed else status, pinned=pinned)


def _rows(tool: Tool) -> list[Row]:
    """The primary one first, then by confidence."""
    rows = tool.assignments.order_by("-is_primary", "-confidence", "skill_id")
    return [(row.skill_id, row.confidence, row.source, row.reasoning) for row in rows]


def _locked(tool_id: int) -> Tool:
    if not tools_lock([tool_id]):
        raise NotFound("This tool is not in the catalogue any more.")
    return Tool.objects.select_related("server").get(pk=tool_id)


def _skill_for(skill_id: str, tool: Tool) -> Skill:
    usable = skills_usable([skill_id])
    skill = Skill.objects.filter(pk=skill_id, deleted_at=None).first()
    if skill is None:
        raise NotFound(f"There is no skill {skill_id[:64]!r}.")
    if skill.pk not in usable:
        raise ValidationFailed(f"{skill.name} is switched off. Switch it on first.")
    if skill.tenant_id not in (None, tool.server.tenant_id):
        raise ValidationFailed(f"{skill.name} belongs to another tenant than {tool.name}.")
    return skill
