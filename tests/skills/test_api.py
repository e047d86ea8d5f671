"""Skills, suggestions and assignments over HTTP."""

from typing import Any

import pytest

from skills.models import Assignment, ClassificationSwitch, Skill, Suggestion, ToolClassification
from skills.services.suggestions import suggestion_file
from skills.types import SkillIdea
from tenants.models import Tenant
from tests.conftest import Api
from tests.world import SKILLS, TOOLS, Entry, make_skill, make_tools
from tools_catalog.models import Tool, ToolVector
from tools_catalog.services.reindex import index_refresh

NEW: dict[str, Any] = {"id": "tides", "name": "Tides", "description": "High and low water at a place."}

BAD_BODIES: list[tuple[dict[str, Any], str]] = [
    ({}, "id"),
    ({**NEW, "id": "Bad Id"}, "id"),
    ({**NEW, "id": "suggestions"}, "id"),
    ({**NEW, "description": "short"}, "description"),
    ({**NEW, "keywords": ["k"] * 21}, "keywords"),
    ({**NEW, "keywords": "rain"}, "keywords"),
    ({**NEW, "colour": "red"}, "colour"),
    ({**NEW, "is_active": "yes"}, "is_active"),
]
BAD_CHOICES: list[Any] = [
    [{"skill_id": "nowhere"}],
    [{"skill_id": "weather"}, {"skill_id": "weather"}],
    [{"skill_id": "weather", "confidence": 1.2}],
    [{"skill_id": s} for s in ("weather", "file_operations", "version_control", "calendar_management")],
    "weather",
    [{}],
]


class Client:
    """Requests to the API, with the status that is expected."""

    def __init__(self, api: Api) -> None:
        self.http = api.http

    def __call__(self, method: str, path: str, expect: int = 200, body: Any = None, **params: Any) -> Any:
        response = self.http.request(method, f"/api/v1{path}", json=body, params=params or None)
        assert response.status_code == expect, response.text
        return response.json() if response.content else None

    def error(self, method: str, path: str, expect: int, body: Any = None, **params: Any) -> str:
        answer = self(method, path, expect, body, **params)
        return str(answer["error"]["message"])


@pytest.fixture
def tools(transactional_db: None) -> dict[str, Tool]:
    """The small catalogue without an index: most of what is tried here needs none."""
    for skill_id, description in SKILLS.items():
        make_skill(skill_id, description)
    return make_tools(*TOOLS)


@pytest.fixture
def call(api: Api, tools: dict[str, Tool]) -> Client:
    return Client(api)


class TestSkills:
    def test_they_are_listed_by_name_and_active_only(self, call: Client) -> None:
        Skill.objects.filter(pk="weather").update(is_active=False)
        assert [s["id"] for s in call("GET", "/skills")] == [
            "calendar_management",
            "file_operations",
            "version_control",
        ]
        assert [s["id"] for s in call("GET", "/skills", active="false")] == ["weather"]
        assert len(call("GET", "/skills", active="all")) == 4

    def test_pages_and_filters(self, call: Client) -> None:
        assert [s["id"] for s in call("GET", "/skills", limit=1, offset=1)] == ["file_operations"]
        assert [s["id"] for s in call("GET", "/skills", q="GIT rep")] == ["version_control"]
        assert call("GET", "/skills", parent_domain="none such") == []
        call("PATCH", "/skills/weather", body={"parent_domain": "nature"})
        assert [s["id"] for s in call("GET", "/skills", parent_domain="nature")] == ["weather"]

    def test_one_is_made_read_changed_and_deleted(self, call: Client) -> None:
        made = call("POST", "/skills", 201, {**NEW, "keywords": ["ebb"]})
        assert (made["id"], made["keywords"], made["is_active"], made["tool_count"]) == ("tides", ["ebb"], True, 0)
        assert call("GET", "/skills/tides") == made
        put = call("PUT", "/skills/tides", body={"name": "Tide", "description": "Water that comes and goes."})
        assert (put["name"], put["keywords"]) == ("Tide", [])
        assert call("PATCH", "/skills/tides", body={"is_active": False})["name"] == "Tide"
        call("DELETE", "/skills/tides", 204)
        call("GET", "/skills/tides", 404)
        assert Skill.objects.get(pk="tides").deleted_at is not None

    def test_tool_count_counts_tools_that_are_served(self, call: Client, tools: dict[str, Tool]) -> None:
        assert call("GET", "/skills/file_operations")["tool_count"] == 4
        Tool.objects.filter(name="read_file").update(is_active=False)
        assert call("GET", "/skills/file_operations")["tool_count"] == 3

    def test_an_id_that_is_taken_is_a_conflict(self, call: Client) -> None:
        assert "weather" in call.error("POST", "/skills", 409, {**NEW, "id": "weather"})

    def test_bad_bodies_are_refused_by_name_and_change_nothing(self, call: Client) -> None:
        for body, field in BAD_BODIES:
            answer = call("POST", "/skills", 422, body)
            assert field in answer["error"]["details"]["fields"]
        assert Skill.objects.count() == 4

    def test_one_that_is_not_there_is_404(self, call: Client) -> None:
        for method in ("GET", "PUT", "PATCH", "DELETE"):
            body = {"name": "Gone", "description": "Gone with the wind."} if method in {"PUT", "PATCH"} else None
            assert "gone" in call.error(method, "/skills/gone", 404, body)

    def test_another_tenants_skill_is_not_there(self, call: Client) -> None:
        make_skill("secret", tenant=Tenant.objects.create(slug="acme", name="Acme"))
        call("GET", "/skills/secret", 404)
        assert "secret" not in [s["id"] for s in call("GET", "/skills")]


