"""Two tenants with the same tools, skills and documents: whatever one asks, it finds nothing of the other's.

The walk is generated: every operation of the OpenAPI description, every MCP tool, and every page of the admin, with
ids of the other side wherever an id is taken. Each walk runs twice: as the service is, and with the application's own
filters switched off, so that row-level security stands alone.
"""

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import anyio
import httpx2
import pytest
from django.contrib import admin
from django.contrib.auth.models import Permission, User
from django.db import connection, connections
from django.test import Client as Browser
from mcp import Client, StdioServerParameters
from pytest_django.live_server_helper import LiveServer

from core import db
from core.scope import ALL
from knowledge.models import Chunk, Source
from knowledge.services.extractions import extraction_create
from knowledge.services.ingest import sources_embed
from mcp_endpoint.tools import TOOLS
from skills.models import Suggestion
from tenants import rls
from tenants.models import Membership
from tenants.types import Caller
from tests.conftest import http_client
from tests.knowledge.library import add
from tests.mcp_endpoint.agent import call
from tests.processes import ROOT
from tests.tenants.people import Side, make_sides
from tools_catalog.models import Tool

QUERY = "create a calendar event for zanzibar quokka"
NO_TENANT = re.compile(r'(?:"?\w+"?\.)?"?tenant_id"? IS NULL')


@pytest.fixture
def sides(transactional_db: None) -> tuple[Side, Side]:
    made = make_sides()
    for side in made:
        text = f"# Meetings\n\nHow {side.mark} plans calendar events: book a room, then invite everybody.\n"
        source = add("handbook.md", text, tenant=side.tenant, title=f"Handbook of {side.mark}")
        chunk = Chunk.objects.filter(source=source).first()
        assert chunk is not None
        extraction_create(chunk, type="decision", content={"text": f"Decided by {side.mark}."}, topics=[])
        Suggestion.objects.create(
            tenant=side.tenant,
            key=f"idea {side.mark}",
            name=f"Idea {side.mark}",
            description=f"For {side.mark} only.",
            origin=Suggestion.Origin.PROPOSE,
        )
    sources_embed(None)
    return made


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


