"""The pages, in a real browser, on a real service."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser import needs_chromium, page_in_chromium
from tests.config.service import Service

pytestmark = needs_chromium


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrowserContext]:
    with page_in_chromium(tmp_path_factory.mktemp("profile")) as page:
        yield page.context


@pytest.fixture
def page(browser: BrowserContext, service: Service) -> Iterator[Page]:
    """Nobody is logged in."""
    browser.clear_cookies()
    with browser.new_page() as page:
        page.goto(str(service.http.base_url))
        yield page


def log_in(page: Page, service: Service) -> None:
    page.goto(f"{service.http.base_url}/admin/")
    page.fill("#id_username", "admin")
    page.fill("#id_password", service.password())
    page.click("button[type=submit]")


def test_a_search_shows_skills_and_tools(page: Page) -> None:
    page.fill("#query", "schedule a meeting with John tomorrow")
    page.keyboard.press("Enter")
    expect(page.locator("#tools > li").first).to_contain_text("create_event")
    expect(page.locator("#skills li").first).to_contain_text("Calendar management")
    expect(page.locator("#status")).to_contain_text("hierarchical")
    page.locator("details").first.click()
    expect(page.locator("pre").first).to_contain_text('"required"')


def test_a_search_can_be_linked_to(page: Page, service: Service) -> None:
    page.goto(f"{service.http.base_url}/?query=commit+my+changes&strategy=direct")
    expect(page.locator("#tools > li").first).to_contain_text("commit_changes")
    expect(page.locator("#strategy")).to_have_value("direct")


def test_an_error_is_shown_in_words(page: Page) -> None:
    page.evaluate("document.getElementById('query').removeAttribute('maxlength')")
    page.fill("#query", "x" * 1001)
    page.click("button")
    expect(page.locator("#status.error")).to_contain_text("1000 characters")


def test_text_from_tools_is_never_markup(page: Page) -> None:
    page.evaluate(
        "show({tools: [{name: '<img src=x onerror=alert(1)>', server: 's', type: 'tool', description: '<b>x</b>',"
        " score: 1}], matched_skills: [], metadata: {total_time_ms: 1, final_count: 1}})"
    )
    expect(page.locator("#tools b, #tools img")).to_have_count(0)


def test_the_api_page_works_without_a_network(page: Page, service: Service) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{service.http.base_url}/api/docs")
    expect(page.locator(".opblock").nth(5)).to_be_visible()
    assert all(url.startswith((str(service.http.base_url), "data:", "blob:")) for url in asked)


def test_a_curator_changes_a_skill_and_the_search_follows(page: Page, service: Service) -> None:
    log_in(page, service)
    page.goto(f"{service.http.base_url}/admin/skills/skill/email/change/")
    page.fill("#id_name", "Electronic mail")
    page.click("button[name=_save]")
    expect(page.locator("body")).to_contain_text("was changed successfully")
    page.goto(f"{service.http.base_url}/")
    page.fill("#query", "send an email to the team")
    for _ in range(50):
        page.click("button")
        page.wait_for_timeout(200)
        if "Electronic mail" in page.locator("#skills").inner_text():
            break
    expect(page.locator("#skills")).to_contain_text("Electronic mail")


def test_a_bad_skill_is_refused_in_the_form(page: Page, service: Service) -> None:
    log_in(page, service)
    page.goto(f"{service.http.base_url}/admin/skills/skill/add/")
    page.fill("#id_id", "Not An Id")
    page.fill("#id_name", "Name")
    page.fill("#id_description", "short")
    page.click("button[name=_save]")
    expect(page.locator("body")).to_contain_text("A lower-case letter, then")
    expect(page.locator("body")).to_contain_text("at least 10 characters")


def test_a_server_that_is_switched_off_is_not_found(page: Page, service: Service) -> None:
    log_in(page, service)
    page.goto(f"{service.http.base_url}/admin/tools_catalog/server/?q=embernest")
    page.locator("input.action-select").first.check()
    page.locator("select[name=action]").select_option("switch_off")
    page.locator("button[name=index], button[title*=Run]").first.click()
    expect(page.locator("body")).to_contain_text("1 switched off")
    answer = service.search("dim the lights in the living room").json()
    assert all(tool["server"] != "embernest" for tool in answer["tools"])
