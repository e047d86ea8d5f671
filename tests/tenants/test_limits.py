"""The rate limiter and the plans, on a real Postgres."""

import threading
from typing import Any

import pytest
from django.db import connection
from django.test import RequestFactory
from rest_framework.request import Request

from core.errors import RateLimited
from tenants.limits import client_of, plan_of, rate_limit
from tenants.models import RateWindow, Tenant
from tenants.plans import plans_from
from tenants.services.keys import key_caller, key_create
from tenants.types import Caller

DAY = 86_400
"""A window that does not end while a test runs (or does, once a day, and then still counts the one before)."""


def ask(client: str = "a", limit: int = 3, seconds: int = DAY) -> bool:
    try:
        rate_limit("test", client, limit=limit, seconds=seconds)
    except RateLimited:
        return False
    return True


@pytest.mark.django_db(transaction=True)
def test_as_many_as_the_limit_get_in_and_then_none() -> None:
    assert [ask() for _ in range(5)] == [True, True, True, False, False]


@pytest.mark.django_db(transaction=True)
def test_each_client_and_each_scope_has_a_count_of_its_own() -> None:
    assert [ask("a", limit=1), ask("b", limit=1), ask("a", limit=1)] == [True, True, False]
    rate_limit("other", "a", limit=1, seconds=DAY)


@pytest.mark.django_db(transaction=True)
def test_no_limit_writes_nothing() -> None:
    assert all(ask(limit=0) for _ in range(5))
    assert not RateWindow.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_the_refusal_says_how_long_to_wait() -> None:
    rate_limit("test", "a", limit=1, seconds=DAY)
    with pytest.raises(RateLimited) as refused:
        rate_limit("test", "a", limit=1, seconds=DAY)
    wait = refused.value.details["retry_after_s"]
    assert 1 <= wait <= 2 * DAY
    assert f"in {wait} s" in refused.value.message


@pytest.mark.django_db(transaction=True)
def test_the_window_before_counts_for_as_much_of_it_as_is_in_sight() -> None:
    """Half a million in the window before, a limit of ten: one more gets in only when almost all of it is out."""
    ask("a", limit=10)
    RateWindow.objects.update(before=500_000, count=1)
    assert not ask("a", limit=10)
    RateWindow.objects.update(before=0, count=1)
    assert ask("a", limit=10)


@pytest.mark.django_db(transaction=True)
def test_two_windows_later_everything_is_forgotten() -> None:
    ask("a", limit=1)
    assert not ask("a", limit=1)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE tenants_ratewindow SET slot = slot - 2")
    assert ask("a", limit=1)


@pytest.mark.django_db(transaction=True)
def test_a_new_client_sweeps_up_after_old_ones() -> None:
    ask("old")
    with connection.cursor() as cursor:
        cursor.execute("UPDATE tenants_ratewindow SET expires_at = now() - interval '1 hour'")
    ask("new")
    assert RateWindow.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_many_at_once_are_counted_one_by_one() -> None:
    let_in: list[bool] = []

    def client() -> None:
        let_in.extend(ask("crowd", limit=20) for _ in range(10))
        connection.close()

    threads = [threading.Thread(target=client) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(let_in) == 20


def request_from(address: str, forwarded: str = "") -> Request:
    extra: dict[str, Any] = {"HTTP_X_FORWARDED_FOR": forwarded} if forwarded else {}
    return Request(RequestFactory().get("/", REMOTE_ADDR=address, **extra))


def test_a_client_is_its_address_and_an_ipv6_client_its_network() -> None:
    nobody = Caller()
    assert client_of(request_from("192.0.2.1"), nobody) == "address:192.0.2.1"
    assert client_of(request_from("::ffff:192.0.2.1"), nobody) == "address:192.0.2.1"
    first, second = (client_of(request_from(a), nobody) for a in ("2001:db8:1:2::5", "2001:db8:1:2:ffff::9"))
    assert first == second != client_of(request_from("2001:db8:1:3::5"), nobody)


def test_a_forwarded_address_counts_only_behind_trusted_proxies(settings: Any) -> None:
    request = request_from("10.0.0.1", "6.6.6.6, 192.0.2.7")
    assert client_of(request, Caller()) == "address:10.0.0.1"
    settings.TRUSTED_PROXIES = 1
    assert client_of(request, Caller()) == "address:192.0.2.7"
    settings.TRUSTED_PROXIES = 5
    assert client_of(request, Caller()) == "address:6.6.6.6"


@pytest.mark.django_db(transaction=True)
def test_a_tenant_has_its_plan_and_nobody_the_public_one(settings: Any) -> None:
    settings.PLANS = plans_from('{"gold": {"max_top_k": 500, "fields": ["title"]}}')
    tenant = Tenant.objects.create(slug="north", name="North", plan="gold")
    assert plan_of(Caller()).name == "public"
    assert plan_of(key_caller(key_create(name="machine")[1])).name == "standard"
    gold = plan_of(key_caller(key_create(name="machine", tenant=tenant)[1]))
    assert (gold.max_top_k, gold.may_use("title"), gold.may_use("path")) == (500, True, False)


@pytest.mark.parametrize(
    "text",
    ["{", "[]", '{"a": 1}', '{"a": {"speed": 1}}', '{"a": {"max_top_k": 0}}', '{"a": {"max_top_k": true}}',
     '{"a": {"fields": "title"}}', '{"a": {"searches_per_minute": -1}}', '{"a": {"max_top_k": 1001}}'],
)  # fmt: skip
def test_plans_that_make_no_sense_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        plans_from(text)
