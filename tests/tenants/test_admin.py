"""Keys and tenants in the admin."""

import re

import httpx2
import pytest
from django.contrib import admin
from django.contrib.auth.models import Permission, User
from django.test import Client
from pytest_django.live_server_helper import LiveServer

from skills.models import Skill
from tenants.models import ApiKey, Membership, Tenant
from tenants.services.keys import key_create
from tests.world import make_skill

pytestmark = pytest.mark.usefixtures("transactional_db")
NEW_KEY = {"name": "agents", "may_write": "on", "expires_at_0": "", "expires_at_1": ""}


@pytest.fixture
def boss(transactional_db: None) -> Client:
    browser = Client()
    browser.force_login(User.objects.create_superuser("boss", password="x"))
    return browser


@pytest.fixture
def staff(transactional_db: None) -> Client:
    """Works for Acme."""
    user = User.objects.create_user("ada", password="x", is_staff=True)
    user.user_permissions.set(Permission.objects.all())
    Membership.objects.create(user=user, tenant=Tenant.objects.create(slug="acme", name="Acme"))
    browser = Client()
    browser.force_login(user)
    return browser


@pytest.fixture
def clerk(transactional_db: None) -> Client:
    """Works for no tenant, with every permission there is."""
    user = User.objects.create_user("cy", password="x", is_staff=True)
    user.user_permissions.set(Permission.objects.all())
    browser = Client(raise_request_exception=False)
    browser.force_login(user)
    return browser


def made(browser: Client, **fields: str) -> str:
    page = browser.post("/admin/tenants/apikey/add/", {**NEW_KEY, **fields})
    assert "no-store" in page.headers["Cache-Control"]
    found = re.search(r'value="(tsk_[^"]+)"', page.text)
    assert found is not None, page.text
    return found[1]


def test_a_key_is_shown_once_and_opens_until_it_is_revoked(boss: Client, live_server: LiveServer) -> None:
    key = made(boss, is_admin="on")
    row = ApiKey.objects.get()
    assert (row.is_admin, row.tenant, row.created_by) == (True, None, "boss")
    for page in ("/admin/tenants/apikey/", f"/admin/tenants/apikey/{row.pk}/change/"):
        assert key not in boss.get(page).text
        assert row.digest not in boss.get(page).text

    def status() -> int:
        return httpx2.get(f"{live_server.url}/servers", headers={"X-API-Key": key}).status_code

    assert status() == 200
    boss.post("/admin/tenants/apikey/", {"action": "revoke", "_selected_action": [row.pk]})
    assert status() == 401
    assert "agents" in boss.get("/admin/tenants/apikey/").text


def test_staff_of_a_tenant_make_keys_for_it_and_see_no_others(staff: Client) -> None:
    other, _ = key_create(name="somebody elses", tenant=Tenant.objects.create(slug="globex", name="Globex"))
    key_create(name="the operators", is_admin=True)
    made(staff, is_admin="on", tenant=str(other.tenant_id))
    mine = ApiKey.objects.get(name="agents")
    assert (mine.tenant.slug if mine.tenant else None, mine.is_admin) == ("acme", False)
    listed = staff.get("/admin/tenants/apikey/").text
    assert "agents" in listed
    assert "somebody elses" not in listed
    assert "the operators" not in listed
    staff.post("/admin/tenants/apikey/", {"action": "revoke", "_selected_action": [other.pk]})
    other.refresh_from_db()
    assert other.revoked_at is None


def test_staff_of_a_tenant_change_its_skills_but_not_the_shared_ones(staff: Client) -> None:
    acme = Tenant.objects.get(slug="acme")
    shared, own = make_skill("weather"), make_skill(f"t{acme.pk}_weather", tenant=acme)
    for skill in (shared, own):
        form = {"name": "Changed", "description": skill.description, "is_active": "on", "keywords": "", "examples": ""}
        inline = {f"assignments-{name}_FORMS": "0" for name in ("TOTAL", "INITIAL", "MIN_NUM", "MAX_NUM")}
        staff.post(f"/admin/skills/skill/{skill.pk}/change/", {**form, **inline})
    assert {skill.pk: skill.name for skill in Skill.objects.all()} == {shared.pk: "Weather", own.pk: "Changed"}
    staff.post("/admin/skills/skill/", {"action": "switch_off", "_selected_action": [shared.pk, own.pk]})
    assert {skill.pk: skill.is_active for skill in Skill.objects.all()} == {shared.pk: True, own.pk: False}


def test_tenants_and_members_are_for_superusers(staff: Client, boss: Client) -> None:
    for page in ("/admin/tenants/tenant/", "/admin/tenants/membership/"):
        assert staff.get(page).status_code == 403
        assert boss.get(page).status_code == 200


@pytest.mark.parametrize(
    ("permission", "status"),
    [(None, 403), ("view_skill", 403), ("change_skill", 200), ("change_server", 200)],
)
def test_a_session_writes_to_the_api_with_a_permission_of_the_admin(
    transactional_db: None, permission: str | None, status: int
) -> None:
    user = User.objects.create_user("ada", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename=permission))
    Membership.objects.create(user=user, tenant=Tenant.objects.create(slug="acme", name="Acme"))
    browser = Client()
    browser.force_login(user)
    body = {"server": "mailer", "tools": []}
    assert browser.get("/servers").status_code == 200
    answer = browser.post("/api/v1/import", body, content_type="application/json")
    assert answer.status_code == status, answer.text


