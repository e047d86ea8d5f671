"""The queue of missing skills: what gathers, what a decision does, and how it is taken back."""

import pytest

from core.errors import Conflict
from skills.models import Skill, Suggestion, SuggestionDecision, ToolClassification
from skills.services.assignments import tool_assign
from skills.services.filing import tool_confirm
from skills.services.preview import suggestion_preview
from skills.services.suggestions import (
    suggestion_approve,
    suggestion_file,
    suggestion_key,
    suggestion_merge,
    suggestion_reject,
)
from skills.services.undo import decision_last, suggestion_undo
from skills.types import SkillChoice, SkillIdea, SkillSpec
from tests.world import Entry, make_tools
from tools_catalog.models import Tool, ToolVector
from tools_catalog.services.reindex import index_refresh

ROOMS = SkillIdea("Room booking", "Find and book rooms for meetings.", "No skill is about rooms.", ("room",))
LONERS = ("find_room", "book_room", "cancel_room")


@pytest.fixture
def loners(world: dict[str, Tool]) -> dict[str, Tool]:
    """Tools in no skill, as the pipeline leaves them when nothing fits."""
    entries = [Entry(name, f"{name.replace('_', ' ')} in the office building.", (), server="rooms") for name in LONERS]
    tools = {name: tool for name, tool in make_tools(*entries).items() if name in LONERS}
    ToolClassification.objects.filter(tool__in=tools.values()).update(pinned=False, status="suggested")
    index_refresh()
    return tools


def ask(tools: dict[str, Tool], idea: SkillIdea = ROOMS) -> Suggestion:
    for tool in tools.values():
        suggestion = suggestion_file(idea, [tool.pk], origin=Suggestion.Origin.NEAREST)
    return suggestion


def skills_of(tool: Tool) -> list[str]:
    return [a.skill_id for a in tool.assignments.all()]


class TestFiling:
    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ("Room booking", "room  BOOKINGS"),
            ("PDF tools", "pdf"),
            ("E-mail & calendar", "e mail calendar"),
            ("Data management", "Data"),
        ],
    )
    def test_names_that_mean_the_same_have_one_key(self, one: str, other: str) -> None:
        assert suggestion_key(one) == suggestion_key(other)

    @pytest.mark.parametrize(("one", "other"), [("Rooms", "Room booking"), ("Glass", "Glas cutting")])
    def test_other_names_have_other_keys(self, one: str, other: str) -> None:
        assert suggestion_key(one) != suggestion_key(other)

    def test_equal_suggestions_gather_on_one_row(self, loners: dict[str, Tool]) -> None:
        suggestion = ask(loners)
        ask(loners)
        assert Suggestion.objects.count() == 1
        assert suggestion.asked == 3


class TestDeciding:
    def test_approving_makes_the_skill_and_files_the_tools_that_asked(self, loners: dict[str, Tool]) -> None:
        suggestion = ask(loners)
        skill = suggestion_approve(suggestion, by="kim")
        assert (skill.pk, skill.name, skill.keywords) == ("room_booking", "Room booking", ["room"])
        assert all(skills_of(tool) == ["room_booking"] for tool in loners.values())
        assert ToolVector.objects.get(tool=loners["find_room"]).skill_ids == ["room_booking"]
        suggestion.refresh_from_db()
        assert (suggestion.status, suggestion.decided_by, suggestion.skill_id) == ("approved", "kim", "room_booking")

    def test_a_name_that_no_id_may_have_is_a_name_like_any_other(self, loners: dict[str, Tool]) -> None:
        idea = SkillIdea("Classify", "Sort things into classes.")
        skill = suggestion_approve(ask(loners, idea), by="kim")
        assert (skill.pk, skill.name) == ("classify_2", "Classify")

    def test_it_can_be_edited_before(self, loners: dict[str, Tool]) -> None:
        spec = SkillSpec("rooms", "Rooms", "Everything about meeting rooms.")
        assert suggestion_approve(ask(loners), by="kim", spec=spec).name == "Rooms"
        assert skills_of(loners["book_room"]) == ["rooms"]

    def test_a_bad_edit_changes_nothing(self, loners: dict[str, Tool]) -> None:
        suggestion = ask(loners)
        with pytest.raises(Conflict):
            suggestion_approve(suggestion, by="kim", spec=SkillSpec("weather", "Rooms", "Everything about rooms."))
        suggestion.refresh_from_db()
        assert suggestion.status == "pending"
        assert not SuggestionDecision.objects.exists()

    def test_merging_files_the_tools_under_the_other_skill(self, loners: dict[str, Tool]) -> None:
        suggestion_merge(ask(loners), into=Skill.objects.get(pk="calendar_management"), by="kim")
        assert skills_of(loners["find_room"]) == ["calendar_management"]

    def test_a_rejected_one_does_not_come_back(self, loners: dict[str, Tool]) -> None:
        suggestion_reject(ask(loners), by="kim", reason="Too narrow.")
        again = ask(loners)
        assert (again.status, again.reason) == ("rejected", "Too narrow.")
        assert not Suggestion.objects.filter(status="pending").exists()

    def test_what_a_person_filed_stays_where_it_is(self, loners: dict[str, Tool]) -> None:
        suggestion = ask(loners)
        tool_assign(loners["find_room"], [SkillChoice("weather", 0.9)])
        suggestion_approve(suggestion, by="kim")
        assert skills_of(loners["find_room"]) == ["weather"]

    def test_two_decisions_on_one_are_a_conflict(self, loners: dict[str, Tool]) -> None:
        suggestion = ask(loners)
        suggestion_reject(suggestion, by="kim")
        with pytest.raises(Conflict, match="rejected already"):
            suggestion_approve(suggestion, by="lee")

    def test_a_near_tool_is_looked_at_again(self, loners: dict[str, Tool]) -> None:
        asking = {name: tool for name, tool in loners.items() if name != "book_room"}
        suggestion_approve(ask(asking), by="kim")
        assert loners["book_room"].classification.status == "pending"


