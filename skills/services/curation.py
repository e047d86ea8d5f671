"""What curators do with skills."""

import re
from collections.abc import Mapping
from typing import Any

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils import timezone

from core.errors import Conflict, ValidationFailed
from skills.models import Skill, SkillAlias
from skills.services.assignments import assignment_replace as assignment_replace  # noqa: PLC0414
from skills.services.assignments import tools_reclassify
from skills.services.skill_index import payload_sync
from skills.types import SkillSpec
from tenants.models import Tenant

RESERVED = {"classify", "suggestions"}
"""Words that stand where ids stand in the API's addresses."""
EDITABLE = ("name", "description", "keywords", "examples", "parent_domain", "is_active")


def skill_create(
    spec: SkillSpec, *, tenant: Tenant | None = None, tenant_id: int | None = None, active: bool = True
) -> Skill:
    skill = Skill(
        id=spec.id,
        tenant_id=tenant.pk if tenant else tenant_id,
        is_active=active,
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


TENANT_PREFIX = re.compile(r"t[0-9]+_")


def skill_id_check(skill_id: str, tenant_id: int | None) -> None:
    """Ids are unique over all tenants. Each has a prefix of its own, so that no conflict tells what others have."""
    prefix = f"t{tenant_id}_"
    if tenant_id is not None and not skill_id.startswith(prefix):
        message = f"Ids of your own skills begin with {prefix}, for example {prefix}{skill_id}."[:300]
        raise ValidationFailed(f"id: {message}", {"fields": {"id": [message]}})
    if tenant_id is None and TENANT_PREFIX.match(skill_id):
        message = "Ids that begin with t, digits and an underscore are for skills of tenants."
        raise ValidationFailed(f"id: {message}", {"fields": {"id": [message]}})


def skill_id_for(skill_id: str, tenant_id: int | None) -> str:
    """The id that a skill of this tenant gets when nobody chose one."""
    prefix = "" if tenant_id is None else f"t{tenant_id}_"
    return skill_id if skill_id.startswith(prefix) else f"{prefix}{skill_id}"[:64].rstrip("_")


def skill_change(skill: Skill, values: Mapping[str, Any]) -> Skill:
    """Changes these fields and no others."""
    with transaction.atomic():
        row = Skill.objects.select_for_update().get(pk=skill.pk)
        for name in EDITABLE:
            if name in values:
                setattr(row, name, values[name])
        return skill_save(row)


@transaction.atomic
def skill_save(skill: Skill, *, new: bool = False) -> Skill:
    """Saves a skill that was changed; its vectors follow with the next refresh of the index."""
    try:
        skill.full_clean(validate_unique=False, validate_constraints=False)
    except ValidationError as exc:
        raise ValidationFailed(f"The skill {skill.pk!r} is not valid.", {"fields": exc.message_dict}) from exc
    if new and skill.pk in RESERVED:
        message = f"{skill.pk!r} is a reserved word."
        raise ValidationFailed(f"id: {message}", {"fields": {"id": [message]}})
    if skill.is_active and skill.deleted_at is not None:
        raise Conflict(f"{skill.name} is deleted: restore it first.")
    skill.save(force_insert=new)
    skill.vectors.update(is_active=skill.is_active)
    payload_sync(list(skill.assignments.values_list("tool_id", flat=True)))
    return skill


def skill_set_active(skill: Skill, *, active: bool) -> None:
    skill.is_active = active
    skill_save(skill)


@transaction.atomic
def skill_delete(skill: Skill) -> None:
    """Soft: the row and its assignments stay, searches and lists no longer see it. Its tools are classified again."""
    primary = skill.assignments.filter(is_primary=True)
    tools_reclassify(list(primary.values_list("tool_id", flat=True)))
    skill.deleted_at = timezone.now()
    skill_set_active(skill, active=False)


def id_taken(skill_id: str) -> bool:
    return Skill.objects.filter(pk=skill_id).exists() or SkillAlias.objects.filter(old_id=skill_id).exists()
