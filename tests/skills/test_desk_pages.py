"""The desk over HTTP, as a browser without scripts uses it: who may, what is said, what changes."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import DjangoDbBlocker

from skills.models import (
    Assignment,
    Capability,
    ClassificationSwitch,
    ProposeRun,
    Skill,
    Suggestion,
    SuggestionDecision,
    ToolClassification,
)
from skills.services.assignments import assignment_replace
from skills.services.capabilities import capability_save
from skills.services.curation import skill_delete, skill_set_active
from skills.services.propose_runs import propose_start
from skills.services.suggestions import suggestion_reject
from skills.types import SkillChoice
from tests.skills.desk import CURATOR, HOSTILE, ask, client_of, committed, make_staff
from tests.world import Entry, make_skill, make_tools
from tools_catalog.models import Tool
from tools_catalog.services.reindex import index_refresh

QUEUE = "/admin/skills/suggestion/"
SKILL = "/admin/skills/skill/"
RUNS = "/admin/skills/classificationrun/"
PAGES = [QUEUE, f"{QUEUE}history/", SKILL, f"{SKILL}weather/change/", f"{SKILL}coverage/", f"{SKILL}map/", RUNS]
ODD = ["page=x", "selected=abc", "status=nothing", "sort=--", "page=99", "selected=" + "9" * 30]

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def world_of_the_desk(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[dict[str, Suggestion]]:
    with committed(django_db_blocker) as queue:
        yield queue


@pytest.fixture
def queue(world_of_the_desk: dict[str, Suggestion], db: None) -> dict[str, Suggestion]:
    return {name: Suggestion.objects.get(pk=row.pk) for name, row in world_of_the_desk.items()}


@pytest.fixture
def kim(queue: dict[str, Suggestion]) -> Client:
    return client_of(make_staff("kim", *CURATOR))


def said(response: Any) -> str:
    return str(response.content.decode())


def decide(client: Client, suggestion: Suggestion, action: str, **fields: str) -> Any:
    return client.post(f"{QUEUE}{suggestion.pk}/decide/{action}/", fields, follow=True)


def skills_of(name: str) -> list[str]:
    return list(Tool.objects.get(name=name).assignments.values_list("skill_id", flat=True))


class TestWhoMay:
    @pytest.mark.parametrize("address", [*PAGES, f"{SKILL}map.json"])
    def test_nobody_without_a_login(self, address: str, client: Client) -> None:
        response = client.get(address)
        assert (response.status_code, response.headers["Location"].partition("?")[0]) == (302, "/admin/login/")

    @pytest.mark.parametrize("address", [*PAGES, f"{SKILL}map.json", f"{RUNS}state/"])
    def test_staff_without_permission_see_nothing(self, address: str, queue: dict[str, Suggestion]) -> None:
        response = client_of(make_staff("guest")).get(address)
        assert response.status_code in (302, 403)
        assert "Room booking" not in said(response)

    def test_staff_who_may_only_look_do_nothing(self, queue: dict[str, Suggestion]) -> None:
        client = client_of(make_staff("guest", "view_suggestion", "view_skill", "view_classificationrun"))
        room = queue["Room booking"]
        tool = Tool.objects.get(name="read_file")
        posts: list[tuple[str, dict[str, Any]]] = [
            (f"{QUEUE}{room.pk}/decide/approve/", {}),
            (f"{QUEUE}{room.pk}/decide/merge/", {"into": "weather"}),
            (f"{QUEUE}{room.pk}/decide/reject/", {}),
            (f"{QUEUE}bulk/", {"ids": [room.pk], "action": "reject", "confirmed": "1"}),
            (f"{QUEUE}undo/", {}),
            (f"{SKILL}move/", {"tool": tool.pk, "source": "file_operations", "target": "weather"}),
            (f"{SKILL}weather/merge/", {"into": "file_operations", "confirmed": "1"}),
            (f"{SKILL}weather/rename/", {"new_id": "meteo"}),
            (f"{RUNS}pause/", {}),
            (f"{RUNS}retry/", {}),
            (f"{RUNS}propose/", {}),
        ]
        assert {client.post(address, data).status_code for address, data in posts} == {403}
        assert client.get(QUEUE).status_code == 200
        assert 'id="approve"' not in said(client.get(QUEUE))
        room.refresh_from_db()
        assert (room.status, skills_of("read_file")) == ("pending", ["file_operations"])
        assert not SuggestionDecision.objects.exists()
        assert not ClassificationSwitch.objects.filter(paused=True).exists()
        assert not ProposeRun.objects.exists()

    def test_an_approval_makes_a_skill_so_it_needs_the_right_to_add_one(self, queue: dict[str, Suggestion]) -> None:
        client = client_of(make_staff("lee", "view_suggestion", "change_suggestion"))
        assert decide(client, queue["Invoices"], "approve").status_code == 403
        assert decide(client, queue["Invoices"], "reject").status_code == 200
        bulk = {"ids": [queue["Translation"].pk], "action": "approve", "confirmed": "1"}
        assert client.post(f"{QUEUE}bulk/", bulk).status_code == 403

    def test_a_post_without_the_token_is_refused(self, queue: dict[str, Suggestion]) -> None:
        client = client_of(make_staff("kim", *CURATOR), csrf=True)
        assert client.post(f"{QUEUE}{queue['Invoices'].pk}/decide/reject/").status_code == 403
        assert Suggestion.objects.get(pk=queue["Invoices"].pk).status == "pending"

    def test_a_get_decides_nothing(self, kim: Client, queue: dict[str, Suggestion]) -> None:
        assert kim.get(f"{QUEUE}{queue['Invoices'].pk}/decide/reject/").status_code == 405


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


class TestSkillPages:
    def test_weak_and_contested_tools_come_first(self, kim: Client) -> None:
        event = Tool.objects.get(name="create_event")
        assignment_replace(event, [SkillChoice("file_operations", 0.9)], source=Assignment.Source.NEAREST)
        weak = Tool.objects.get(name="write_file")
        assignment_replace(weak, [SkillChoice("file_operations", 0.51)], source=Assignment.Source.NEAREST)
        index_refresh()
        response = kim.get(f"{SKILL}file_operations/change/")
        names = [filed.assignment.tool.name for filed in response.context["page_obj"]]
        assert names[:2] == ["write_file", "create_event"]
        assert [f.contested for f in response.context["page_obj"]][:2] == [False, True]
        assert "Calendar Management" in said(response)

    def test_it_shows_how_the_skill_holds_together(self, kim: Client) -> None:
        health = kim.get(f"{SKILL}calendar_management/change/").context["health"]
        assert (health.tools, health.indexed, health.prototypes) == (6, 6, 6)
        assert 0.3 < health.cohesion < 1
        assert health.neighbours[0].skill.pk in {"version_control", "file_operations", "weather"}

    def test_deleted_skills_are_listed_apart_and_come_back(self, kim: Client) -> None:
        skill_delete(Skill.objects.get(pk="weather"))
        assert "weather/change" not in said(kim.get(SKILL))
        assert "weather/change" in said(kim.get(SKILL, {"state": "deleted"}))
        assert "Searches and lists do not see it" in said(kim.get(f"{SKILL}weather/change/"))
        assert "Weather is back." in said(kim.post(f"{SKILL}weather/restore/", follow=True))
        assert Skill.objects.get(pk="weather").is_active

    def test_a_deleted_skill_is_not_switched_on(self, kim: Client) -> None:
        skill_delete(Skill.objects.get(pk="weather"))
        data = {"action": "switch_on", "_selected_action": ["weather"]}
        assert "Weather is deleted: restore it first." in said(kim.post(f"{SKILL}?state=deleted", data, follow=True))
        assert 'name="is_active"' not in said(kim.get(f"{SKILL}weather/change/"))
        assert not Skill.objects.get(pk="weather").is_active

    def test_what_serves_what_moves_along(self, kim: Client) -> None:
        for skill in ("shell", "git"):
            make_skill(skill)
        for provider, need in (("shell", "git"), ("shell", "version_control"), ("git", "weather"), ("git", "shell")):
            capability_save(Capability(provider_id=provider, need_id=need))
        capability_save(Capability(provider_id="version_control", need_id="git"))
        kim.post(f"{SKILL}git/merge/", {"into": "version_control", "confirmed": "1"})
        pairs = set(Capability.objects.values_list("provider_id", "need_id"))
        assert pairs == {
            ("shell", "version_control"),
            ("version_control", "weather"),
            ("version_control", "shell"),
        }
        kim.post(f"{SKILL}shell/rename/", {"new_id": "terminal"})
        pairs = set(Capability.objects.values_list("provider_id", "need_id"))
        assert pairs == {
            ("terminal", "version_control"),
            ("version_control", "weather"),
            ("version_control", "terminal"),
        }

    def test_a_merge_is_previewed_first(self, kim: Client) -> None:
        page = said(kim.post(f"{SKILL}version_control/merge/", {"other": "file_operations"}))
        assert "<b>2</b> tools move into File Operations; 1 are in both" in page
        assert Skill.objects.get(pk="version_control").is_active
        page = said(
            kim.post(f"{SKILL}version_control/merge/", {"into": "file_operations", "confirmed": "1"}, follow=True)
        )
        assert "was merged into File Operations" in page
        assert skills_of("create_branch") == ["file_operations"]
        assert "merged into" in said(kim.get(f"{SKILL}version_control/change/"))

    def test_a_new_id_keeps_the_tools(self, kim: Client) -> None:
        page = said(kim.post(f"{SKILL}version_control/rename/", {"new_id": "git"}, follow=True))
        assert "version_control keeps leading here" in page
        assert skills_of("create_branch") == ["git"]

    @pytest.mark.parametrize(("new_id", "message"), [("weather", "exists already"), ("Not An Id", "not valid")])
    def test_a_bad_id_changes_nothing(self, kim: Client, new_id: str, message: str) -> None:
        assert message in said(kim.post(f"{SKILL}version_control/rename/", {"new_id": new_id}, follow=True))
        assert Skill.objects.filter(pk="version_control").exists()

    def test_examples_keep_their_commas(self, kim: Client) -> None:
        fields = {
            "name": "Weather",
            "description": "Forecasts for a place.",
            "examples": "rain, or sun?\n",
            "keywords": "rain\r\nsun",
        }
        response = kim.post(f"{SKILL}weather/change/", {**fields, "is_active": "on"}, follow=True)
        assert "was changed successfully" in said(response)
        skill = Skill.objects.get(pk="weather")
        assert (skill.examples, skill.keywords) == (["rain, or sun?"], ["rain", "sun"])


class TestCoverage:
    def test_it_counts_what_is_missing(self, kim: Client) -> None:
        tool = Tool.objects.get(name="read_file")
        assignment_replace(tool, [SkillChoice("file_operations", 0.52)], source=Assignment.Source.NEAREST)
        report = kim.get(f"{SKILL}coverage/").context["report"]
        assert (report.served, report.unclassified, report.weak) == (20, 8, 1)
        assert [skill.pk for skill in report.empty] == ["weather"]

    def test_a_tool_without_a_skill_is_filed_with_one_click(self, kim: Client) -> None:
        page = said(kim.get(f"{SKILL}coverage/"))
        assert "book_meeting_room" in page
        tool = Tool.objects.get(name="book_meeting_room")
        kim.post(f"{SKILL}move/", {"tool": tool.pk, "source": "", "target": "calendar_management"})
        assert skills_of("book_meeting_room") == ["calendar_management"]

    def test_a_tool_that_agents_do_not_see_is_not_counted(self, kim: Client) -> None:
        Tool.objects.filter(name="book_meeting_room").update(is_active=False)
        assert kim.get(f"{SKILL}coverage/").context["report"].served == 19


class TestClassification:
    def test_pause_and_resume(self, kim: Client) -> None:
        assert "Paused" in said(kim.post(f"{RUNS}pause/", follow=True))
        assert ClassificationSwitch.objects.get().changed_by == "kim"
        assert "Resumed." in said(kim.post(f"{RUNS}resume/", follow=True))
        assert not ClassificationSwitch.objects.get().paused

    def test_failed_tools_show_their_error_and_are_tried_again(self, kim: Client) -> None:
        states = ToolClassification.objects.filter(tool__name__in=["find_room", "book_room"])
        states.update(status="failed", error="The model answered with broken JSON.", attempts=2)
        assert "broken JSON" in said(kim.get(RUNS))
        one = Tool.objects.get(name="find_room")
        assert "1 tool is in the queue again." in said(kim.post(f"{RUNS}retry/", {"tool": one.pk}, follow=True))
        assert "1 tool is in the queue again." in said(kim.post(f"{RUNS}retry/", follow=True))
        assert not states.filter(status="failed").exists()

    def test_proposals_are_asked_for_once(self, kim: Client) -> None:
        assert "Skills are being proposed" in said(kim.post(f"{RUNS}propose/", follow=True))
        assert "being worked out" in said(kim.post(f"{RUNS}propose/", follow=True))
        assert ProposeRun.objects.get().by == "kim"

    def test_the_page_looks_again_only_while_something_moves(self, kim: Client) -> None:
        assert "every 2s" not in said(kim.get(RUNS))
        propose_start(by="lee")
        assert "every 2s" in said(kim.get(RUNS))


def test_text_from_tools_and_models_is_never_markup(kim: Client) -> None:
    tools = make_tools(
        Entry("hostile_tool", f"{HOSTILE}</script><script>alert(2)</script>", ("weather",), server="evil")
    )
    index_refresh()
    hostile = ask(f"Hostile {HOSTILE}", [tools["hostile_tool"]], f"{HOSTILE} description", f"{HOSTILE} reasoning")
    Skill.objects.filter(pk="weather").update(name=f"</script>{HOSTILE}", keywords=[HOSTILE])
    index_refresh()
    addresses = [*PAGES, f"{QUEUE}?selected={hostile.pk}", f"{QUEUE}{hostile.pk}/review/?into=weather"]
    for address in addresses:
        page = said(kim.get(address))
        assert HOSTILE not in page, address
        assert "<script>alert(2)" not in page, address
    assert kim.get(f"{SKILL}map.json").headers["Content-Type"] == "application/json"
    for page in (said(decide(kim, hostile, "merge", into="weather")), said(kim.get(f"{QUEUE}history/"))):
        assert HOSTILE not in page


def test_no_page_asks_anyone_else(kim: Client) -> None:
    for address in PAGES:
        page = said(kim.get(address))
        for attribute in ('src="http', 'href="http', "url(http"):
            assert attribute not in page, address


def test_an_administrator_sees_all_of_it(queue: dict[str, Suggestion]) -> None:
    client = client_of(User.objects.create_superuser("root"))
    for address in PAGES:
        assert client.get(address).status_code == 200
    for title in ("Suggestions", "Skills", "Coverage", "Map", "Classification", "Servers", "Tools", "Tenants"):
        assert f"<span>{title}</span>" in said(client.get("/admin/"))
