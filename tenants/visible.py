"""The first lock, for what runs in the scope of whoever asks: reports and pages of the admin."""

from typing import TypeVar

from django.db.models import Model, Q, QuerySet

from core import scope

M = TypeVar("M", bound=Model)


def visible(rows: QuerySet[M], path: str = "tenant") -> QuerySet[M]:
    """The shared rows and those of the tenant that the scope names. `path` leads to the tenant."""
    mine = scope.current()
    if mine.everything:
        return rows
    return rows.filter(Q(**{path: None}) | Q(**{path: mine.tenant_id}))