@pytest.fixture(params=["both locks", "row-level security alone"])
def locks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A connection takes its wrappers when it is opened, so all are opened anew."""
    if request.param == "both locks":
        yield request.param
        return
    connections.close_all()
    connection.execute_wrappers.clear()
    with filters_off(monkeypatch):
        yield request.param
    connections.close_all()
    connection.execute_wrappers.clear()


class Walk:
    """One side asks for everything, with the ids of the other."""

    def __init__(self, http: httpx2.Client, mine: Side, other: Side) -> None:
        self.http, self.mine, self.other = http, mine, other
        self.schema = http.get("/api/schema", headers={"Accept": "application/json"}).json()
        source = Source.objects.get(tenant=other.tenant, path="handbook.md")
        self.theirs: dict[str, Any] = {
            "skill_id": other.skill.pk,
            "into": other.skill.pk,
            "suggestion_id": Suggestion.objects.get(tenant=other.tenant).pk,
            "source_id": source.pk,
            "chunk_id": source.chunks.get().pk,
            "extraction_id": source.extractions.get().pk,
            "tool_ids": [tool.pk for tool in other.tools.values()],
            "skill_ids": other.skill.pk,
            "id": f"t{mine.tenant.pk}_new",
        }

    def operations(self) -> Iterator[tuple[str, str, dict[str, Any]]]:
        for address, methods in self.schema["paths"].items():
            for method, operation in methods.items():
                yield method.upper(), address, operation

    def value(self, name: str, kind: dict[str, Any]) -> Any:
        if name == "tool_id":
            tool = self.other.tools["create_event"]
            return tool.pk if kind.get("type") == "integer" else "only_theirs__create_event"
        if name in self.theirs:
            return self.theirs[name]
        if "default" in kind or "enum" in kind:
            return None
        return {"integer": 50, "array": [], "object": {"text": QUERY}}.get(str(kind.get("type")), QUERY)

    def ask(self, method: str, address: str, operation: dict[str, Any], *, plain: bool = False) -> httpx2.Response:
        """Plain: with no more than it needs. Else with every parameter there is."""
        given = [p for p in operation.get("parameters", []) if p.get("required") or not plain]
        values = {p["name"]: (p["in"], self.value(p["name"], p["schema"])) for p in given}
        path = address.format(**{name: value for name, (where, value) in values.items() if where == "path"})
        params = {name: value for name, (where, value) in values.items() if where == "query" and value is not None}
        if method != "GET":
            params = {}
        else:
            params |= {"threshold": 0} if "threshold" in values else {}
        body = self.body(operation) if "requestBody" in operation else None
        return self.http.request(method, path, params=params, json=body)

    def body(self, operation: dict[str, Any]) -> Any:
        content = operation["requestBody"]["content"]["application/json"]["schema"]
        name = content.get("$ref", "").rpartition("/")[2]
        if not name:
            return {}
        schema = self.schema["components"]["schemas"][name]
        fields, needed = schema["properties"], {*schema.get("required", ()), *self.theirs}
        made = {field: self.value(field, kind) for field, kind in fields.items() if field in needed}
        if "content" in made and "path" in fields:
            made |= {"path": "new.md", "format": "markdown", "content": "# New\n\nSomething new."}
        if "skills" in made:
            made["skills"] = [{"skill_id": self.other.skill.pk, "confidence": 0.9}]
        if "filters" in fields:
            made["filters"] = {"should": [{"field": "path", "op": "exists", "value": True}]}
        return {field: value for field, value in made.items() if value is not None}


def state_of(side: Side) -> dict[str, list[Any]]:
    """Every row that belongs to this side."""
    from core import scope

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


def test_the_filters_can_really_be_switched_off(
    sides: tuple[Side, Side], live_server: LiveServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or the other walk would prove nothing: without both locks, one side does see the other."""
    connections.close_all()
    connection.execute_wrappers.clear()
    mine, other = sides
    with filters_off(monkeypatch):
        monkeypatch.setattr(Caller, "scope", property(lambda self: ALL))
        with http_client(live_server.url, mine.key) as http:
            leaks = [
                http.post("/api/v1/search", json={"query": QUERY, "strategy": "direct", "tool_threshold": 0}).text,
                http.get("/tools").text,
                http.get("/api/v1/skills").text,
                http.get("/api/v1/knowledge/sources").text,
                http.post("/search_knowledge", json={"query": QUERY}).text,
            ]
    connections.close_all()
    connection.execute_wrappers.clear()
    assert all(other.mark in text for text in leaks)


@pytest.mark.usefixtures("locks")
def test_every_route(sides: tuple[Side, Side], live_server: LiveServer) -> None:
    for mine, other in (sides, sides[::-1]):
        before = state_of(other)
        with http_client(live_server.url, mine.key) as http:
            walk = Walk(http, mine, other)
            own, walked = 0, 0
            for method, address, operation in walk.operations():
                walked += 1
                seen = ""
                for plain in (True, False) if method == "GET" else (False,):
                    answer = walk.ask(method, address, operation, plain=plain)
                    where = f"{method} {address}: {answer.status_code} {answer.text[:500]}"
                    assert answer.status_code < 500, where
                    seen += answer.text.replace(QUERY, "")
                    assert other.mark not in seen, where
                    if "{" in address:
                        assert answer.status_code in {403, 404, 409, 422}, where
                own += mine.mark in seen
            assert walked >= 30
            assert own >= 8, own  # what is one's own is found, or the walk would prove nothing
        assert state_of(other) == before


