"""A search costs two statements at most: the protocol is written down by libpq itself and counted."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from pytest_django import Settings

from core import db
from tenants.models import Tenant
from tenants.services.keys import key_create
from tools_catalog.models import Tool

EXECUTIONS = ("\tExecute\t", "\tQuery\t")


def search(key: Any = "", **fields: Any) -> int:
    body = json.dumps({"query": "create a calendar event", **fields})
    headers = {"X-API-Key": key} if key else {}
    return Client().post("/api/v1/search", body, content_type="application/json", headers=headers).status_code


@pytest.mark.parametrize(
    ("fields", "statements"),
    [
        ({}, 2),
        ({"strategy": "direct"}, 2),
        ({"strategy": "hybrid"}, 2),
        ({"include_schemas": False}, 1),
        ({"tool_threshold": 1}, 1),
    ],
)
def test_statements_of_one_search(
    world: dict[str, Tool], settings: Settings, tmp_path: Path, fields: dict[str, Any], statements: int
) -> None:
    settings.SKILL_CACHE_SECONDS = 0
    search(**fields)  # forgets the world of the test before
    settings.SKILL_CACHE_SECONDS = 60
    assert search(**fields) == 200
    held = db._local.held
    assert held is not None
    with (tmp_path / "trace").open("w") as trace:
        held.conn.pgconn.trace(trace.fileno())
        search(**fields)
        held.conn.pgconn.untrace()
    lines = (tmp_path / "trace").read_text().splitlines()
    assert sum(any(mark in line for mark in EXECUTIONS) for line in lines) == statements, lines


def test_a_key_costs_one_statement_and_another_tenant_one_more(
    world: dict[str, Tool], settings: Settings, tmp_path: Path
) -> None:
    """The lookup; and telling the connection whose rows it may show, when that differs from the last request."""
    keys = [key_create(name=slug, tenant=Tenant.objects.create(slug=slug, name=slug))[1] for slug in ("acme", "globex")]
    settings.SKILL_CACHE_SECONDS = 0
    for key in keys:
        search(key)  # also marks the keys as used
    settings.SKILL_CACHE_SECONDS = 60
    for key in (*keys, keys[0]):
        assert search(key) == 200
    counts = []
    for key in (keys[0], keys[1]):
        held = db._local.held
        assert held is not None
        with (tmp_path / "trace").open("w") as trace:
            held.conn.pgconn.trace(trace.fileno())
            search(key)
            held.conn.pgconn.untrace()
        lines = (tmp_path / "trace").read_text().splitlines()
        counts.append(sum(any(mark in line for mark in EXECUTIONS) for line in lines))
    assert counts == [3, 4]
