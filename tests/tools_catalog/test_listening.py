"""A server announces that its tools changed, and the catalogue follows."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.db import connections
from django.utils import timezone
from pytest_django import Settings

from core import scope
from tenants.models import Tenant
from tests.mcp_servers.made import raw_server, tool, url_server
from tests.mcp_servers.sdk import http_server, part
from tests.processes import eventually
from tools_catalog.models import Server, SyncRun
from tools_catalog.selectors import tools_served
from tools_catalog.services.listening import Listener, announcing
from tools_catalog.services.schedule import servers_due
from tools_catalog.services.sync import server_sync
from tools_catalog.services.sync_requests import announced

pytestmark = pytest.mark.django_db(transaction=True)


def sync_due() -> None:
    for server_id in servers_due():
        server_sync(server_id, trigger=Server.objects.get(pk=server_id).due_trigger)


@contextmanager
def listening() -> Iterator[None]:
    """The listener in a thread of its own, doing at once what a worker would do."""
    loop = asyncio.new_event_loop()
    task = loop.create_task(Listener(sync_due).run())

    def run() -> None:
        with pytest.raises(asyncio.CancelledError):
            loop.run_until_complete(task)
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()
        connections.close_all()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        loop.call_soon_threadsafe(task.cancel)
        thread.join(30)
    assert not thread.is_alive()


def served() -> set[str]:
    return set(tools_served().values_list("name", flat=True))


def test_over_stdio_in_the_older_protocol(tmp_path: Path) -> None:
    server = raw_server(tmp_path, tools=[tool("one")], announce=True)
    server_sync(server.row.pk, trigger="manual")
    assert Server.objects.get().announces
    before = server.sessions()
    with listening():
        assert eventually(lambda: server.sessions() > before)
        server.define(tools=[tool("one"), tool("two")], announce=True)
        assert eventually(lambda: served() == {"one", "two"})
    assert SyncRun.objects.first().trigger == "change"  # type: ignore[union-attr]


def test_over_http_in_the_newer_protocol() -> None:
    with http_server() as there:
        row = url_server("polite", "http", there.url("/mcp"))
        server_sync(row.pk, trigger="manual")
        assert (Server.objects.get().protocol, served()) == ("2026-07-28", {"greet"})
        with listening():
            assert eventually(lambda: any(h.get("mcp-method") == "subscriptions/listen" for h in there.headers_seen))
            there.server.add_tool(part)
            there.announce()
            assert eventually(lambda: served() == {"greet", "part"})
        assert SyncRun.objects.first().trigger == "change"  # type: ignore[union-attr]


def test_a_server_that_is_away_is_asked_again_when_it_is_back(capfd: pytest.CaptureFixture[str]) -> None:
    logged = []

    def times_lost() -> int:
        logged.append(capfd.readouterr().err)
        return "".join(logged).count("listen.lost")

    with http_server() as there:
        there.token = "another"
        url_server("polite", "http", there.url("/mcp"), announces=True)
        Server.objects.update(synced_at=timezone.now())
        with listening():
            assert eventually(lambda: times_lost() >= 2)
            assert Server.objects.get().due_at is None
            assert not SyncRun.objects.exists()
            there.token = ""
            assert eventually(lambda: served() == {"greet"})
    assert {run.trigger for run in SyncRun.objects.all()} == {"change"}


def test_whoever_opened_the_session_the_wish_is_written_down() -> None:
    tenant = Tenant.objects.create(slug="acme", name="Acme")
    server = url_server("shared", "http", "http://127.0.0.1:9/")
    with scope.scoped(scope.Scope(tenant.pk)):
        asyncio.run(announced(server.pk))
    server.refresh_from_db()
    assert server.due_trigger == "change"


def test_only_servers_that_announce_are_listened_to(tmp_path: Path, settings: Settings) -> None:
    quiet = raw_server(tmp_path, "quiet", tools=[])
    server_sync(quiet.row.pk, trigger="manual")
    local = raw_server(tmp_path, "local", tools=[])
    remote = url_server("remote", "http", "http://127.0.0.1:9/")
    Server.objects.exclude(name="quiet").update(announces=True)
    assert set(announcing()) == {local.row.pk, remote.pk}
    settings.LISTEN_LIMIT = 1
    assert set(announcing()) == {remote.pk}
    settings.LISTEN_LIMIT = 0
    assert announcing() == {}
