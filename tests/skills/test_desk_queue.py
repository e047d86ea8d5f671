"""The queue of suggestions through its pages: what is shown, what a decision does, how tools are moved."""

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client

from skills.models import (
    Assignment,
    Skill,
    Suggestion,
    SuggestionDecision,
    ToolClassification,
)
from skills.services.assignments import assignment_replace
from skills.services.curation import skill_set_active
from skills.services.suggestions import suggestion_reject
from skills.types import SkillChoice
from tests.skills.desk import QUEUE, SKILL, decide, said, skills_of
from tools_catalog.models import Tool

ODD = ["page=x", "selected=abc", "status=nothing", "sort=--", "page=99", "selected=" + "9" * 30]

pytestmark = pytest.mark.django_db


class TestTheQueue:
    def test_a_row_says_what_it_takes_to_decide(self, kim: Client) -> None:
        page = said(kim.get(QUEUE))
        for text in (
            "Room booking",
            "Find a free room",
            "3 tools",
            "find_room",
            "Calendar Management",
            "If you approve it",
        ):
            assert text in page

    def test_the_most_asked_come_first(self, kim: Client) -> None:
        page = said(kim.get(QUEUE))
        assert page.index("Room booking") < page.index("Invoices") < page.index("Storm warnings")

    def test_it_can_be_searched(self, kim: Client) -> None:
        page = said(kim.get(QUEUE, {"q": "customers"}))
        assert "Invoices" in page
        assert "Room booking" not in page

    @pytest.mark.parametrize("query", ODD)
    def test_odd_addresses_are_harmless(self, kim: Client, query: str) -> None:
        assert kim.get(f"{QUEUE}?{query}").status_code == 200

    def test_the_sidebar_counts_what_is_pending(self, kim: Client, queue: dict[str, Suggestion]) -> None:
        suggestion_reject(queue["Invoices"], by="lee")
        assert 'data-pending="3"' in said(kim.get(QUEUE))

    def test_an_unknown_suggestion_is_not_found(self, kim: Client) -> None:
        assert kim.get(f"{QUEUE}987654/review/").status_code == 404
        assert kim.post(f"{QUEUE}987654/decide/reject/").status_code == 404


