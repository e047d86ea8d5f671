"""Skills that become others. Assignments move along, and the old id keeps resolving."""

from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone

from core.errors import Conflict, ValidationFailed
from skills.models import Assignment, Capability, Skill, SkillAlias, Suggestion
from skills.services.assignments import tools_lock
from skills.services.curation import id_taken, skill_save
from skills.services.skill_index import payload_sync


@transaction.atomic
def skill_merge(skill: Skill, *, into: Skill) -> int:
    """Moves every tool of the skill into another one, and leaves the old id as an alias. How many tools moved."""
    # Tools first, then skills: the order in which whoever files a tool takes them too.
    tool_ids = list(skill.assignments.order_by("tool_id").values_list("tool_id", flat=True))
    tools_lock(tool_ids)
    source, target = _locked(skill.pk, into.pk)
    if source.pk == target.pk:
        raise ValidationFailed("A skill cannot be merged into itself.")
    if target.deleted_at is not None or not target.is_active:
        raise Conflict(f"The skill {target.pk!r} is not active.")
    if source.deleted_at is not None:
        raise Conflict(f"The skill {source.pk!r} is deleted.")
    if source.tenant_id != target.tenant_id:
        raise Conflict("The two skills belong to different tenants.")
    tool_ids = list(source.assignments.values_list("tool_id", flat=True))
    _assignments_move(source, target)
    _references_move(source, target)
    source.deleted_at = timezone.now()
    source.is_active = False
    skill_save(source)
    payload_sync(tool_ids)
    return len(tool_ids)


@transaction.atomic
def skill_rename(skill: Skill, *, new_id: str) -> Skill:
    """Gives the skill another id. Its tools stay in it, and the old id keeps resolving."""
    [old] = _locked(skill.pk)
    if new_id == old.pk:
        return old
    if old.deleted_at is not None:
        raise Conflict(f"The skill {old.pk!r} is deleted.")
    back = SkillAlias.objects.filter(old_id=new_id, skill=old)
    if back.exists():
        back.delete()  # it gets an earlier id back
    elif id_taken(new_id):
        raise Conflict(f"A skill with the id {new_id!r} exists already.")
    new = Skill.objects.get(pk=old.pk)
    new.pk = new_id
    new._state.adding = True
    skill_save(new, new=True)
    Skill.objects.filter(pk=new.pk).update(created_at=old.created_at)
    tool_ids = list(old.assignments.values_list("tool_id", flat=True))
    old.assignments.update(skill=new)
    old.vectors.update(skill=new)
    old_id = old.pk
    _references_move(old, new)
    SkillAlias.objects.filter(old_id=old_id).delete()
    old.delete()
    SkillAlias.objects.create(old_id=old_id, skill=new)
    payload_sync(tool_ids)
    new.refresh_from_db()
    return new


def _locked(*ids: str) -> list[Skill]:
    """In the order of their ids, so that two merges in opposite directions do not wait for each other."""
    rows = {s.pk: s for s in Skill.objects.select_for_update().filter(pk__in=ids).order_by("pk")}
    return [rows[pk] for pk in ids]


def _assignments_move(source: Skill, target: Skill) -> None:
    """A tool in both keeps one assignment: the more confident, and primary if either was."""
    both = Assignment.objects.filter(skill=target, tool__in=source.assignments.values("tool"))
    theirs = {a.tool_id: a for a in source.assignments.filter(tool__in=both.values("tool"))}
    for mine in list(both):
        other = theirs[mine.tool_id]
        other.delete()
        mine.is_primary = mine.is_primary or other.is_primary
        if other.confidence > mine.confidence:
            mine.confidence, mine.reasoning = other.confidence, other.reasoning
        if Assignment.Source.HUMAN in {mine.source, other.source}:
            mine.source = Assignment.Source.HUMAN
        mine.save()
    source.assignments.update(skill=target)


def _references_move(source: Skill, target: Skill) -> None:
    SkillAlias.objects.filter(skill=source).update(skill=target)
    Suggestion.objects.filter(skill=source).update(skill=target, updated_at=F("updated_at"))
    _capabilities_move(source, target)
    if source.pk != target.pk:
        SkillAlias.objects.update_or_create(old_id=source.pk, defaults={"skill": target})


def _capabilities_move(source: Skill, target: Skill) -> None:
    """What the target has already stays as it is there, and no skill serves itself."""
    for row in Capability.objects.select_for_update(of=("self",)).filter(Q(provider=source) | Q(need=source)):
        row.provider_id = target.pk if row.provider_id == source.pk else row.provider_id
        row.need_id = target.pk if row.need_id == source.pk else row.need_id
        has_it = Capability.objects.filter(provider=row.provider_id, need=row.need_id).exists()
        if has_it or row.provider_id == row.need_id:
            row.delete()
        else:
            row.save()
