"""Two tenants with the same tools, skills and documents: whatever one asks, it finds nothing of the other's.

The walk is generated: every operation of the OpenAPI description and every MCP tool here, every page of the admin and
every command in the files beside, with ids of the other side wherever an id is taken. Each walk runs twice:
with row-level security alone, the application's filters switched off, and with those filters alone.
"""

from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from pytest_django.live_server_helper import LiveServer

from core import scope
from core.scope import ALL
from knowledge.models import Source
from mcp_endpoint.tools import TOOLS
from skills.models import Suggestion
from tenants.types import Caller
from tests.conftest import http_client
from tests.mcp_endpoint.agent import call, session
from tests.tenants.conftest import close_connections
from tests.tenants.people import Side
from tests.tenants.walls import QUERY, filters_off, state_of
from tools_catalog.models import Server, Tool


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


def test_the_filters_can_really_be_switched_off(
    sides: tuple[Side, Side], live_server: LiveServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or the other walk would prove nothing: without both locks, one side does see the other."""
    close_connections()
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
    close_connections()
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
        asked = [(name, arguments) for name, all_arguments in calls.items() for arguments in all_arguments]

        async def work(client: Client, asked: list[tuple[str, dict[str, Any]]] = asked) -> list[str]:
            return [str(await client.call_tool(name, arguments)) for name, arguments in asked]

        answers = session(work, live_server.url, mine.key)
        for what, answer in zip(asked, answers, strict=True):
            text = answer.replace(QUERY, "").replace(f"'{other.mark}'", "")
            assert other.mark not in text, (what, text[:500])
        assert mine.mark in "".join(answers)


@pytest.mark.usefixtures("locks")
def test_prompts_and_resources_over_mcp(sides: tuple[Side, Side], live_server: LiveServer) -> None:
    with scope.scoped(ALL):
        for side in sides:
            server = side.tools["plan_day"].server
            for name, uri in (("today", f"day://{side.mark}"), ("days", f"days://{side.mark}/{{day}}")):
                Tool.objects.create(
                    server=server, type="resource", name=name, uri=uri, content_hash=f"{side.mark} {name}"
                )
    for mine, other in (sides, sides[::-1]):

        async def work(client: Client, theirs: str = other.mark) -> list[str]:
            lists = (client.list_prompts, client.list_resources, client.list_resource_templates)
            answers = [str(await listed()) for listed in lists]
            for uri in (f"toolscript://alpha/day://{theirs}", f"toolscript://alpha/days://{theirs}/1"):
                with pytest.raises(MCPError, match="There is no resource"):
                    await client.read_resource(uri)
            return answers

        for answer in session(work, live_server.url, mine.key):
            assert mine.mark in answer
            assert other.mark not in answer


def test_each_sees_its_own_tool_where_names_are_the_same(sides: tuple[Side, Side], live_server: LiveServer) -> None:
    for side in sides:
        answer = call(live_server.url, side.key, "get_tool", id="alpha__create_event")
        assert side.mark in str(answer.structured_content)
    assert Tool.objects.filter(name="create_event").count() == 3


def test_own_prompts_and_resources_hide_the_shared_ones_of_their_names(
    sides: tuple[Side, Side], live_server: LiveServer
) -> None:
    mine, other = sides
    shared = Server.objects.get(name="alpha", tenant=None)
    for server, of in ((shared, "all"), (mine.tools["plan_day"].server, mine.mark)):
        Tool.objects.create(server=server, type="resource", name="today", uri=f"day://{of}", content_hash=of)
    Tool.objects.create(server=shared, type="prompt", name="plan_day", description="For all.", content_hash="x")

    async def work(client: Client) -> tuple[list[str], list[str]]:
        prompts = (await client.list_prompts()).prompts
        return [str(p.description) for p in prompts], [str(r.uri) for r in (await client.list_resources()).resources]

    prompts, resources = session(work, live_server.url, mine.key)
    assert [mine.mark in description for description in prompts] == [True]
    assert resources == [f"toolscript://alpha/day://{mine.mark}"]
    with pytest.raises(MCPError, match="There is no resource"):
        session(lambda client: client.read_resource("toolscript://alpha/day://all"), live_server.url, mine.key)
    assert session(work, live_server.url, other.key)[1] == ["toolscript://alpha/day://all"]


def test_keywords_find_what_is_a_tenants_in_a_process_that_serves_requests(
    sides: tuple[Side, Side], live_server: LiveServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Threads of such a process see what is shared unless they say more; the one that builds the index must."""
    monkeypatch.setattr(scope, "_default", scope.SHARED)
    for mine, other in (sides, sides[::-1]):
        with http_client(live_server.url, mine.key) as http:
            found = http.get("/search", params={"q": "list_events", "alpha": 0, "threshold": 0.5, "limit": 50}).json()
        assert [hit["toolName"] for hit in found["results"]] == ["list_events"]
        assert mine.mark in found["results"][0]["description"]
        assert other.mark not in str(found)