@pytest.mark.usefixtures("locks")
def test_every_mcp_tool(sides: tuple[Side, Side], live_server: LiveServer) -> None:
    theirs_only = "only_theirs__create_event"
    for mine, other in (sides, sides[::-1]):
        shared_name = "alpha__create_event"
        calls: dict[str, list[dict[str, Any]]] = {
            "search_tools": [{"query": QUERY, "limit": 20}, {"query": QUERY, "type": "prompt", "schemas": True}],
            "get_tool": [{"id": shared_name}, {"id": theirs_only}, {"id": "alpha__plan_day", "type": "prompt"}],
            "call_tool": [{"id": shared_name}, {"id": theirs_only}, {"id": "alpha__plan_day", "type": "prompt"}],
            "search_knowledge": [{"query": QUERY, "limit": 50}, {"query": other.mark, "types": ["decision"]}],
            "list_skills": [{}],
        }
        assert set(calls) == set(TOOLS)
        seen = ""
        for name, all_arguments in calls.items():
            for arguments in all_arguments:
                text = str(call(live_server.url, mine.key, name, **arguments)).replace(QUERY, "")
                assert other.mark not in text.replace(f"'{other.mark}'", ""), (name, arguments, text[:500])
                seen += text
        assert mine.mark in seen


@pytest.mark.usefixtures("locks")
def test_every_page_of_the_admin(sides: tuple[Side, Side]) -> None:
    for mine, other in (sides, sides[::-1]):
        user = User.objects.create_user(f"{mine.mark}-staff", password="x", is_staff=True)
        user.user_permissions.set(Permission.objects.all())
        Membership.objects.create(user=user, tenant=mine.tenant)
        browser = Browser()
        browser.force_login(user)
        own = 0
        for model in admin.site._registry:
            opts = model._meta
            if opts.app_label not in {"knowledge", "skills", "tools_catalog", "tenants"}:
                continue
            base = f"/admin/{opts.app_label}/{opts.model_name}/"
            answer = browser.get(base)
            assert answer.status_code in {200, 403}, base
            assert other.mark not in answer.text.replace(QUERY, ""), base
            own += mine.mark in answer.text
            rows = model._default_manager.all()
            if rls.belongs_to_tenant(model):
                for row in rows:
                    shown = browser.get(f"{base}{row.pk}/change/")
                    assert other.mark not in shown.text, f"{base}{row.pk}"
        assert own >= 2


def test_the_command_line(sides: tuple[Side, Side]) -> None:
    """`toolscript mcp` with a tenant's key, as a process of its own on the same database."""
    settings = connection.settings_dict
    url = f"postgresql://{settings['USER']}@/{settings['NAME']}?host={settings['HOST']}"
    for mine, other in (sides, sides[::-1]):
        command = StdioServerParameters(
            command=sys.executable,
            args=["-m", "cli", "mcp"],
            cwd=str(ROOT),
            env={
                "DATABASE_URL": url,
                "PATH": os.environ["PATH"],
                "TOOLSCRIPT_API_KEY": mine.key,
                "TOOLSCRIPT_DATA_DIR": os.environ["TOOLSCRIPT_DATA_DIR"],
                "TOOLSCRIPT_LOG_LEVEL": "ERROR",
            },
        )

        async def work(command: StdioServerParameters = command) -> str:
            async with Client(command) as client:
                found = [str(await client.list_tools())]
                for name in ("search_tools", "search_knowledge"):
                    found.append(str(await client.call_tool(name, {"query": "calendar event", "limit": 20})))
                return "".join([*found, str(await client.call_tool("list_skills", {}))])

        text = anyio.run(work)
        assert mine.mark in text
        assert other.mark not in text


def test_each_sees_its_own_tool_where_names_are_the_same(sides: tuple[Side, Side], live_server: LiveServer) -> None:
    for side in sides:
        answer = call(live_server.url, side.key, "get_tool", id="alpha__create_event")
        assert side.mark in str(answer.structured_content)
    assert Tool.objects.filter(name="create_event").count() == 3
