"""Two at the same suggestion, and a batch that takes longer than its lease: each waits for what the other does."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime

import pytest
from django.db import connection, connections, transaction
from pytest_django import Settings

from llm.types import ChatOptions
from skills.models import Suggestion, ToolClassification
from skills.services.pipeline import classify_batch
from skills.services.queue import queue_claim, queue_renew, queue_update
from skills.services.suggestions import suggestion_file, suggestion_withdraw
from skills.types import SkillIdea
from tests.chat_server import chat_server, filed
from tests.processes import eventually
from tests.world import make_skill
from tools_catalog.models import Tool
from tools_catalog.services.catalog import server_upsert
from tools_catalog.types import ServerSpec, ToolSpec

pytestmark = pytest.mark.django_db(transaction=True)
WAITING = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"


def publish(count: int) -> list[Tool]:
    items = tuple(ToolSpec("tool", f"tide_{n}", "High water at a place.") for n in range(count))
    server_upsert(ServerSpec("sea", items=items))
    return list(Tool.objects.order_by("pk"))


def ask(tool: Tool) -> Suggestion:
    return suggestion_file(SkillIdea("Tide tables"), [tool.pk], origin=Suggestion.Origin.LLM)


@contextmanager
def behind(work: Callable[[], object]) -> Iterator[None]:
    """Begins the work in a thread once the block is done, and lets the block's transaction end when it waits."""
    failed: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as exc:  # raised below, in the thread of the test
            failed.append(exc)
        finally:
            connections.close_all()

    thread = threading.Thread(target=run)
    with transaction.atomic():
        yield
        thread.start()
        assert eventually(waiting, 30)
    thread.join(30)
    assert failed == []


def waiting() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_clear_snapshot()")  # a transaction sees the activity as it was else
        cursor.execute(WAITING)
        return bool(cursor.fetchone()[0])


def test_a_tool_that_asks_while_the_last_one_withdraws_is_kept() -> None:
    first, second = publish(2)
    ask(first)
    with behind(lambda: suggestion_withdraw(first.pk)):
        ask(second)
    suggestion = Suggestion.objects.get()
    assert (suggestion.asked, suggestion.askers.get().tool) == (1, second)


def test_a_suggestion_that_goes_while_it_is_asked_for_is_made_again() -> None:
    first, second = publish(2)
    ask(first)
    with behind(lambda: ask(second)):
        suggestion_withdraw(first.pk)
    suggestion = Suggestion.objects.get()
    assert (suggestion.asked, suggestion.askers.get().tool) == (1, second)


def test_each_result_renews_the_claim_on_the_rest(settings: Settings) -> None:
    make_skill("weather")
    publish(3)
    held = ToolClassification.objects.filter(status="claimed")
    seen: list[set[datetime]] = []
    with chat_server() as endpoint:
        endpoint.answer = lambda prompt: filed(("weather", 0.9))
        settings.CHAT_MODEL = "tiny"
        settings.CHAT_OPTIONS = ChatOptions(base_url=endpoint.url, timeout=20)
        classify_batch(written=lambda: seen.append({row.claimed_until for row in held.all() if row.claimed_until}))
    assert [len(times) for times in seen] == [1, 1, 0]
    assert max(seen[0]) < min(seen[1])


def test_a_claim_that_another_took_over_is_not_renewed(settings: Settings) -> None:
    publish(1)
    queue_update()
    lost, _ = queue_claim(1, with_vectors=False)
    ToolClassification.objects.update(claimed_until="2020-01-01T00:00:00Z")
    queue_claim(1, with_vectors=False)
    until = ToolClassification.objects.get().claimed_until
    queue_renew(lost)
    assert ToolClassification.objects.get().claimed_until == until
