"""The MCP endpoint through the official client, in both generations of the protocol."""

from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from tenants.plans import plans_from
from tenants.services.keys import key_create
from tests.knowledge.library import make_library
from tests.mcp_endpoint.agent import MODES, Mode, call, session, words
from tests.tools_catalog.gateway_world import test_server
from tests.world import make_skill
from tools_catalog.models import Tool
from tools_catalog.services.catalog import server_upsert, tool_set_active
from tools_catalog.services.gateway import sessions_close
from tools_catalog.types import ServerSpec, ToolSpec

RPC = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}


@pytest.fixture(scope="module", autouse=True)
def no_sessions_left() -> Iterator[None]:
    yield
    sessions_close()


@pytest.fixture
def url(live_server: LiveServer, world: dict[str, Tool]) -> str:
    return str(live_server.url)


@pytest.fixture
def key(transactional_db: None) -> str:
    return key_create(name="agent", is_admin=True)[1]


@pytest.mark.parametrize("mode", MODES)
class TestBothGenerations:
    def test_an_agent_finds_reads_and_calls(self, url: str, key: str, mode: Mode) -> None:
        test_server("made_up", pk=777_777)

        async def work(client: Client) -> None:
            listed = await client.list_tools()
            assert [tool.name for tool in listed.tools] == [
                "search_tools",
                "get_tool",
                "call_tool",
                "search_knowledge",
                "list_skills",
            ]
            found = await client.call_tool("search_tools", {"query": "create a calendar event", "limit": 2})
            best = found.structured_content["tools"][0]
            assert best["id"] == "alpha__create_event"
            assert best["signature"] == "alpha__create_event(zeta: string, alpha?: number)"
            assert "input_schema" not in best
            shown = await client.call_tool("get_tool", {"id": best["id"]})
            assert shown.structured_content["input_schema"]["required"] == ["zeta"]
            answer = await client.call_tool("call_tool", {"id": "made_up__echo", "arguments": {"text": "hi"}})
            assert not answer.is_error
            assert answer.structured_content["text"] == "hi"

        session(work, url, key, mode)

    def test_errors_are_answers_that_a_model_can_read(self, url: str, key: str, mode: Mode) -> None:
        for arguments, says in (
            ({"id": "alpha__no_such"}, "NOT_FOUND"),
            ({"id": "alpha__create_event"}, "CONFLICT"),  # in the catalogue only
            ({}, "id"),
            ({"id": "x", "typo": 1}, "VALIDATION_ERROR"),
            ({"id": "alpha__x", "type": "resource", "arguments": {"uri": 5}}, "VALIDATION_ERROR: uri"),
        ):
            answer = call(url, key, "call_tool", mode, **arguments)
            assert answer.is_error
            assert says in words(answer)

    def test_an_unknown_tool_is_a_protocol_error(self, url: str, key: str, mode: Mode) -> None:
        with pytest.raises(MCPError, match="no tool 'brew'"):
            call(url, key, "brew", mode)

    def test_prompts_and_resources_of_the_catalogue(self, url: str, key: str, mode: Mode) -> None:
        server = test_server("made_up", pk=777_777)
        mine = {kind: server.tools.filter(type=kind) for kind in ("prompt", "resource")}
        assert mine["prompt"].exists()
        assert mine["resource"].exists()

        async def work(client: Client) -> None:
            prompts = {p.name for p in (await client.list_prompts()).prompts}
            assert {"alpha__plan_week", *(f"made_up__{t.name}" for t in mine_prompts)} <= prompts
            resources = (await client.list_resources()).resources
            one = next(r for r in resources if r.name.startswith("made_up__"))
            read = await client.read_resource(one.uri)
            assert read.contents
            templates = (await client.list_resource_templates()).resource_templates
            assert [t.uri_template for t in templates] == ["toolscript://made_up/test://item/{number}"]
            read = await client.read_resource("toolscript://made_up/test://item/7")
            assert "item 7" in str(read.contents[0])

        mine_prompts = list(mine["prompt"])
        session(work, url, key, mode)


