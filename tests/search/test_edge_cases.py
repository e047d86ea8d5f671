"""The contract's edge cases, each by its number."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import psycopg
import pytest
from django.db import connection
from pytest_django import Settings

from skills.models import Skill
from skills.services.curation import skill_delete
from tests.conftest import Api, names
from tests.openai_server import EmbeddingServer, embedding_server
from tests.world import Entry, make_skill, make_tools, make_world
from tools_catalog.models import Tool
from tools_catalog.services.reindex import index_refresh


@pytest.fixture
def remote_model(settings: Settings, transactional_db: None) -> Iterator[EmbeddingServer]:
    """The world, embedded by a model that is a service elsewhere."""
    with embedding_server() as server:
        settings.EMBEDDING_OPTIONS = replace(
            settings.EMBEDDING_OPTIONS, openai_base_url=server.url, openai_api_key="secret", timeout=5
        )
        settings.TOOLSCRIPT_EMBEDDING_MODEL = "openai:words"
        make_world()
        yield server


@pytest.fixture
def locked() -> Iterator[psycopg.Connection]:
    """A second connection that holds its locks until the test ends."""
    params = connection.get_connection_params()
    keep = {k: params[k] for k in ("host", "port", "user", "dbname") if k in params}
    with psycopg.connect(**keep) as other:
        yield other
        other.rollback()


def test_ec_001_no_skills_in_the_index_falls_back_to_direct(api: Api, transactional_db: None) -> None:
    make_tools(Entry("create_event", "Create a calendar event.", ()))
    index_refresh()
    result = api.search("create an event")
    assert names(result) == ["create_event"]
    assert result["metadata"]["strategy_used"] == "direct"
    assert result["metadata"]["fallback"] == "no_skills"
    assert result["metadata"]["skill_ids_used"] is None


def test_ec_001_deleted_skills_count_as_none(api: Api, world: dict[str, Tool]) -> None:
    for skill in Skill.objects.all():
        skill_delete(skill)
    assert api.search()["metadata"]["fallback"] == "no_skills"


def test_ec_002_when_all_skills_match_the_best_are_taken(api: Api, world: dict[str, Tool]) -> None:
    everything = api.search("do something", skill_threshold=0, skill_limit=10)["matched_skills"]
    assert len(everything) == 4
    assert api.search("do something", skill_threshold=0, skill_limit=2)["matched_skills"] == everything[:2]


def test_ec_003_matched_skills_without_tools_give_an_empty_list(api: Api, transactional_db: None) -> None:
    make_skill("weather", "Current weather, forecasts and storm warnings for a place.")
    make_tools(Entry("create_event", "Create a calendar event.", ()))
    index_refresh()
    result = api.search("weather forecast for tomorrow")
    assert [s["id"] for s in result["matched_skills"]] == ["weather"]
    assert result["tools"] == []
    assert result["metadata"]["strategy_used"] == "hierarchical"
    assert result["metadata"]["fallback"] is None


@pytest.mark.parametrize("length", [1, 1000])
def test_ec_004_a_query_of_up_to_1000_characters_is_searched(api: Api, world: dict[str, Tool], length: int) -> None:
    assert api.search("x" * length)["query"] == "x" * length


def test_ec_004_a_longer_query_is_refused(api: Api, transactional_db: None) -> None:
    error = api.search("x" * 1001, expect=422)["error"]
    assert error["code"] == "VALIDATION_ERROR"
    assert "query" in error["details"]["fields"]


@pytest.mark.parametrize(
    "query",
    [
        "'; DROP TABLE tools_catalog_tool; --",
        "<script>alert(1)</script>",
        "{{ 7 * 7 }} ${jndi:ldap://x} %s %(query)s",
        '"}],"$where":"1==1',
        "Ünïcödé \u202e RTL \u200b zero-width 会议 🗓️",
        "\\x00 \\u0000 \t\n calendar",
    ],
)
def test_ec_005_special_characters_are_plain_text(api: Api, world: dict[str, Tool], query: str) -> None:
    for strategy in ("hierarchical", "direct", "hybrid"):
        assert api.search(query, strategy=strategy)["query"] == query.strip()
    assert Tool.objects.count() == 13
    assert api.tools("calendar", skill_ids=query) == []


def test_ec_006_concurrent_equal_queries_get_equal_answers(api: Api, world: dict[str, Tool]) -> None:
    with ThreadPoolExecutor(12) as pool:
        results = list(pool.map(lambda _: api.search("plan a meeting with the team"), range(48)))
    assert len({str((r["tools"], r["matched_skills"])) for r in results}) == 1


def test_ec_007_a_stale_skill_index_still_answers(api: Api, world: dict[str, Tool]) -> None:
    make_tools(Entry("storm_alert", "Warn of storms at a place.", ("weather",), server="gamma"))
    assert names(api.search("create a calendar event"))[0] == "create_event"  # nothing was embedded since
    Tool.objects.filter(name="create_event").delete()
    assert "create_event" not in names(api.search("create a calendar event", limit=50))


def test_ec_008_a_tool_in_no_skill_is_found_in_direct_mode_alone(api: Api, world: dict[str, Tool]) -> None:
    query = "book a room for a meeting"
    wide = {"limit": 50, "tool_threshold": 0, "skill_threshold": 0, "skill_limit": 10}
    assert "book_meeting_room" not in names(api.search(query, **wide))
    assert names(api.search(query, strategy="direct"))[0] == "book_meeting_room"
    assert names(api.search(query, strategy="hybrid"))[0] == "book_meeting_room"


def test_ec_009_a_slow_embedding_service_is_waited_for(api: Api, remote_model: EmbeddingServer) -> None:
    remote_model.mode = "slow"
    result = api.search("create a calendar event")
    assert names(result)[0] == "create_event"
    assert result["metadata"]["query_embedding_time_ms"] >= 300


@pytest.mark.parametrize("mode", ["hang", "drip"])
def test_ec_009_one_that_never_answers_is_given_up(
    api: Api, remote_model: EmbeddingServer, settings: Settings, mode: str
) -> None:
    remote_model.mode = mode
    settings.SEARCH_TIMEOUTS = {**settings.SEARCH_TIMEOUTS, "embedding": 0.5}
    started = time.monotonic()
    result = api.search("a query that is not in the cache yet")
    assert time.monotonic() - started < 10
    assert result["tools"] == result["matched_skills"] == []
    assert result["metadata"]["degraded"] == "embedding"


@pytest.mark.parametrize("mode", ["fail", "garbage", "short", "zero"])
def test_a_broken_embedding_service_gives_empty_results_that_say_so(
    api: Api, remote_model: EmbeddingServer, mode: str
) -> None:
    remote_model.mode = mode
    result = api.search("a query that is not in the cache yet")
    assert result["tools"] == result["matched_skills"] == []
    assert result["metadata"]["degraded"] == "embedding"
    response = api.http.get("/api/v1/search/tools", params={"query": "another new query"})
    assert (response.status_code, response.json()) == (200, [])
    assert response.headers["X-Toolscript-Degraded"] == "embedding"
    assert api.http.get("/ready").json()["error"]["details"]["checks"]["model"] != "ok"
    remote_model.mode = "ok"
    assert api.http.get("/ready").status_code == 200
    assert names(api.search("create a calendar event"))[0] == "create_event"


def test_the_query_is_embedded_once_and_a_repeated_one_not_at_all(api: Api, remote_model: EmbeddingServer) -> None:
    remote_model.requests.clear()
    api.search("commit the staged changes", strategy="hybrid")
    assert [r["input"] for r in remote_model.requests] == [["commit the staged changes"]]
    api.search("commit the staged changes")
    api.skills("commit the staged changes")
    assert len(remote_model.requests) == 1


def test_a_failing_skill_stage_falls_back_to_direct(
    api: Api, world: dict[str, Tool], locked: psycopg.Connection, settings: Settings
) -> None:
    settings.SEARCH_TIMEOUTS = {**settings.SEARCH_TIMEOUTS, "skills": 0.1}
    locked.execute("LOCK TABLE skills_skillindexversion IN ACCESS EXCLUSIVE MODE")
    result = api.search("create an event")
    assert names(result)[0] == "create_event"
    assert result["metadata"]["strategy_used"] == "direct"
    assert result["metadata"]["fallback"] == "skill_search_timeout"


def test_a_failing_tool_stage_gives_empty_results_that_say_so(
    api: Api, world: dict[str, Tool], locked: psycopg.Connection, settings: Settings
) -> None:
    settings.SEARCH_TIMEOUTS = {**settings.SEARCH_TIMEOUTS, "tools": 0.1}
    locked.execute("LOCK TABLE mcp_unified_search IN ACCESS EXCLUSIVE MODE")
    result = api.search("create an event")
    assert result["tools"] == []
    assert result["metadata"]["degraded"] == "tool_search"
    locked.rollback()
    assert api.search("create an event")["tools"]


def test_a_failing_schema_load_leaves_schemas_null(api: Api, world: dict[str, Tool]) -> None:
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE tools_catalog_tool RENAME COLUMN output_schema TO gone")
    try:
        result = api.search("create an event")
    finally:
        with connection.cursor() as cursor:
            cursor.execute("ALTER TABLE tools_catalog_tool RENAME COLUMN gone TO output_schema")
    assert names(result)[0] == "create_event"
    assert result["tools"][0]["input_schema"] is None
    assert result["metadata"]["degraded"] == "schema_load"


def test_unknown_skill_ids_match_nothing(api: Api, world: dict[str, Tool]) -> None:
    assert api.tools("calendar", skill_ids="no_such_skill") == []
    found = api.tools("calendar", skill_ids="no_such_skill, version_control", threshold=0)
    assert {tool["primary_skill_id"] for tool in found} == {"version_control"}


def test_tools_alone_have_no_schemas_and_respect_type_and_limit(api: Api, world: dict[str, Tool]) -> None:
    assert "input_schema" not in api.tools()[0]
    assert names(api.tools("calendar", item_type="prompt", threshold=0)) == ["plan_week"]
    assert len(api.tools("calendar", limit=3, threshold=0)) == 3


def test_without_an_index_the_answer_is_not_ready(api: Api, transactional_db: None) -> None:
    error = api.search("create an event", expect=503)["error"]
    assert error["code"] == "NOT_READY"
