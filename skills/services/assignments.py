"""Which tools are in which skills. Every writer of assignments comes through here.

Locks are taken in one order, tools by id and then skills, so that no two writers wait for each other.
"""

from collections.abc import Mapping, Sequence

from django.db import connection, transaction

from core.errors import NotFound, ValidationFailed
from skills.models import Assignment, ToolClassification
from skills.services.skill_index import payload_sync
from skills.types import SkillChoice
from tools_catalog.models import Tool

MAX_SKILLS_PER_TOOL = 3
MAX_REASONING = 1000

# Held until the transaction ends: a skill cannot be switched off or deleted between this look and the assignment.
USABLE = "SELECT id FROM skills_skill WHERE id = ANY(%s) AND is_active ORDER BY id FOR SHARE"


@transaction.atomic
def assignment_replace(tool: Tool, choices: Sequence[SkillChoice], *, source: Assignment.Source) -> None:
    """Files the tool under these skills and no others. The most confident choice is the primary one."""
    assignments_replace({tool.pk: choices}, source=source)


@transaction.atomic
def assignments_replace(wanted: Mapping[int, Sequence[SkillChoice]], *, source: Assignment.Source) -> None:
    """The same for many tools at once: all of them, or none."""
    for choices in wanted.values():
        if len(choices) > MAX_SKILLS_PER_TOOL or len({c.skill_id for c in choices}) != len(choices):
            raise ValidationFailed(f"A tool takes up to {MAX_SKILLS_PER_TOOL} different skills.")
    tools = tools_lock(list(wanted))
    if missing := sorted(set(wanted) - {tool.pk for tool in tools}):
        raise NotFound(f"There is no tool with the id {missing[0]}.")
    Assignment.objects.filter(tool__in=tools).delete()
    Assignment.objects.bulk_create(row for tool in tools for row in _rows(tool, wanted[tool.pk], source))
    _settle(tools, pinned=source == Assignment.Source.HUMAN)
    payload_sync(list(wanted))


@transaction.atomic
def tool_assign(tool: Tool, choices: Sequence[SkillChoice]) -> None:
    """A person files the tool: that wins over every classifier until reclassification is forced."""
    tools_assign([tool.pk], choices)


@transaction.atomic
def tools_assign(tool_ids: Sequence[int], choices: Sequence[SkillChoice]) -> None:
    tools_lock(tool_ids)
    usable = skills_usable([choice.skill_id for choice in choices])
    if unknown := [choice.skill_id for choice in choices if choice.skill_id not in usable]:
        message = f"There is no active skill with the id {unknown[0]!r}."
        raise ValidationFailed(message, {"fields": {"skills": [message]}})
    if any(not 0 <= choice.confidence <= 1 for choice in choices):
        message = "A confidence is a number from 0 to 1."
        raise ValidationFailed(message, {"fields": {"skills": [message]}})
    assignments_replace(dict.fromkeys(tool_ids, choices), source=Assignment.Source.HUMAN)


def skills_usable(skill_ids: Sequence[str]) -> set[str]:
    """Which of these are active, and stay so until the transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute(USABLE, [list(skill_ids)])
        return {row[0] for row in cursor.fetchall()}


def tools_lock(tool_ids: Sequence[int]) -> list[Tool]:
    """One writer a tool at a time. Tools that are gone are left out."""
    return list(Tool.objects.select_for_update(of=("self",)).filter(pk__in=tool_ids).order_by("pk"))


def _rows(tool: Tool, choices: Sequence[SkillChoice], source: Assignment.Source) -> list[Assignment]:
    primary = max(choices, key=lambda c: c.confidence, default=None)
    return [
        Assignment(
            tool=tool,
            skill_id=choice.skill_id,
            confidence=choice.confidence,
            is_primary=choice is primary,
            source=source,
            reasoning=choice.reasoning[:MAX_REASONING],
        )
        for choice in choices
    ]


def _settle(tools: Sequence[Tool], *, pinned: bool) -> None:
    """These are classified as they are now; a claim that is still under way comes too late."""
    ToolClassification.objects.bulk_create(
        [
            ToolClassification(
                tool=tool, status=ToolClassification.Status.ASSIGNED, pinned=pinned, key=tool.content_hash
            )
            for tool in tools
        ],
        update_conflicts=True,
        unique_fields=["tool"],
        update_fields=["status", "pinned", "key", "claim", "claimed_until", "error"],
    )
