"""Deleted skills come back as they were."""

from django.db import transaction

from core.errors import Conflict
from skills.models import Skill, SkillAlias
from skills.services.curation import skill_save


@transaction.atomic
def skill_restore(skill: Skill) -> Skill:
    """With the tools that were in it when it was deleted and that nobody filed elsewhere since."""
    row = Skill.objects.select_for_update(of=("self",)).get(pk=skill.pk)
    if row.deleted_at is None:
        raise Conflict(f"{row.name} is not deleted.")
    alias = SkillAlias.objects.filter(old_id=row.pk).select_related("skill").first()
    if alias is not None:
        raise Conflict(f"{row.name} was merged into {alias.skill.name}, and its id leads there.")
    row.deleted_at = None
    row.is_active = True
    return skill_save(row)