class TestUndo:
    def test_an_approval_leaves_nothing_behind(self, loners: dict[str, Tool]) -> None:
        suggestion = ask(loners)
        suggestion_approve(suggestion, by="kim")
        suggestion_undo(suggestion, by="lee")
        assert not Skill.objects.filter(pk="room_booking").exists()
        assert skills_of(loners["find_room"]) == []
        suggestion.refresh_from_db()
        assert (suggestion.status, suggestion.skill_id, suggestion.asked) == ("pending", None, 3)
        decision = SuggestionDecision.objects.get()
        assert (decision.by, decision.undone_by) == ("kim", "lee")

    def test_a_merge_puts_tools_back(self, loners: dict[str, Tool]) -> None:
        suggestion = ask(loners)
        suggestion_merge(suggestion, into=Skill.objects.get(pk="weather"), by="kim")
        suggestion_undo(suggestion, by="kim")
        assert skills_of(loners["find_room"]) == []
        assert loners["find_room"].classification.status == "suggested"

    def test_what_people_did_since_stands(self, loners: dict[str, Tool]) -> None:
        suggestion = ask(loners)
        suggestion_merge(suggestion, into=Skill.objects.get(pk="weather"), by="kim")
        tool_assign(loners["find_room"], [SkillChoice("calendar_management", 1.0)])
        suggestion_undo(suggestion, by="kim")
        assert skills_of(loners["find_room"]) == ["calendar_management"]

    def test_a_skill_in_use_is_not_pulled_away(self, loners: dict[str, Tool]) -> None:
        suggestion = ask(loners)
        suggestion_approve(suggestion, by="kim")
        tool_assign(Tool.objects.get(name="book_meeting_room"), [SkillChoice("room_booking", 1.0)])
        with pytest.raises(Conflict, match="People have filed 1 tools"):
            suggestion_undo(suggestion, by="kim")
        assert Skill.objects.filter(pk="room_booking", is_active=True).exists()

    def test_what_a_person_confirmed_since_is_in_use_too(self, loners: dict[str, Tool]) -> None:
        suggestion = ask(loners)
        suggestion_approve(suggestion, by="kim")
        tool_confirm(loners["find_room"].pk, skill_id="room_booking")
        with pytest.raises(Conflict, match="People have filed 1 tools"):
            suggestion_undo(suggestion, by="kim")
        assert skills_of(loners["find_room"]) == ["room_booking"]

    def test_the_last_decision_of_a_person_is_known(self, loners: dict[str, Tool]) -> None:
        suggestion_reject(ask(loners), by="kim")
        suggestion_reject(ask(loners, SkillIdea("Offices")), by="lee")
        last = decision_last("kim")
        assert last is not None
        assert last.suggestion.name == "Room booking"
        suggestion_undo(last.suggestion, by="kim")
        assert decision_last("kim") is None


class TestPreview:
    def test_it_says_what_a_merge_would_move_and_changes_nothing(self, loners: dict[str, Tool]) -> None:
        preview = suggestion_preview(ask(loners), into=Skill.objects.get(pk="calendar_management"))
        assert {move.name for move in preview.moves} == set(LONERS)
        assert preview.moves[0].new_skill_ids == ("calendar_management",)
        assert preview.centroid_shift is not None
        assert 0 < preview.centroid_shift < 1
        assert skills_of(loners["find_room"]) == []

    def test_it_says_what_an_approval_would_make(self, loners: dict[str, Tool]) -> None:
        asking = {name: tool for name, tool in loners.items() if name != "book_room"}
        preview = suggestion_preview(ask(asking))
        assert preview.moves[0].new_skill_ids == ("room_booking",)
        assert [move.name for move in preview.reclassified] == ["book_room"]
        assert preview.centroid_shift is None
        assert preview.nearest[0].id == "calendar_management"