class TestWhatToolsSay:
    def test_the_description_of_the_search_names_the_callers_skills(self, url: str, key: str) -> None:
        def described(with_key: str) -> str:
            tools = session(lambda client: client.list_tools(), url, with_key).tools
            return str(next(tool for tool in tools if tool.name == "search_tools").description)

        assert "File Operations; Version Control" in described(key)
        assert "Weather" not in described(key)  # a skill without tools is no reason to search
        make_skill("t1_secret", "Something that nobody has tools for.")
        assert "Secret" not in described(key)

    def test_every_tool_has_schemas_and_hints(self, url: str, key: str) -> None:
        tools = session(lambda client: client.list_tools(), url, key).tools
        for tool in tools:
            assert tool.annotations is not None
            assert tool.input_schema["additionalProperties"] is False
            assert (tool.output_schema is not None) == (tool.name != "call_tool")
        hints = {tool.name: tool.annotations.read_only_hint for tool in tools if tool.annotations}
        assert [name for name, reads in hints.items() if not reads] == ["call_tool"]

    def test_an_id_that_can_be_read_in_two_ways_asks_which(self, url: str, key: str) -> None:
        for server, tool in (("odd", "odd__echo"), ("odd__odd", "echo")):
            server_upsert(ServerSpec(server, items=(ToolSpec("tool", tool),)))
        answer = call(url, key, "get_tool", id="odd__odd__echo")
        assert answer.is_error
        assert answer.structured_content["error"]["details"]["candidates"] == ["odd / odd__echo", "odd__odd / echo"]
        shown = call(url, key, "get_tool", id="odd__odd__echo", server="odd__odd")
        assert shown.structured_content["name"] == "echo"

    def test_skills_are_a_cheap_map(self, url: str, key: str) -> None:
        answer = call(url, key, "list_skills")
        rows = {row["id"]: row for row in answer.structured_content["skills"]}
        assert rows["calendar_management"]["tools"] == 6
        assert rows["weather"]["tools"] == 0
        assert "calendar_management (6): Calendar Management." in words(answer)
        assert "description" not in rows["weather"]
        told = call(url, key, "list_skills", descriptions=True).structured_content["skills"]
        assert all(row["description"] for row in told)

    def test_full_schemas_on_request_and_other_types(self, url: str, key: str) -> None:
        answer = call(url, key, "search_tools", query="create a calendar event", schemas=True)
        assert answer.structured_content["tools"][0]["input_schema"]["properties"]["zeta"] == {"type": "string"}
        prompts = call(url, key, "search_tools", query="plan my week", type="prompt").structured_content["tools"]
        assert [tool["id"] for tool in prompts] == ["alpha__plan_week"]

    def test_what_is_switched_off_is_not_there(self, url: str, key: str, world: dict[str, Tool]) -> None:
        tool_set_active(world["create_event"], active=False)
        answer = call(url, key, "search_tools", query="create a calendar event")
        assert "alpha__create_event" not in {tool["id"] for tool in answer.structured_content["tools"]}
        assert call(url, key, "get_tool", id="alpha__create_event").is_error

    def test_documents_come_with_their_source(self, url: str, key: str) -> None:
        make_library()
        answer = call(url, key, "search_knowledge", query="when is high tide", limit=2)
        best = answer.structured_content["results"][0]
        assert best["source"]["title"] == "Harbour handbook"
        assert best["source"]["position"]["chapter"] == "Tides"
        assert "[Harbour handbook, Tides" in words(answer)
        assert answer.structured_content["metadata"]["search_type"] == "semantic"


class TestWhoMay:
    def test_nobody_in_particular_may_search_but_not_call(self, url: str) -> None:
        assert not call(url, "", "search_tools", query="calendar").is_error
        answer = call(url, "", "call_tool", id="alpha__create_event")
        assert answer.is_error
        assert "UNAUTHORIZED" in words(answer)

    def test_a_key_that_only_reads_calls_nothing(self, url: str) -> None:
        reader = key_create(name="reader", may_write=False)[1]
        assert "FORBIDDEN" in words(call(url, reader, "call_tool", id="alpha__create_event"))

    def test_without_a_credential_where_one_is_needed(self, url: str, settings: Settings) -> None:
        settings.ANONYMOUS = False
        answer = httpx2.post(f"{url}/mcp", json={}, headers=RPC)
        assert answer.status_code == 401
        assert answer.headers["WWW-Authenticate"].startswith("Bearer")
        assert answer.json()["error"]["code"] == "UNAUTHORIZED"


def initialize(**headers: str) -> dict[str, Any]:
    body = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}},
    }
    return {"json": body, "headers": {**RPC, **headers}}


def test_searches_in_documents_are_limited_as_over_rest(url: str, settings: Settings) -> None:
    settings.PLANS = plans_from('{"public": {"searches_per_minute": 1}}')
    answers = [words(call(url, "", "search_knowledge", query="tide")) for _ in range(3)]
    assert any("RATE_LIMITED" in answer for answer in answers)


class TestTheTransport:
    def test_a_web_page_of_another_origin_is_refused(self, url: str) -> None:
        assert httpx2.post(f"{url}/mcp", **initialize()).status_code == 200
        assert httpx2.post(f"{url}/mcp", **initialize(Origin=url)).status_code == 200
        answer = httpx2.post(f"{url}/mcp", **initialize(Origin="https://evil.example"))
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "FORBIDDEN")

    def test_another_host_is_refused(self, url: str) -> None:
        assert httpx2.post(f"{url}/mcp", **initialize(Host="evil.example")).status_code == 400

    def test_bodies_that_are_too_large_or_no_json(self, url: str, settings: Settings) -> None:
        settings.TOOLSCRIPT_MAX_BODY_BYTES = 2000
        large = httpx2.post(f"{url}/mcp", content=b"x" * 3000, headers=RPC)
        assert (large.status_code, large.json()["error"]["code"]) == (413, "BAD_REQUEST")
        for content in (b"", b"{", b"[]", b'"x"', b"\xff"):
            answer = httpx2.post(f"{url}/mcp", content=content, headers=RPC)
            assert 400 <= answer.status_code < 500, content
            assert "error" in answer.json()
            assert "Traceback" not in answer.text

    @pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
    def test_there_are_no_sessions_to_listen_to_or_to_end(self, url: str, method: str) -> None:
        assert httpx2.request(method, f"{url}/mcp", headers=RPC).status_code == 405

    def test_the_request_id_comes_back(self, url: str) -> None:
        answer = httpx2.post(f"{url}/mcp", **initialize(**{"X-Request-ID": "abc"}))
        assert answer.headers["X-Request-ID"] == "abc"
