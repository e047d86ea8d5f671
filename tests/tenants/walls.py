"""What the walks through the service have in common."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import models

from core import db, scope
from tenants import rls
from tests.tenants.people import Side

QUERY = "create a calendar event for zanzibar quokka"
TOLD = scope.told
NO_TENANT = re.compile(r'(?:"?\w+"?\.)?"?tenant_id"? IS NULL')


@contextmanager
def filters_off(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every filter of the application reads `tenant IS NULL OR tenant = mine`: the first half becomes true."""
    fetch = db.fetch

    def unfiltered(sql: Any, *args: Any, **options: Any) -> Any:
        return fetch(NO_TENANT.sub("TRUE", sql), *args, **options)

    def rewritten(execute: Any, sql: Any, params: Any, many: bool, context: Any) -> Any:
        return execute(NO_TENANT.sub("TRUE", sql) if isinstance(sql, str) else sql, params, many, context)

    with monkeypatch.context() as patch:
        patch.setattr(db, "fetch", unfiltered)
        obey = rls.obey
        patch.setattr(rls, "obey", lambda run, *rest: obey(lambda *again: rewritten(run, *again), *rest), raising=True)
        yield


@contextmanager
def policies_off(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Connections stay what they are when they are opened: the owner of all tables, whom no policy binds."""
    with monkeypatch.context() as patch:
        patch.setattr(scope, "told", lambda _: ("none", "", ""))
        yield


def rows_of(model: type[models.Model], side: Side) -> list[dict[str, Any]]:
    """What is this side's, and not shared: the policies tell, even where they are switched off otherwise."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scope, "told", TOLD)
        with scope.scoped(scope.SHARED):
            shared = list(model._default_manager.values_list("pk", flat=True))
        with scope.scoped(scope.Scope(side.tenant.pk)):
            return list(model._default_manager.exclude(pk__in=shared).order_by("pk").values())


def state_of(side: Side) -> dict[str, list[Any]]:
    """Every row that belongs to this side."""
    left = {"tenants.ApiKey", "tools_catalog.ToolCall"}  # a used key is marked as used, and calls are recorded
    kept = [model for model in rls.protected_models() if model._meta.label not in left]
    state = {model._meta.label: [str(sorted(row.items())) for row in rows_of(model, side)] for model in kept}
    assert sum(len(rows) for rows in state.values()) > 10
    return state
