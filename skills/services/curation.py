"""What curators do with skills."""

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils import timezone

from core.errors import Conflict, ValidationFailed
from skills.models import Skill, SkillAlias
from skills.services.assignments import assignment_replace as assignment_replace  # noqa: PLC0414
from skills.services.skill_index import payload_sync
from skills.types import SkillSpec
from tenants.models import Tenant


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
    if SkillAlias.objects.filter(old_id=spec.id).exists():
        raise Conflict(f"The id {spec.id!r} belonged to a skill that was renamed or merged, and still leads to it.")
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


def id_taken(skill_id: str) -> bool:
    return Skill.objects.filter(pk=skill_id).exists() or SkillAlias.objects.filter(old_id=skill_id).exists()