class TestRenameAndMerge:
    def test_a_renamed_skill_keeps_its_tools_and_its_old_id_resolves(self, call: Client) -> None:
        index_refresh()
        renamed = call("PATCH", "/skills/file_operations", body={"id": "files"})
        assert (renamed["id"], renamed["tool_count"]) == ("files", 4)
        assert call("GET", "/skills/file_operations")["id"] == "files"
        assert len(call("GET", "/skills/file_operations/tools")) == 4
        found = call("GET", "/search/tools", query="read a file", skill_ids="file_operations")
        assert found[0]["skill_ids"] == ["files"]
        assert "file_operations" in call.error("POST", "/skills", 409, {**NEW, "id": "file_operations"})

    def test_back_again(self, call: Client) -> None:
        call("PATCH", "/skills/weather", body={"id": "climate"})
        assert call("PATCH", "/skills/weather", body={"id": "weather"})["id"] == "weather"
        assert call("GET", "/skills/climate")["id"] == "weather"

    def test_a_name_that_is_taken_is_a_conflict(self, call: Client) -> None:
        call("PATCH", "/skills/weather", 409, {"id": "file_operations", "name": "Changed"})
        assert Skill.objects.get(pk="weather").name == "Weather"

    def test_merging_moves_every_tool_once(self, call: Client, tools: dict[str, Tool]) -> None:
        index_refresh()
        merged = call("POST", "/skills/version_control/merge", body={"into": "file_operations"})
        assert merged == {"into": "file_operations", "moved": 3}
        assert call("GET", "/skills/version_control")["id"] == "file_operations"
        assert call("GET", "/skills/file_operations")["tool_count"] == 6
        both = Assignment.objects.get(tool=tools["show_diff"])
        assert (both.skill_id, both.confidence, both.is_primary, both.source) == ("file_operations", 0.9, True, "human")
        assert ToolVector.objects.get(tool=tools["commit_changes"]).skill_ids == ["file_operations"]

    def test_ids_resolve_along_a_chain(self, call: Client) -> None:
        call("POST", "/skills/version_control/merge", body={"into": "file_operations"})
        call("PATCH", "/skills/file_operations", body={"id": "files"})
        call("POST", "/skills/files/merge", body={"into": "weather"})
        assert {call("GET", f"/skills/{old}")["id"] for old in ("version_control", "file_operations", "files")} == {
            "weather"
        }

    def test_not_into_itself_nor_into_what_is_off(self, call: Client) -> None:
        call("POST", "/skills/weather/merge", 422, {"into": "weather"})
        Skill.objects.filter(pk="weather").update(is_active=False)
        call("POST", "/skills/file_operations/merge", 409, {"into": "weather"})
        call("POST", "/skills/file_operations/merge", 404, {"into": "nowhere"})
        assert Assignment.objects.filter(skill="file_operations").count() == 4