def test_forms_say_what_is_wrong_in_words(boss: Client) -> None:
    page = boss.post("/admin/tenants/tenant/add/", {"name": "Acme", "slug": "acme", "plan": "godl", "is_active": "on"})
    assert "There is no plan godl. Known are: public, standard." in page.text
    page = boss.post("/admin/tenants/apikey/add/", {**NEW_KEY, "may_write": "", "is_admin": "on"})
    assert "must be allowed to write" in page.text
    assert "Constraint" not in page.text
    assert not Tenant.objects.exists()
    assert not ApiKey.objects.exists()


def test_staff_without_a_tenant_have_no_keys_to_make_or_to_see(clerk: Client) -> None:
    """A key without a tenant is the operator's."""
    key, _ = key_create(name="the operators", is_admin=True)
    for answer in (clerk.get("/admin/tenants/apikey/add/"), clerk.post("/admin/tenants/apikey/add/", NEW_KEY)):
        assert answer.status_code == 403
    assert ApiKey.objects.count() == 1
    listed = clerk.get("/admin/tenants/apikey/")
    assert listed.status_code == 200
    assert "the operators" not in listed.text
    assert "/admin/tenants/apikey/add/" not in listed.text
    clerk.post("/admin/tenants/apikey/", {"action": "revoke", "_selected_action": [key.pk]})
    key.refresh_from_db()
    assert key.revoked_at is None


def test_staff_without_a_tenant_delete_accounts_but_not_those_of_members(clerk: Client, staff: Client) -> None:
    """With the account its membership would go, and members are for superusers."""
    ada, guest = User.objects.get(username="ada"), User.objects.create_user("guest")
    for user, status in ((ada, 403), (guest, 302)):
        assert clerk.get(f"/admin/auth/user/{user.pk}/change/").status_code == 200
        assert clerk.post(f"/admin/auth/user/{user.pk}/delete/", {"post": "yes"}).status_code == status
    other = User.objects.create_user("other")
    chosen = {"action": "delete_selected", "_selected_action": [ada.pk, other.pk], "post": "yes"}
    assert clerk.post("/admin/auth/user/", chosen).status_code == 403
    assert set(User.objects.values_list("username", flat=True)) == {"ada", "cy", "other"}


def test_superusers_delete_accounts_of_members(boss: Client, staff: Client) -> None:
    ada = User.objects.get(username="ada")
    assert boss.post(f"/admin/auth/user/{ada.pk}/delete/", {"post": "yes"}).status_code == 302
    assert not Membership.objects.exists()


def test_every_page_of_staff_without_a_tenant_answers(clerk: Client) -> None:
    for model in admin.site._registry:
        address = f"/admin/{model._meta.app_label}/{model._meta.model_name}/"
        for page in (address, f"{address}add/"):
            assert clerk.get(page).status_code in {200, 302, 403}, page
        assert clerk.post(f"{address}add/", {}).status_code in {200, 302, 403}, address


class TestASwitchedOffTenant:
    @pytest.fixture(autouse=True)
    def switched_off(self, staff: Client) -> None:
        staff.raise_request_exception = False
        Tenant.objects.filter(slug="acme").update(is_active=False)

    @pytest.mark.parametrize("page", ["", "skills/skill/", "tenants/apikey/add/", "password_change/", "no/such/page/"])
    def test_its_staff_are_told_so_on_every_page(self, staff: Client, page: str) -> None:
        for answer in (staff.get(f"/admin/{page}"), staff.post(f"/admin/{page}", NEW_KEY)):
            assert answer.status_code == 403, answer.text
            assert answer.headers["Content-Type"].startswith("text/html")
            assert "Your tenant is switched off." in answer.text
            assert 'action="/admin/logout/"' in answer.text
        assert not ApiKey.objects.exists()

    def test_its_staff_log_out(self, staff: Client) -> None:
        assert "logged out" in staff.post("/admin/logout/").text
        assert staff.get("/admin/").status_code == 302
        assert staff.get("/admin/login/").status_code == 200

    def test_its_staff_log_in_and_are_told_so_then(self) -> None:
        browser = Client()
        entered = browser.post("/admin/login/?next=/admin/", {"username": "ada", "password": "x"}, follow=True)
        assert (entered.redirect_chain, entered.status_code) == ([("/admin/", 302)], 403)
        assert "Your tenant is switched off." in entered.text

    def test_somebody_else_logs_in_from_the_same_browser(self, staff: Client) -> None:
        User.objects.create_superuser("boss", password="x")
        entered = staff.post("/admin/login/?next=/admin/", {"username": "boss", "password": "x"}, follow=True)
        assert entered.status_code == 200

    def test_the_api_says_so_too(self, staff: Client) -> None:
        answer = staff.get("/servers")
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "FORBIDDEN")

    def test_switched_on_again_all_is_as_before(self, staff: Client) -> None:
        Tenant.objects.filter(slug="acme").update(is_active=True)
        assert staff.get("/admin/").status_code == 200
