"""Every address of the admin, as staff of each tenant, with ids of the other: nothing is seen, nothing is changed."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth.models import Permission, User
from django.db import models
from django.test import Client, RequestFactory
from django.urls import URLPattern, URLResolver, get_resolver

from skills.models import Suggestion
from tenants import rls
from tenants.models import Membership
from tests.tenants.people import Side
from tests.tenants.walls import QUERY, rows_of, state_of
from tools_catalog.models import Server, SyncRun, ToolCall

Model = type[models.Model]


@pytest.fixture
def histories(sides: tuple[Side, Side]) -> tuple[Side, Side]:
    """Syncs and calls of both, for their pages."""
    for side in sides:
        server = Server.objects.get(tenant=side.tenant, name="alpha")
        SyncRun.objects.create(server=server, trigger="manual", state="failed", error=f"Broken for {side.mark}.")
        tool = side.tools["create_event"]
        ToolCall.objects.create(
            tool=tool, tenant=side.tenant, target="alpha__create_event", caller=f"key of {side.mark}"
        )
    return sides


def member(side: Side) -> Client:
    user = User.objects.create_user(f"{side.mark}-staff", password="x", is_staff=True)
    user.user_permissions.set(Permission.objects.all())
    Membership.objects.create(user=user, tenant=side.tenant)
    browser = Client()
    browser.force_login(user)
    return browser


def addresses(patterns: Iterable[URLPattern | URLResolver], prefix: str = "/") -> Iterator[str]:
    for entry in patterns:
        if isinstance(entry, URLResolver):
            yield from addresses(entry.url_patterns, prefix + str(entry.pattern))
        elif prefix.startswith("/admin/"):
            yield prefix + str(entry.pattern)


def model_at(address: str) -> Model | None:
    found = re.match(r"/admin/(\w+)/(\w+)/", address)
    return next((m for m in admin.site._registry if found and m._meta.label_lower == ".".join(found.groups())), None)


def ids_of(model: Model, side: Side) -> list[Any]:
    if model is User:
        return list(User.objects.filter(username=f"{side.mark}-staff").values_list("pk", flat=True))
    if not rls.belongs_to_tenant(model):
        return []
    return [row[model._meta.pk.attname] for row in rows_of(model, side)]


def filled(address: str, pks: list[Any]) -> list[str]:
    if not re.search(r"<(?:\w+:)?(object_id|pk|tool_id|id)>", address):
        return [address] if "<" not in address else []
    named = [re.sub(r"<(?:\w+:)?(object_id|pk|tool_id|id)>", str(pk), address) for pk in pks]
    if "<slug:action>" in address:
        return [a.replace("<slug:action>", action) for a in named for action in ("approve", "merge", "reject")]
    return named


def form(mine: Side, other: Side, pks: list[Any]) -> dict[str, Any]:
    """Whatever a form of any page may hold, about the other side."""
    return {
        "_selected_action": [str(pk) for pk in pks],
        "ids": [str(pk) for pk in Suggestion.objects.filter(tenant=other.tenant).values_list("pk", flat=True)],
        "action": "reject",
        "confirmed": "1",
        "post": "yes",
        "tool": str(other.tools["create_event"].pk),
        "source": other.skill.pk,
        "target": mine.skill.pk,
        "into": other.skill.pk,
        "new_id": f"t{mine.tenant.pk}_taken",
        "verdict": "rejected",
        "name": "taken over",
    }


@pytest.mark.usefixtures("locks")
def test_every_address(histories: tuple[Side, Side]) -> None:
    browsers = {side.mark: member(side) for side in histories}
    for mine, other in (histories, histories[::-1]):
        browser, before, own, walked = browsers[mine.mark], state_of(other), set(), 0
        for address in addresses(get_resolver().url_patterns):
            model = model_at(address)
            if "logout" in address:
                continue
            pks = ids_of(model, other) if model is not None else []
            for filled_in in filled(address, pks[:1]):
                for answer in (browser.get(filled_in), browser.post(filled_in, form(mine, other, pks))):
                    walked += 1
                    assert answer.status_code < 500, filled_in
                    text = answer.text.replace(QUERY, "")
                    assert other.mark not in text, (filled_in, answer.status_code, around(text, other.mark))
                    own |= {address} if mine.mark in text else set()
        assert walked > 100
        assert len(own) > 12, own  # what is one's own is shown, or the walk would prove nothing
        assert state_of(other) == before
        assert User.objects.get(username=f"{other.mark}-staff").is_active


@pytest.mark.usefixtures("locks")
def test_every_action_of_every_list(histories: tuple[Side, Side]) -> None:
    for mine, other in (histories, histories[::-1]):
        browser, before, done = member(mine), state_of(other), 0
        request = RequestFactory().get("/")
        request.user = User.objects.get(username=f"{mine.mark}-staff")
        for model, page in admin.site._registry.items():
            if not rls.belongs_to_tenant(model):
                continue
            for action in page.get_actions(request):
                posted = {**form(mine, other, ids_of(model, other)), "action": action, "index": "0"}
                answer = browser.post(f"/admin/{model._meta.app_label}/{model._meta.model_name}/", posted, follow=True)
                assert answer.status_code < 500, (model, action)
                assert other.mark not in answer.text, (model, action)
                done += 1
        assert done > 8
        assert state_of(other) == before


def test_what_is_shared_is_seen_and_not_changed(histories: tuple[Side, Side]) -> None:
    """In words, not with a fault: the second lock would refuse it too, but without a word."""
    mine, _ = histories
    browser = member(mine)
    shared = Suggestion.objects.create(key="all", name="For all", description="Of everybody.", origin="propose")
    assert "For all" in browser.get("/admin/skills/suggestion/").text
    for action in ("approve", "reject"):
        page = browser.post(f"/admin/skills/suggestion/{shared.pk}/decide/{action}/", {}, follow=True)
        assert "shared by all tenants" in page.text
    page = browser.post("/admin/skills/skill/calendar_management/rename/", {"new_id": "other"}, follow=True)
    assert "shared by all tenants" in page.text
    shared.refresh_from_db()
    assert shared.status == Suggestion.Status.PENDING
    own = {"name": "Ours", "description": "Something that we do.", "keywords": "", "examples": "", "is_active": "on"}
    assert "begin with" in browser.post("/admin/skills/skill/add/", {**own, "id": "ours"}).text
    assert browser.post("/admin/skills/skill/add/", {**own, "id": f"t{mine.tenant.pk}_ours"}).status_code == 302


def test_what_works_for_all_tenants_is_not_for_staff_of_one(histories: tuple[Side, Side]) -> None:
    browser = member(histories[0])
    for page in (
        "skills/classificationrun",
        "tools_catalog/configfile",
        "django_celery_beat/periodictask",
        "tenants/tenant",
        "tenants/membership",
        "tools_catalog/server/add",
        "tools_catalog/server/read_configuration",
    ):
        assert browser.get(f"/admin/{page}/").status_code in {403, 404}, page
    assert browser.post("/admin/skills/classificationrun/pause/").status_code == 403
    assert browser.post("/admin/skills/classificationrun/propose/").status_code == 403
    server = Server.objects.get(tenant=None, name="alpha")
    assert "Connection" not in browser.get(f"/admin/tools_catalog/server/{server.pk}/change/").text


def around(text: str, mark: str) -> str:
    return text[max(0, text.index(mark) - 300) : text.index(mark) + 100]
