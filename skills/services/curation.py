"""What curators do: skills and which tools are in them."""

from collections.abc import Sequence

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils import timezone

from core.errors import Conflict, ValidationFailed
from skills.models import Assignment, Skill
from skills.services.skill_index import payload_sync
from skills.types import SkillChoice, SkillSpec
from tenants.models import Tenant
from tools_catalog.models import Tool

MAX_SKILLS_PER_TOOL = 3


def skill_create(spec: SkillSpec, *, tenant: Tenant | None = None) -> Skill:
    skill = Skill(
        id=spec.id,
        tenant=tenant,
        name=spec.name,
        description=spec.description,
        keywords=list(spec.keywords),
        examples=list(spec.examples),
        parent_domain=spec.parent_domain,
    )
    try:
        with transaction.atomic():
            return skill_save(skill, new=True)
    except IntegrityError as exc:
        raise Conflict(f"A skill with the id {spec.id!r} exists already.") from exc


@transaction.atomic
def skill_save(skill: Skill, *, new: bool = False) -> Skill:
    """Saves a skill that was changed; its vectors follow with the next refresh of the index."""
    try:
        skill.full_clean(validate_unique=False, validate_constraints=False)
    except ValidationError as exc:
        raise ValidationFailed(f"The skill {skill.pk!r} is not valid.", {"fields": exc.message_dict}) from exc
    skill.save(force_insert=new)
    skill.vectors.update(is_active=skill.is_active)
    payload_sync(list(skill.assignments.values_list("tool_id", flat=True)))
    return skill


def skill_set_active(skill: Skill, *, active: bool) -> None:
    skill.is_active = active
    skill_save(skill)


def skill_delete(skill: Skill) -> None:
    """Soft: the row and its assignments stay, searches and lists no longer see it."""
    skill.deleted_at = timezone.now()
    skill_set_active(skill, active=False)


@transaction.atomic
def assignment_replace(tool: Tool, choices: Sequence[SkillChoice], *, source: Assignment.Source) -> None:
    """Files the tool under these skills and no others. The most confident choice is the primary one."""
    if len(choices) > MAX_SKILLS_PER_TOOL or len({c.skill_id for c in choices}) != len(choices):
        raise ValidationFailed(f"A tool takes up to {MAX_SKILLS_PER_TOOL} different skills.")
    Tool.objects.select_for_update().get(pk=tool.pk)
    Assignment.objects.filter(tool=tool).delete()
    primary = max(choices, key=lambda c: c.confidence, default=None)
    Assignment.objects.bulk_create(
        Assignment(
            tool=tool,
            skill_id=choice.skill_id,
            confidence=choice.confidence,
            is_primary=choice is primary,
            source=source,
            reasoning=choice.reasoning,
        )
        for choice in choices
    )
    payload_sync([tool.pk])
