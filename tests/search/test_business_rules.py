"""The contract's business rules, each by its number."""

import pytest

from skills.models import Skill
from skills.services.curation import skill_set_active
from tests.conftest import Api, names
from tests.world import SCHEMA, SKILLS, Entry, make_skill, make_tools, server
from tools_catalog.models import Tool
from tools_catalog.services.catalog import server_set_active, tool_set_active
from tools_catalog.services.reindex import index_refresh

pytestmark = pytest.mark.usefixtures("world")


class TestBR001TwoStages:
    def test_every_tool_belongs_to_a_matched_skill(self, api: Api) -> None:
        result = api.search("schedule a meeting with John tomorrow", limit=50, tool_threshold=0)
        matched = {skill["id"] for skill in result["matched_skills"]}
        assert "calendar_management" in matched
        assert result["tools"]
        assert all(matched & set(tool["skill_ids"]) for tool in result["tools"])

    def test_tools_come_in_order_of_score(self, api: Api) -> None:
        result = api.search("commit my changes", limit=50, tool_threshold=0)
        scores = [tool["score"] for tool in result["tools"]]
        assert scores == sorted(scores, reverse=True)
        assert names(result)[0] == "commit_changes"

    def test_limit_and_threshold_hold(self, api: Api) -> None:
        result = api.search("create a calendar event", limit=2, tool_threshold=0.35)
        assert len(result["tools"]) == 2
        assert all(tool["score"] >= 0.35 for tool in result["tools"])


class TestBR002SkillMatching:
    def test_a_skill_says_what_it_is(self, api: Api) -> None:
        best = api.search("schedule a meeting")["matched_skills"][0]
        assert best["id"] == "calendar_management"
        assert best["name"] == "Calendar Management"
        assert best["description"] == SKILLS["calendar_management"]
        assert best["tool_count"] == 6

    def test_skill_limit_and_threshold_hold(self, api: Api) -> None:
        everything = api.search("file changes", skill_limit=10, skill_threshold=0)["matched_skills"]
        assert len(everything) == 4
        cut = everything[1]["score"]
        above = api.search("file changes", skill_limit=10, skill_threshold=cut)["matched_skills"]
        assert [s["id"] for s in above] == [s["id"] for s in everything[:2]]
        one = api.search("file changes", skill_limit=1, skill_threshold=0)["matched_skills"]
        assert [s["id"] for s in one] == [everything[0]["id"]]

    def test_only_active_skills_match(self, api: Api) -> None:
        skill_set_active(Skill.objects.get(pk="calendar_management"), active=False)
        result = api.search("schedule a meeting", skill_threshold=0, skill_limit=10)
        assert "calendar_management" not in {s["id"] for s in result["matched_skills"]}

    def test_the_number_of_tools_does_not_rank(self, api: Api) -> None:
        make_skill("meteorology")
        make_tools(
            *(
                Entry(f"forecast_{i}", "Tomorrow's weather for a place.", ("meteorology",), server="many")
                for i in range(9)
            ),
            Entry("meeting_notes", "Take notes in a meeting.", ("weather",), server="few"),
        )
        index_refresh()
        ranked = api.skills("take notes in a meeting", threshold=0)
        assert ranked[0]["id"] == "weather"
        assert ranked[0]["tool_count"] == 1


class TestBR003ToolsInSkills:
    def test_skills_are_reported_with_each_tool(self, api: Api) -> None:
        tool = next(t for t in api.search("show the diff", limit=50)["tools"] if t["name"] == "show_diff")
        assert tool["skill_ids"] == ["version_control", "file_operations"]
        assert tool["primary_skill_id"] == "version_control"

    def test_inactive_tools_are_not_found(self, api: Api, world: dict[str, Tool]) -> None:
        tool_set_active(world["create_event"], active=False)
        for strategy in ("hierarchical", "direct", "hybrid"):
            assert "create_event" not in names(api.search(limit=50, tool_threshold=0, strategy=strategy))

    def test_tools_of_inactive_servers_are_not_found(self, api: Api) -> None:
        server_set_active(server("alpha"), active=False)
        assert names(api.search(limit=50, tool_threshold=0, strategy="direct")) == ["book_meeting_room"]


class TestBR004Schemas:
    def test_schemas_come_as_published_keys_in_order(self, api: Api) -> None:
        tool = api.search("create an event")["tools"][0]
        assert tool["input_schema"] == SCHEMA
        assert list(tool["input_schema"]["properties"]) == ["zeta", "alpha"]
        assert tool["output_schema"] == {"type": "object"}
        assert tool["annotations"] == {"readOnlyHint": True}

    def test_schemas_are_not_loaded_when_not_wanted(self, api: Api) -> None:
        result = api.search("create an event", include_schemas=False)
        assert all(tool["input_schema"] is None for tool in result["tools"])
        assert result["metadata"]["schema_load_time_ms"] == 0

    def test_a_tool_without_schema_is_returned_with_null(self, api: Api, world: dict[str, Tool]) -> None:
        Tool.objects.filter(pk=world["create_event"].pk).update(input_schema=None)
        tool = api.search("create an event")["tools"][0]
        assert tool["name"] == "create_event"
        assert tool["input_schema"] is None
        assert tool["output_schema"] == {"type": "object"}