class TestTools:
    def test_the_tools_of_a_skill(self, call: Client) -> None:
        tools = call("GET", "/skills/file_operations/tools")
        assert [t["name"] for t in tools] == ["delete_file", "read_file", "write_file", "show_diff"]
        assert (tools[0]["server"], tools[0]["source"], tools[0]["is_primary"]) == ("alpha", "human", True)
        assert [t["name"] for t in call("GET", "/skills/file_operations/tools", primary="false")] == ["show_diff"]
        assert call("GET", "/skills/file_operations/tools", source="llm") == []
        assert len(call("GET", "/skills/file_operations/tools", limit=2, offset=3)) == 1

    def test_filing_by_hand(self, call: Client, tools: dict[str, Tool]) -> None:
        body = {"skills": [{"skill_id": "weather", "confidence": 0.8}, {"skill_id": "file_operations"}]}
        answer = call("PUT", f"/tools/{tools['read_file'].pk}/skills", body=body)
        assert [(s["skill_id"], s["confidence"], s["is_primary"], s["source"]) for s in answer["skills"]] == [
            ("file_operations", 1.0, True, "human"),
            ("weather", 0.8, False, "human"),
        ]
        assert ToolClassification.objects.get(tool=tools["read_file"]).pinned
        assert ClassificationSwitch.objects.get().refresh_asked_at is not None

    def test_into_no_skill_at_all(self, call: Client, tools: dict[str, Tool]) -> None:
        assert call("PUT", f"/tools/{tools['read_file'].pk}/skills", body={"skills": []})["skills"] == []

    def test_bad_choices_change_nothing(self, call: Client, tools: dict[str, Tool]) -> None:
        for skills in BAD_CHOICES:
            call("PUT", f"/tools/{tools['read_file'].pk}/skills", 422, {"skills": skills})
        assert [a.skill_id for a in tools["read_file"].assignments.all()] == ["file_operations"]

    def test_a_tool_that_is_not_there(self, call: Client) -> None:
        tenant = Tenant.objects.create(slug="acme", name="Acme")
        theirs = make_tools(Entry("hidden", "Theirs alone.", (), server="theirs"), tenant=tenant)["hidden"]
        for tool_id in (theirs.pk, 999_999_999):
            call("PUT", f"/tools/{tool_id}/skills", 404, {"skills": []})

    def test_classifying_again(self, call: Client, tools: dict[str, Tool]) -> None:
        ids = [tools["read_file"].pk, tools["write_file"].pk]
        answer = call("POST", "/skills/classify", body={"tool_ids": ids})
        assert answer == {"queued": 0, "classifier": "nearest", "paused": False}
        assert call("POST", "/skills/classify", body={"tool_ids": ids, "force": True})["queued"] == 2
        assert set(ToolClassification.objects.filter(status="pending").values_list("tool_id", flat=True)) == set(ids)
        assert call("POST", "/skills/classify", body={})["queued"] == 0
        call("POST", "/skills/classify", 404, {"tool_ids": [999_999_999]})
        call("POST", "/skills/classify", 422, {"tool_ids": ["1"]})


class TestSuggestions:
    @pytest.fixture
    def suggestion(self, call: Client, tools: dict[str, Tool]) -> Suggestion:
        tool = tools["book_meeting_room"]
        ToolClassification.objects.filter(tool=tool).update(pinned=False, status="suggested")
        idea = SkillIdea("Room booking", "Find and book rooms for meetings.", "No skill is about rooms.")
        return suggestion_file(idea, [tool.pk], origin=Suggestion.Origin.NEAREST)

    def test_the_queue(self, call: Client, suggestion: Suggestion) -> None:
        [row] = call("GET", "/skills/suggestions")
        assert (row["name"], row["asked"], row["status"]) == ("Room booking", 1, "pending")
        assert [tool["name"] for tool in row["example_tools"]] == ["book_meeting_room"]
        assert call("GET", "/skills/suggestions", status="rejected") == []
        assert call("GET", "/skills/suggestions", q="boats") == []
        call("GET", "/skills/suggestions", 422, status="maybe")

    def test_preview_approve_and_undo(self, call: Client, suggestion: Suggestion, tools: dict[str, Tool]) -> None:
        path = f"/skills/suggestions/{suggestion.pk}"
        preview = call("POST", f"{path}/preview", body={})
        assert [(m["name"], m["from"], m["to"]) for m in preview["moves"]] == [
            ("book_meeting_room", [], ["room_booking"])
        ]
        skill = call("POST", f"{path}/approve", body={"name": "Rooms", "keywords": ["room"]})
        assert (skill["id"], skill["name"], skill["keywords"], skill["tool_count"]) == (
            "room_booking",
            "Rooms",
            ["room"],
            1,
        )
        assert "approved already" in call.error("POST", f"{path}/approve", 409, {})
        call("POST", f"{path}/preview", 409, {})
        assert call("POST", f"{path}/undo")["status"] == "pending"
        assert "no decision" in call.error("POST", f"{path}/undo", 409)

    def test_merge(self, call: Client, suggestion: Suggestion, tools: dict[str, Tool]) -> None:
        index_refresh()
        path = f"/skills/suggestions/{suggestion.pk}"
        assert call("POST", f"{path}/preview", body={"into": "calendar_management"})["centroid_shift"] > 0
        call("POST", f"{path}/merge", 404, {"into": "nowhere"})
        assert call("POST", f"{path}/merge", body={"into": "calendar_management"})["tool_count"] == 7
        assert [a.skill_id for a in tools["book_meeting_room"].assignments.all()] == ["calendar_management"]

    def test_reject(self, call: Client, suggestion: Suggestion) -> None:
        answer = call("POST", f"/skills/suggestions/{suggestion.pk}/reject", body={"reason": "Too narrow."})
        assert (answer["status"], answer["reason"], answer["decided_by"]) == ("rejected", "Too narrow.", "key:tests")

    def test_one_that_is_not_there(self, call: Client) -> None:
        for what in ("preview", "approve", "merge", "reject", "undo"):
            body = {"into": "weather"} if what == "merge" else {}
            call("POST", f"/skills/suggestions/999/{what}", 404, body)