class TestDeciding:
    def test_approve(self, kim: Client, queue: dict[str, Suggestion]) -> None:
        page = said(decide(kim, queue["Room booking"], "approve"))
        assert "Room booking is a skill now, with 3 tools." in page
        assert skills_of("book_room") == ["room_booking"]

    def test_edit_and_approve(self, kim: Client, queue: dict[str, Suggestion]) -> None:
        edited = {"id": "rooms", "name": "Rooms", "description": "Everything about rooms.", "keywords": "room\ndesk\n"}
        decide(kim, queue["Room booking"], "approve", **edited)
        skill = Skill.objects.get(pk="rooms")
        assert (skill.name, skill.keywords) == ("Rooms", ["room", "desk"])

    def test_a_bad_edit_says_why_and_keeps_what_was_typed(self, kim: Client, queue: dict[str, Suggestion]) -> None:
        edited = {"id": "rooms", "name": "Typed with care", "description": "short"}
        page = said(decide(kim, queue["Room booking"], "approve", **edited))
        assert "at least 10 characters" in page
        assert "Typed with care" in page
        assert not Skill.objects.filter(pk="rooms").exists()

    def test_merge_shows_what_it_would_do_and_does_it(self, kim: Client, queue: dict[str, Suggestion]) -> None:
        room = queue["Room booking"]
        page = said(decide(kim, room, "merge", into="calendar_management", preview="1"))
        assert "If you merge it into Calendar Management" in page
        assert "Its centre moves by" in page
        assert skills_of("book_room") == []
        page = said(decide(kim, room, "merge", into="calendar_management"))
        assert "3 tools joined it" in page
        assert skills_of("book_room") == ["calendar_management"]

    @pytest.mark.parametrize(
        ("fields", "message"),
        [({}, "Choose the skill"), ({"into": "nowhere"}, "There is no skill"), ({"other": "weather2"}, "weather2")],
    )
    def test_a_merge_into_nothing_changes_nothing(
        self, kim: Client, queue: dict[str, Suggestion], fields: dict[str, str], message: str
    ) -> None:
        assert message in said(decide(kim, queue["Invoices"], "merge", **fields))
        assert Suggestion.objects.get(name="Invoices").status == "pending"

    def test_reject_with_a_reason(self, kim: Client, queue: dict[str, Suggestion]) -> None:
        decide(kim, queue["Invoices"], "reject", reason="Too narrow")
        row = Suggestion.objects.get(name="Invoices")
        assert (row.status, row.reason, row.decided_by) == ("rejected", "Too narrow", "kim")

    def test_undo_takes_back_the_last_decision_of_this_person(self, kim: Client, queue: dict[str, Suggestion]) -> None:
        decide(kim, queue["Room booking"], "approve")
        suggestion_reject(queue["Invoices"], by="lee")
        page = said(kim.post(f"{QUEUE}undo/", follow=True))
        assert "Undone: Room booking is pending again." in page
        assert skills_of("book_room") == []
        assert "There is no decision of yours to undo." in said(kim.post(f"{QUEUE}undo/", follow=True))
        assert Suggestion.objects.get(name="Invoices").status == "rejected"

    def test_the_next_one_is_up_after_a_decision(self, kim: Client, queue: dict[str, Suggestion]) -> None:
        response = decide(kim, queue["Room booking"], "reject")
        assert response.context["chosen"] == queue["Invoices"]

    def test_somebody_was_faster(self, kim: Client, queue: dict[str, Suggestion]) -> None:
        suggestion_reject(queue["Invoices"], by="lee", reason="Not a skill")
        page = said(decide(kim, queue["Invoices"], "approve"))
        assert "This suggestion is rejected already." in page
        assert Suggestion.objects.get(name="Invoices").decided_by == "lee"
        assert not Skill.objects.filter(pk="invoices").exists()
        assert SuggestionDecision.objects.count() == 1

    def test_the_history_says_who_decided_what(self, kim: Client, queue: dict[str, Suggestion]) -> None:
        decide(kim, queue["Invoices"], "reject", reason="Too narrow")
        kim.post(f"{QUEUE}undo/")
        page = said(kim.get(f"{QUEUE}history/"))
        for text in ("kim", "Invoices", "reject", "Too narrow"):
            assert text in page
        assert page.count("kim,") == 1  # who undid it


class TestSeveralAtOnce:
    def test_it_is_previewed_then_done_then_undone(self, kim: Client, queue: dict[str, Suggestion]) -> None:
        ids = [queue["Room booking"].pk, queue["Storm warnings"].pk]
        page = said(kim.post(f"{QUEUE}bulk/", {"ids": ids, "action": "merge", "other": "weather"}))
        assert "Merge 2 suggestions into Weather?" in page
        assert "<b>4</b> tools move" in page
        assert Suggestion.objects.filter(status="pending").count() == 4
        done = {"ids": ids, "action": "merge", "other": "weather", "confirmed": "1"}
        assert "2 suggestions merged." in said(kim.post(f"{QUEUE}bulk/", done, follow=True))
        assert skills_of("storm_alert") == ["weather"]
        page = said(kim.post(f"{QUEUE}undo/", {"ids": ids}, follow=True))
        assert "Undone: 2 suggestions are pending again." in page

    def test_one_that_was_decided_meanwhile_does_not_stop_the_others(
        self, kim: Client, queue: dict[str, Suggestion]
    ) -> None:
        suggestion_reject(queue["Invoices"], by="lee")
        ids = [queue["Invoices"].pk, queue["Translation"].pk]
        page = said(kim.post(f"{QUEUE}bulk/", {"ids": ids, "action": "reject", "confirmed": "1"}, follow=True))
        assert "1 suggestion rejected." in page
        assert "Invoices: This suggestion is rejected already." in page

    @pytest.mark.parametrize("fields", [{}, {"action": "approve"}, {"ids": ["1"], "action": "burn"}, {"ids": ["x"]}])
    def test_a_senseless_post_says_so(self, kim: Client, fields: dict[str, Any]) -> None:
        assert "Select suggestions first" in said(kim.post(f"{QUEUE}bulk/", fields, follow=True))
        assert not SuggestionDecision.objects.exists()


