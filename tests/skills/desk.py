"""A small catalogue with a queue of suggestions, and people who may or may not decide on them."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.contrib.auth.models import Permission, User
from django.core.management import call_command
from django.test import Client
from pytest_django import DjangoDbBlocker

from skills.models import Suggestion, ToolClassification
from skills.services.suggestions import suggestion_file
from skills.types import SkillIdea
from tests.world import Entry, make_tools, make_world
from tools_catalog.models import Tool
from tools_catalog.services.reindex import index_refresh

QUEUE = "/admin/skills/suggestion/"
SKILL = "/admin/skills/skill/"
HOSTILE = "<img src=x onerror=alert(1)>"
CURATOR = (
    "view_suggestion",
    "change_suggestion",
    "add_skill",
    "view_skill",
    "change_skill",
    "view_classificationrun",
    "change_classificationrun",
    "view_tool",
)
IDEAS = {
    "Room booking": ("Find a free room and book it.", ("find_room", "book_room", "cancel_room")),
    "Invoices": ("Write invoices and send them to customers.", ("create_invoice", "send_invoice")),
    "Translation": ("Translate text from one language to another.", ("translate_text",)),
    "Storm warnings": ("Warn of storms and heavy rain.", ("storm_alert",)),
}


@contextmanager
def committed(blocker: DjangoDbBlocker) -> Iterator[dict[str, Suggestion]]:
    """One world for a whole module: tests change it inside transactions of their own, or one after the other."""
    with blocker.unblock():
        make_world()
        try:
            yield make_queue()
        finally:
            call_command("flush", verbosity=0, interactive=False)


def make_queue() -> dict[str, Suggestion]:
    """Call after make_world: tools that nothing fitted, and what was suggested for them."""
    entries = [
        Entry(tool, f"{tool.replace('_', ' ').capitalize()}. {description}", (), server="office")
        for description, tools in IDEAS.values()
        for tool in tools
    ]
    tools = make_tools(*entries)
    ToolClassification.objects.filter(tool__server__name="office").update(pinned=False, status="suggested")
    index_refresh()
    return {name: ask(name, [tools[tool] for tool in names]) for name, (_, names) in IDEAS.items()}


def ask(name: str, tools: list[Tool], description: str = "", reasoning: str = "Nothing fits.") -> Suggestion:
    idea = SkillIdea(name, description or IDEAS[name][0], reasoning, ("keyword",))
    return suggestion_file(idea, [tool.pk for tool in tools], origin=Suggestion.Origin.NEAREST)


def make_staff(name: str, *permissions: str) -> User:
    user = User.objects.create_user(name, is_staff=True)  # no password: hashing one takes a second
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    return user


def client_of(user: User, *, csrf: bool = False) -> Client:
    client = Client(enforce_csrf_checks=csrf)
    client.force_login(user)
    return client


def said(response: Any) -> str:
    return str(response.content.decode())


def decide(client: Client, suggestion: Suggestion, action: str, **fields: str) -> Any:
    return client.post(f"{QUEUE}{suggestion.pk}/decide/{action}/", fields, follow=True)


def skills_of(name: str) -> list[str]:
    return list(Tool.objects.get(name=name).assignments.values_list("skill_id", flat=True))
