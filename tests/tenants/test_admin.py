"""Keys and tenants in the admin."""

import re

import httpx2
import pytest
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
