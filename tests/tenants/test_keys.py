"""API keys: what opens, what does not, and what is kept of them."""

from datetime import timedelta

import httpx2
import pytest
from django.utils import timezone
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from core.errors import ValidationFailed
from tenants.models import ApiKey, Tenant
from tenants.services.keys import key_create, key_revoke
from tests.conftest import http_client

pytestmark = pytest.mark.usefixtures("world")


@pytest.fixture
def tenant(transactional_db: None) -> Tenant:
    return Tenant.objects.create(slug="acme", name="Acme")


def ask(live_server: LiveServer, **headers: str) -> httpx2.Response:
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx2.get(f"{live_server.url}/api/v1/search/skills?query=meeting", headers=names)


def refused(answer: httpx2.Response, status: int, says: str) -> None:
    assert answer.status_code == status, answer.text
    body = answer.json()
    assert body["error"]["code"] == {401: "UNAUTHORIZED", 403: "FORBIDDEN", 429: "RATE_LIMITED"}[status]
    assert says in body["detail"]
    assert ("WWW-Authenticate" in answer.headers) == (status == 401)


class TestAKeyOpens:
    def test_in_either_header(self, live_server: LiveServer, settings: Settings, tenant: Tenant) -> None:
        settings.ANONYMOUS = False
        _, key = key_create(name="agents", tenant=tenant)
        assert ask(live_server, Authorization=f"Bearer {key}").status_code == 200
        assert ask(live_server, Authorization=f"bearer  {key}").status_code == 200
        assert ask(live_server, X_API_Key=key).status_code == 200

    def test_when_it_was_used_is_kept(self, live_server: LiveServer, tenant: Tenant) -> None:
        row, key = key_create(name="agents", tenant=tenant)
        assert ask(live_server, X_API_Key=key).status_code == 200
        row.refresh_from_db()
        first = row.last_used_at
        assert first is not None
        assert ask(live_server, X_API_Key=key).status_code == 200
        row.refresh_from_db()
        assert row.last_used_at == first  # once a minute is enough

    def test_only_its_digest_is_kept(self, tenant: Tenant) -> None:
        row, key = key_create(name="agents", tenant=tenant)
        kept = " ".join(str(value) for value in ApiKey.objects.filter(pk=row.pk).values_list()[0])
        assert key.startswith(row.prefix)
        assert key.rpartition("_")[2] not in kept
        assert key not in kept


class TestAKeyDoesNotOpen:
    def test_when_it_is_not_known(self, live_server: LiveServer, tenant: Tenant) -> None:
        row, key = key_create(name="agents", tenant=tenant)
        for wrong in (key[:-1], key + "x", row.prefix, f"{row.prefix}_{'x' * 43}", "tsk_", "tsk_'; DROP TABLE x"):
            refused(ask(live_server, X_API_Key=wrong), 401, "not known")
            refused(ask(live_server, Authorization=f"Bearer {wrong}"), 401, "not known")

    def test_after_it_was_revoked_at_once(self, live_server: LiveServer, tenant: Tenant) -> None:
        row, key = key_create(name="agents", tenant=tenant)
        assert ask(live_server, X_API_Key=key).status_code == 200
        key_revoke(row)
        refused(ask(live_server, X_API_Key=key), 401, "revoked")

    def test_after_it_expired(self, live_server: LiveServer, tenant: Tenant) -> None:
        _, key = key_create(name="agents", tenant=tenant, expires_at=timezone.now() - timedelta(seconds=1))
        refused(ask(live_server, X_API_Key=key), 401, "expired")

    def test_when_its_tenant_is_switched_off(self, live_server: LiveServer, tenant: Tenant) -> None:
        _, key = key_create(name="agents", tenant=tenant)
        Tenant.objects.update(is_active=False)
        refused(ask(live_server, X_API_Key=key), 403, "switched off")

    @pytest.mark.parametrize("value", ["Basic eDp5", "Bearer", "tsk_x", "Bearer not.a.token", "Token x"])
    def test_a_bad_header_is_refused_and_not_taken_for_anonymous(self, live_server: LiveServer, value: str) -> None:
        assert ask(live_server, Authorization=value).status_code == 401

    def test_two_credentials_are_refused(self, live_server: LiveServer, tenant: Tenant) -> None:
        _, key = key_create(name="agents", tenant=tenant)
        refused(ask(live_server, X_API_Key=key, Authorization=f"Bearer {key}"), 401, "one credential")
        refused(ask(live_server, X_API_Key=key, Authorization=" "), 401, "one credential")
        refused(ask(live_server, X_API_Key=""), 401, "empty")


def test_an_administrators_key_writes(tenant: Tenant) -> None:
    with pytest.raises(ValidationFailed):
        key_create(name="odd", is_admin=True, may_write=False)


class TestNobodyInParticular:
    def test_reads_outside_production_and_posts_a_search(self, live_server: LiveServer) -> None:
        with http_client(live_server.url) as http:
            assert http.get("/api/v1/search/tools", params={"query": "meeting"}).status_code == 200
            assert http.post("/api/v1/search", json={"query": "meeting"}).status_code == 200

    def test_reads_nothing_where_the_setting_forbids_it(self, live_server: LiveServer, settings: Settings) -> None:
        settings.ANONYMOUS = False
        with http_client(live_server.url) as http:
            refused(http.post("/api/v1/search", json={"query": "meeting"}), 401, "credential")
            for probe in ("/health", "/ready", "/api/schema"):
                assert http.get(probe).status_code == 200

    def test_is_limited_by_address_and_told_when_to_come_back(
        self, live_server: LiveServer, settings: Settings
    ) -> None:
        settings.ANONYMOUS_PER_MINUTE = 3
        with http_client(live_server.url) as http:
            answers = [http.get("/api/v1/search/skills", params={"query": "meeting"}) for _ in range(9)]
            statuses = [answer.status_code for answer in answers]
            assert statuses[:3] == [200] * 3
            assert 3 <= statuses.count(200) < 7  # more than three when a minute begins meanwhile
            limited = next(answer for answer in answers if answer.status_code == 429)
            refused(limited, 429, "3 in 60 s are allowed")
            assert 1 <= int(limited.headers["Retry-After"]) <= 120
        assert ask(live_server, X_API_Key=key_create(name="k")[1]).status_code == 200

    def test_a_forged_address_helps_only_behind_a_proxy(self, live_server: LiveServer, settings: Settings) -> None:
        settings.ANONYMOUS_PER_MINUTE = 1
        forged = [ask(live_server, X_Forwarded_For=f"10.0.0.{i}").status_code for i in range(4)]
        assert forged.count(429) >= 2
        settings.TRUSTED_PROXIES = 1
        honest = [ask(live_server, X_Forwarded_For=f"6.6.6.6, 10.0.1.{i}").status_code for i in range(4)]
        assert honest == [200] * 4


class TestTheDebugBypass:
    def test_does_nothing_unless_the_setting_allows_it(self, live_server: LiveServer, settings: Settings) -> None:
        settings.ANONYMOUS = False
        assert ask(live_server, X_Debug_Bypass_Auth="1").status_code == 401
        settings.DEBUG_BYPASS_AUTH = True
        assert ask(live_server, X_Debug_Bypass_Auth="1").status_code == 200
        assert ask(live_server, X_Debug_Bypass_Auth="0").status_code == 401
        assert ask(live_server, X_Debug_Bypass_Auth="1", X_API_Key="tsk_wrong").status_code == 401
