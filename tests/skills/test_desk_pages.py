"""The desk over HTTP, as a browser without scripts uses it: who may, what is said, what changes."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

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
from skills.services.curation import skill_delete
from skills.services.propose_runs import propose_start
from skills.types import SkillChoice
from tests.skills.desk import CURATOR, HOSTILE, QUEUE, SKILL, ask, client_of, decide, make_staff, said, skills_of
from tests.world import Entry, make_skill, make_tools
from tools_catalog.models import Tool
from tools_catalog.services.reindex import index_refresh

RUNS = "/admin/skills/classificationrun/"
PAGES = [QUEUE, f"{QUEUE}history/", SKILL, f"{SKILL}weather/change/", f"{SKILL}coverage/", f"{SKILL}map/", RUNS]

pytestmark = pytest.mark.django_db


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