class TestMovingTools:
    def move(self, client: Client, name: str, source: str, target: str, **headers: str) -> Any:
        data = {
            "tool": Tool.objects.get(name=name).pk,
            "source": source,
            "target": target,
            "back": f"{SKILL}weather/change/",
        }
        return client.post(f"{SKILL}move/", data, follow=True, headers=headers)

    def test_one_click_files_it_as_a_persons_decision(self, kim: Client) -> None:
        page = said(self.move(kim, "read_file", "file_operations", "version_control"))
        assert "read_file is now in Version Control." in page
        row = Assignment.objects.get(tool__name="read_file")
        assert (row.skill_id, row.source, row.confidence, row.is_primary) == ("version_control", "human", 1.0, True)
        assert LogEntry.objects.get().change_message == "Filed under version_control, before under file_operations."

    def test_it_stays_in_its_other_skills(self, kim: Client) -> None:
        self.move(kim, "show_diff", "file_operations", "weather")
        assert skills_of("show_diff") == ["weather", "version_control"]

    def test_somebody_moved_it_meanwhile(self, kim: Client) -> None:
        tool = Tool.objects.get(name="read_file")
        assignment_replace(tool, [SkillChoice("weather", 0.9)], source=Assignment.Source.HUMAN)
        assert "somebody moved it meanwhile" in said(self.move(kim, "read_file", "file_operations", "version_control"))
        assert skills_of("read_file") == ["weather"]

    def test_undo_files_it_as_before(self, kim: Client) -> None:
        tool = Tool.objects.get(name="read_file")
        assignment_replace(tool, [SkillChoice("file_operations", 0.55, "Near.")], source=Assignment.Source.NEAREST)
        row = self.move(kim, "read_file", "file_operations", "weather", HX_Request="true")
        token = row.context["token"]
        assert "read_file is filed as before." in said(kim.post(f"{SKILL}undo/", {"token": token}, follow=True))
        back = Assignment.objects.get(tool=tool)
        assert (back.skill_id, back.confidence, back.source, back.reasoning) == (
            "file_operations",
            0.55,
            "nearest",
            "Near.",
        )
        assert "filed anew meanwhile" in said(kim.post(f"{SKILL}undo/", {"token": token}, follow=True))

    def test_undo_gives_a_tool_without_a_skill_back_to_the_pipeline(self, kim: Client) -> None:
        for status, after in (("suggested", "suggested"), ("claimed", "pending")):
            state = ToolClassification.objects.filter(tool__name="find_room")
            state.update(status=status, pinned=False)
            token = self.move(kim, "find_room", "", "weather", HX_Request="true").context["token"]
            assert state.get().pinned
            kim.post(f"{SKILL}undo/", {"token": token})
            assert skills_of("find_room") == []
            assert state.values_list("status", "pinned").get() == (after, False)

    @pytest.mark.parametrize("token", ["", "forged", "eyJhIjoxfQ:1:2"])
    def test_a_forged_undo_is_refused(self, kim: Client, token: str) -> None:
        assert "no longer be taken back" in said(kim.post(f"{SKILL}undo/", {"token": token}, follow=True))

    @pytest.mark.parametrize(
        ("tool", "target", "message"),
        [("1", "nowhere", "There is no"), ("x", "weather", "No tool was chosen"), ("99999999", "weather", "any more")],
    )
    def test_bad_input_is_explained(self, kim: Client, tool: str, target: str, message: str) -> None:
        tool = str(Tool.objects.get(name="read_file").pk) if tool == "1" else tool
        page = said(kim.post(f"{SKILL}move/", {"tool": tool, "target": target}, follow=True))
        assert message in page
        assert skills_of("read_file") == ["file_operations"]

    def test_a_switched_off_skill_takes_no_tools(self, kim: Client) -> None:
        skill_set_active(Skill.objects.get(pk="weather"), active=False)
        assert "is switched off" in said(self.move(kim, "read_file", "file_operations", "weather"))

    def test_the_way_back_stays_on_this_site(self, kim: Client) -> None:
        tool = Tool.objects.get(name="read_file")
        data = {"tool": tool.pk, "source": "file_operations", "target": "weather", "back": "https://elsewhere.example/"}
        assert kim.post(f"{SKILL}move/", data).headers["Location"] == f"{SKILL}coverage/"