class TestBR005ItemTypes:
    @pytest.mark.parametrize("strategy", ["hierarchical", "direct", "hybrid"])
    def test_one_type_only(self, api: Api, strategy: str) -> None:
        for item_type, expected in {"prompt": ["plan_week"], "resource": ["holidays"]}.items():
            result = api.search("calendar", item_type=item_type, limit=50, tool_threshold=0, strategy=strategy)
            assert names(result) == expected

    def test_null_searches_all_types(self, api: Api) -> None:
        result = api.search("calendar", item_type=None, limit=50, tool_threshold=0, strategy="direct")
        assert {tool["type"] for tool in result["tools"]} == {"tool", "prompt", "resource"}


class TestBR006Fallback:
    def test_without_a_matching_skill_all_tools_are_searched(self, api: Api) -> None:
        result = api.search("book a room for a meeting", skill_threshold=1)
        assert names(result)[0] == "book_meeting_room"
        assert result["matched_skills"] == []
        assert result["metadata"]["skill_ids_used"] is None
        assert result["metadata"]["strategy_used"] == "direct"
        assert result["metadata"]["fallback"] == "no_skill_matched"

    def test_the_fallback_keeps_the_tool_threshold(self, api: Api) -> None:
        result = api.search("book a room for a meeting", skill_threshold=1, tool_threshold=0.5, limit=50)
        assert result["tools"]
        assert all(tool["score"] >= 0.5 for tool in result["tools"])

    def test_the_fallback_is_logged_as_a_warning(self, api: Api, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
        api.search("book a room", skill_threshold=1)
        assert b"No skills matched, falling back to unfiltered search" in capfdbinary.readouterr().err


class TestBR007Metadata:
    def test_counts_and_timings_are_there(self, api: Api) -> None:
        result = api.search("create a calendar event", limit=2, tool_threshold=0.2)
        meta = result["metadata"]
        assert meta["strategy_used"] == "hierarchical"
        assert meta["skill_ids_used"] == [s["id"] for s in result["matched_skills"]]
        assert meta["stage1_skill_count"] == len(result["matched_skills"])
        assert meta["final_count"] == 2
        assert meta["fallback"] is None
        assert meta["degraded"] is None
        stages = ["query_embedding", "skill_search", "tool_search", "schema_load"]
        assert all(meta[f"{stage}_time_ms"] > 0 for stage in stages)
        assert meta["total_time_ms"] >= sum(meta[f"{stage}_time_ms"] for stage in stages) - 0.1

    def test_candidates_are_counted_before_the_limit(self, api: Api) -> None:
        everything = api.search("create a calendar event", limit=50, tool_threshold=0.2)
        few = api.search("create a calendar event", limit=1, tool_threshold=0.2)
        assert few["metadata"]["final_count"] == 1
        assert few["metadata"]["stage2_candidate_count"] == len(everything["tools"]) > 1


class TestBR008Direct:
    def test_skills_are_not_asked(self, api: Api) -> None:
        result = api.search("schedule a meeting", strategy="direct", limit=50, tool_threshold=0)
        assert result["matched_skills"] == []
        assert result["metadata"]["skill_ids_used"] is None
        assert result["metadata"]["skill_search_time_ms"] == 0
        assert result["metadata"]["strategy_used"] == "direct"
        assert len(result["tools"]) == 13

    def test_the_type_still_filters(self, api: Api) -> None:
        assert names(api.search(strategy="direct", item_type="prompt", tool_threshold=0)) == ["plan_week"]


class TestBR009Scores:
    def test_scores_lie_between_0_and_1(self, api: Api) -> None:
        for query in ("create_event", "xyzzy", "🌪️ storm", "a"):
            result = api.search(query, limit=50, tool_threshold=0, skill_threshold=0, skill_limit=10)
            scores = [x["score"] for x in result["tools"] + result["matched_skills"]]
            assert scores
            assert all(0 <= score <= 1 for score in scores)

    def test_the_same_text_scores_1(self, api: Api) -> None:
        text = "alpha: create event. Create a calendar event and invite people to a meeting. zeta alpha"
        assert api.search(text, strategy="direct")["tools"][0]["score"] == 1


class TestHybrid:
    def test_both_sides_are_merged_without_duplicates(self, api: Api) -> None:
        result = api.search("schedule a meeting", strategy="hybrid", limit=50, tool_threshold=0)
        found = names(result)
        assert len(found) == len(set(found)) == 13
        assert "book_meeting_room" in found
        assert result["matched_skills"][0]["id"] == "calendar_management"
        assert result["metadata"]["strategy_used"] == "hybrid"
        assert result["metadata"]["skill_ids_used"]


def test_a_changed_skill_is_seen_by_the_next_search(api: Api) -> None:
    assert api.skills("calendar")[0]["tool_count"] == 6
    make_tools(Entry("new_event", "A new calendar event.", ("calendar_management",), server="gamma"))
    index_refresh()
    assert api.skills("calendar")[0]["tool_count"] == 7
