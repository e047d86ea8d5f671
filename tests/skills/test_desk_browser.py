"""What a curator does, in a real browser, with the keyboard. One server, one browser and one world for all."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from django.contrib.auth.models import User
from django.db import connections
from playwright.sync_api import Page, expect
from pytest_django import DjangoDbBlocker
from pytest_django.live_server_helper import LiveServer

from core import db
from skills.models import Assignment, ProposeRun, Skill, Suggestion, SuggestionAsker, SuggestionDecision
from skills.services.assignments import assignment_replace
from skills.services.suggestions import suggestion_reject
from skills.tasks import propose_skills
from skills.types import SkillChoice
from tests.browser import needs_chromium, page_in_chromium
from tests.skills.desk import HOSTILE, ask, client_of, committed
from tools_catalog.models import Tool

pytestmark = needs_chromium
LONG = 15_000
"""Milliseconds: a busy machine is slow, not broken."""


@dataclass(frozen=True)
class Desk:
    page: Page
    url: str
    suggestions: dict[str, Suggestion]

    def open(self, address: str) -> Page:
        self.page.goto(f"{self.url}/admin/skills/{address}")
        return self.page

    def queue(self, name: str) -> Page:
        """The queue with this suggestion up."""
        page = self.open(f"suggestion/?selected={self.suggestions[name].pk}")
        expect(page.locator("#review h2").first).to_have_text(name)
        return page


@pytest.fixture(scope="module")
def shared(
    django_db_setup: None, django_db_blocker: DjangoDbBlocker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Desk]:
    patch = pytest.MonkeyPatch()
    # Playwright keeps an event loop in this thread; the ORM is used between its calls, never inside them.
    patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
    with committed(django_db_blocker) as suggestions:
        server = LiveServer("127.0.0.1")
        cookie = client_of(User.objects.create_superuser("kim")).cookies["sessionid"].value
        try:
            with page_in_chromium(tmp_path_factory.mktemp("desk"), 1440, 900) as page:
                page.set_default_timeout(LONG)
                expect.set_options(timeout=LONG)
                page.context.add_cookies([{"name": "sessionid", "value": cookie, "url": server.url}])
                yield Desk(page, server.url, suggestions)
                connections.close_all()  # while Playwright's loop runs, this thread has another one than after it
        finally:
            expect.set_options(timeout=5000)
            server.stop()
            db.close_all()
    patch.undo()


@pytest.fixture
def transactional_db() -> None:
    """In place of the one that empties the database after each test: these share a world."""


@pytest.fixture
def desk(shared: Desk, transactional_db: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Desk]:
    """Whatever a test decided is put back, so that each stands alone."""
    with django_db_blocker.unblock():
        yield shared
        SuggestionDecision.objects.all().delete()
        Suggestion.objects.update(status="pending", skill=None, reason="", decided_by="", decided_at=None)
        Assignment.objects.filter(tool__server__name="office").delete()
        Skill.objects.filter(pk__in=["room_booking", "rooms", "invoices"]).delete()


def row(name: str) -> Suggestion:
    return Suggestion.objects.get(name=name)


def skills_of(name: str) -> list[str]:
    return list(Assignment.objects.filter(tool__name=name).values_list("skill_id", flat=True))


def test_approve_with_one_key_and_undo_with_another(desk: Desk) -> None:
    page = desk.queue("Room booking")
    expect(page.locator("#approve-preview")).to_contain_text("3 tools move into it")
    page.keyboard.press("a")
    expect(page.locator("#notices")).to_contain_text("Room booking is a skill now, with 3 tools.")
    expect(page.locator("#review h2").first).to_have_text("Invoices")
    assert skills_of("book_room") == ["room_booking"]
    page.keyboard.press("u")
    expect(page.locator("#notices")).to_contain_text("Undone: Room booking is pending again.")
    assert (row("Room booking").status, skills_of("book_room")) == ("pending", [])


def test_edit_and_approve(desk: Desk) -> None:
    page = desk.queue("Room booking")
    page.keyboard.press("e")
    page.locator("#edit input[name=name]").fill("Rooms")
    page.locator("#edit input[name=id]").fill("rooms")
    page.locator("#edit textarea[name=description]").fill("Everything about rooms in the office.")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#notices")).to_contain_text("Rooms is a skill now")
    assert Skill.objects.get(pk="rooms").description == "Everything about rooms in the office."


def test_an_id_that_is_taken_is_said_and_nothing_typed_is_lost(desk: Desk) -> None:
    page = desk.queue("Room booking")
    page.keyboard.press("e")
    page.locator("#edit input[name=name]").fill("Typed with care")
    page.locator("#edit input[name=id]").fill("weather")
    page.locator("#edit button").click()
    expect(page.locator("#notices .error")).to_contain_text("exists already")
    expect(page.locator("#edit input[name=name]")).to_have_value("Typed with care")
    assert row("Room booking").status == "pending"


def test_merge_shows_what_moves_before_it_is_confirmed(desk: Desk) -> None:
    page = desk.queue("Room booking")
    page.keyboard.press("m")
    expect(page.locator("#merge-preview")).to_contain_text("Its centre moves by")
    page.keyboard.press("2")
    second = page.locator("#merge input[name=into]").nth(1)
    expect(second).to_be_checked()
    target = Skill.objects.get(pk=second.input_value())
    expect(page.locator("#merge-preview")).to_contain_text(f"merge it into {target.name}")
    assert row("Room booking").status == "pending"
    page.keyboard.press("Enter")
    expect(page.locator("#notices")).to_contain_text(f"was merged into {target.name}: 3 tools joined it.")
    assert skills_of("find_room") == [target.pk]


def test_reject_with_a_reason(desk: Desk) -> None:
    page = desk.queue("Invoices")
    page.keyboard.press("r")
    page.keyboard.type("Too narrow")
    page.keyboard.press("Enter")
    expect(page.locator("#notices")).to_contain_text("Invoices was rejected.")
    assert (row("Invoices").reason, row("Invoices").decided_by) == ("Too narrow", "kim")


def test_keys_move_through_the_list_and_are_explained(desk: Desk) -> None:
    page = desk.open("suggestion/")
    expect(page.locator("#review h2").first).to_have_text("Room booking")
    page.keyboard.press("j")
    expect(page.locator("#review h2").first).to_have_text("Invoices")
    expect(page.locator(".item.chosen b").first).to_have_text("Invoices")
    page.keyboard.press("k")
    expect(page.locator("#review h2").first).to_have_text("Room booking")
    page.keyboard.press("?")
    expect(page.locator("#help")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#help")).to_be_hidden()
    page.keyboard.press("/")
    page.keyboard.type("aeru")
    assert Suggestion.objects.filter(status="pending").count() == 4


def test_several_at_once_are_previewed_and_undone(desk: Desk) -> None:
    page = desk.open("suggestion/")
    page.keyboard.press("x")
    page.keyboard.press("j")
    expect(page.locator("#review h2").first).to_have_text("Invoices")
    page.keyboard.press("x")
    expect(page.locator("#bulk-count")).to_have_text("2 selected:")
    page.locator(".bulk-bar button[value=reject]").click()
    expect(page.locator("#review h2")).to_have_text("Reject 2 suggestions?")
    page.locator("#review button").click()
    expect(page.locator("#notices")).to_contain_text("2 suggestions rejected.")
    expect(page.locator("#nav-sidebar a.active span").last).to_have_text("2")
    page.get_by_text("Undo all 2").click()
    expect(page.locator("#notices")).to_contain_text("2 suggestions are pending again.")
    assert Suggestion.objects.filter(status="pending").count() == 4


def test_somebody_decided_meanwhile(desk: Desk) -> None:
    page = desk.queue("Invoices")
    suggestion_reject(row("Invoices"), by="lee", reason="Not a skill")
    page.keyboard.press("a")
    expect(page.locator("#notices .error")).to_contain_text("This suggestion is rejected already.")
    assert not Skill.objects.filter(pk="invoices").exists()
    assert row("Invoices").decided_by == "lee"


def test_reassign_with_one_click_and_take_it_back(desk: Desk) -> None:
    tool = Tool.objects.get(name="create_event")
    assignment_replace(tool, [SkillChoice("file_operations", 0.55)], source=Assignment.Source.NEAREST)
    page = desk.open("skill/file_operations/change/")
    line = page.locator("tr[data-tool=create_event]")
    expect(line).to_contain_text("contested")
    line.get_by_role("button", name="→ Calendar Management").click()
    expect(page.locator("tr.moved")).to_contain_text("create_event is now in Calendar Management.")
    assert skills_of("create_event") == ["calendar_management"]
    page.locator("tr.moved button").click()
    expect(page.locator("tr.moved")).to_contain_text("create_event is filed as before.")
    assert skills_of("create_event") == ["file_operations"]
    assignment_replace(tool, [SkillChoice("calendar_management", 0.9)], source=Assignment.Source.HUMAN)


def test_propose_fills_the_queue(desk: Desk) -> None:
    SuggestionAsker.objects.all().delete()
    Suggestion.objects.filter(name="Room booking").delete()
    page = desk.open("classificationrun/")
    page.get_by_role("button", name="Propose skills").click()
    expect(page.locator("#proposal")).to_contain_text("waiting for a worker")
    propose_skills.apply(args=(ProposeRun.objects.get().pk,))
    expect(page.locator("#proposal")).to_contain_text("done")
    made = ProposeRun.objects.get().created
    assert made >= 1
    page.locator("#proposal a").click()
    expect(page.locator("#queue .item")).to_have_count(3 + made)


def test_pause_and_resume(desk: Desk) -> None:
    page = desk.open("classificationrun/")
    page.get_by_role("button", name="Pause").click()
    expect(page.locator("#state")).to_have_text("paused")
    page.get_by_role("button", name="Resume").click()
    expect(page.locator("#state")).to_have_text("idle")


def test_the_map_tells_what_a_point_is_and_leads_to_it(desk: Desk) -> None:
    page = desk.open("skill/map/")
    expect(page.locator("#map")).to_have_attribute("data-ready", str(Tool.objects.count()))
    box = page.locator("#map").bounding_box()
    assert box is not None
    x, y = page.evaluate("document.getElementById('map').deskPlace('read_file')")
    page.mouse.move(box["x"] + x, box["y"] + y)
    expect(page.locator("#map-tip")).to_contain_text("File Operations")
    page.mouse.click(box["x"] + x, box["y"] + y)
    expect(page).to_have_url(f"{desk.url}/admin/tools_catalog/tool/{Tool.objects.get(name='read_file').pk}/change/")


def test_the_chart_is_drawn_and_nothing_else_is_asked(desk: Desk) -> None:
    asked: list[str] = []
    desk.page.on("request", lambda request: asked.append(request.url))
    page = desk.open("skill/coverage/")
    bars = "Object.values(Chart.instances)[0].data.labels"
    page.wait_for_function(f"Object.keys(Chart.instances).length && {bars}.length === 4")
    assert "Calendar Management" in page.evaluate(bars)
    assert all(url.startswith((desk.url, "data:", "blob:")) for url in asked)


def test_hostile_text_stays_text(desk: Desk) -> None:
    hostile = ask(f"{HOSTILE} rooms", [Tool.objects.get(name="find_room")], f"</script>{HOSTILE}")
    struck: list[str] = []
    desk.page.on("dialog", lambda dialog: struck.append(dialog.message))
    expect(desk.open("skill/map/").locator("#map")).to_have_attribute("data-ready", str(Tool.objects.count()))
    desk.open("skill/coverage/").wait_for_function("Object.keys(Chart.instances).length")
    page = desk.open(f"suggestion/?selected={hostile.pk}")
    expect(page.locator("#review h2").first).to_have_text(f"{HOSTILE} rooms")
    assert page.locator("#queue img").count() == 0
    assert struck == []
    hostile.delete()
