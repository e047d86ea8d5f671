"""The tools of the endpoint take and refuse what REST takes and refuses."""

from typing import Any

import httpx2
import pytest
from mcp.shared.exceptions import MCPError
from pytest_django.live_server_helper import LiveServer

from knowledge.models import Chunk
from knowledge.services.extractions import extraction_create
from knowledge.services.ingest import sources_embed
from tenants.services.keys import key_create
from tests.knowledge.library import make_library
from tests.mcp_endpoint.agent import call, session, words
from tests.world import make_world

WORDS_20 = [f"word {i}" for i in range(20)]
TIDE: dict[str, Any] = {"query": "when is high tide"}


@pytest.fixture
def url(live_server: LiveServer) -> str:
    make_world()
    make_library()
    chunk = Chunk.objects.filter(source__title="Harbour handbook").first()
    assert chunk is not None
    extraction_create(chunk, type="warning", content={"text": "High tide comes early."}, topics=[])
    sources_embed(None)
    return str(live_server.url)


def over_rest(url: str, body: dict[str, Any]) -> httpx2.Response:
    return httpx2.post(f"{url}/search_knowledge", json={"limit": 5, **body})


def test_what_rest_takes_is_taken(url: str) -> None:
    found = {}
    for i, given in enumerate(
        (
            TIDE,
            {"query": "  when is high tide\n"},
            {**TIDE, "limit": 100},
            {**TIDE, "limit": 2.0},
            {**TIDE, "type": "warning"},
            {**TIDE, "type": ["chunk"]},
            {**TIDE, "type": ["chunk", "warning"]},
            {**TIDE, "type": []},
            {**TIDE, "type": WORDS_20},
            {**TIDE, "topics": "tides"},
            {**TIDE, "topics": ["tides", "baking"]},
        )
    ):
        rest = over_rest(url, given)
        answer = call(url, "", "search_knowledge", **given)
        assert (rest.status_code, answer.is_error) == (200, False), (given, words(answer))
        assert answer.structured_content["results"] == rest.json()["results"], given
        found[i] = [hit["type"] for hit in rest.json()["results"]]
    assert found[0] == found[1]
    assert found[4] == ["extraction"]
    assert set(found[5]) == {"chunk"}
    assert len(found[3]) == 2


@pytest.mark.parametrize(
    ("field", "given"),
    [
        ("query", {"query": ""}),
        ("query", {"query": "   "}),
        ("query", {"query": "\t\n"}),
        ("query", {"query": "high\0tide"}),
        ("query", {"query": "x" * 1001}),
        ("limit", {**TIDE, "limit": 0}),
        ("limit", {**TIDE, "limit": 101}),
        ("type", {**TIDE, "type": ""}),
        ("type", {**TIDE, "type": "chunk\0"}),
        ("type", {**TIDE, "type": ["chunk\0"]}),
        ("type", {**TIDE, "type": [*WORDS_20, "more"]}),
        ("type", {**TIDE, "type": "x" * 101}),
        ("topics", {**TIDE, "topics": "\0"}),
        ("topics", {**TIDE, "topics": ["tides", "\0"]}),
        ("topics", {**TIDE, "topics": [*WORDS_20, "more"]}),
    ],
)
def test_what_rest_refuses_is_refused(live_server: LiveServer, field: str, given: dict[str, Any]) -> None:
    assert over_rest(live_server.url, given).status_code == 422
    answer = call(live_server.url, "", "search_knowledge", **given)
    assert answer.is_error
    assert words(answer).startswith("VALIDATION_ERROR: ")
    error = answer.structured_content["error"]
    assert error["code"] == "VALIDATION_ERROR"
    assert [name.partition("[")[0] for name in error["details"]["fields"]] == [field]


@pytest.mark.parametrize("query", ["", "   ", "\t\n", "calendar\0event", "x" * 1001])
def test_a_search_for_tools_refuses_the_same_queries(live_server: LiveServer, query: str) -> None:
    assert httpx2.post(f"{live_server.url}/api/v1/search", json={"query": query}).status_code == 422
    answer = call(live_server.url, "", "search_tools", query=query)
    assert answer.is_error
    assert words(answer).startswith("VALIDATION_ERROR: query: ")
    assert list(answer.structured_content["error"]["details"]["fields"]) == ["query"]


def test_the_older_name_of_type_still_works_but_not_beside_it(url: str) -> None:
    old = call(url, "", "search_knowledge", **TIDE, types=["warning"]).structured_content["results"]
    assert old == call(url, "", "search_knowledge", **TIDE, type="warning").structured_content["results"]
    both = call(url, "", "search_knowledge", **TIDE, types=["warning"], type="chunk")
    assert words(both).startswith("VALIDATION_ERROR: types: ")
    assert "VALIDATION_ERROR" in words(call(url, "", "search_knowledge", **TIDE, types=["\0"]))


@pytest.mark.parametrize("uri", ["toolscript://alpha/a\0b", "toolscript://al\0pha/a"])
def test_a_resource_with_a_nul_does_not_exist(live_server: LiveServer, uri: str) -> None:
    _, key = key_create(name="reader", may_write=False)
    with pytest.raises(MCPError, match="There is no resource"):
        session(lambda client: client.read_resource(uri), live_server.url, key)
