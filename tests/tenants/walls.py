"""What the walks through the service have in common."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from core import db, scope
from tenants import rls
from tests.tenants.people import Side

QUERY = "create a calendar event for zanzibar quokka"
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


def state_of(side: Side) -> dict[str, list[Any]]:
    """Every row that belongs to this side."""
    rows = {}
    for model in rls.protected_models():
        if model._meta.label in {"tenants.ApiKey", "tools_catalog.ToolCall"}:
            continue  # a used key is marked as used, and calls are recorded
        with scope.scoped(scope.SHARED):
            shared = set(model._default_manager.values_list("pk", flat=True))
        with scope.scoped(scope.Scope(side.tenant.pk)):
            own = model._default_manager.exclude(pk__in=shared).order_by("pk").values()
            rows[model._meta.label] = [str(sorted(row.items())) for row in own]
    return rows
