"""Keeps the vectors of skills fresh: once a burst, whoever asks and however often."""

from datetime import timedelta

from django.db.models import Q
from django.utils import timezone

from skills.models import ClassificationSwitch
from skills.services.similar import space_live
from skills.services.skill_index import skills_refresh

LOST = timedelta(seconds=60)
"""A refresh that was asked for this long ago and has not begun is asked for again. (Beat refreshes as often.)"""


def refresh_claim() -> bool:
    """Whether a refresh must be asked for: True for the first of a burst only."""
    ClassificationSwitch.objects.get_or_create(pk=1)
    now = timezone.now()
    free = Q(refresh_asked_at=None) | Q(refresh_asked_at__lt=now - LOST)
    return ClassificationSwitch.objects.filter(free, pk=1).update(refresh_asked_at=now) == 1


def refresh_begin() -> None:
    """From here on, a change needs a refresh of its own: this one may have looked past it."""
    ClassificationSwitch.objects.filter(pk=1).update(refresh_asked_at=None)


def skills_refresh_live() -> list[str]:
    space = space_live()
    return list(skills_refresh(space)) if space else []
