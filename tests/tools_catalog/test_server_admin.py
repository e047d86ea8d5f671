"""Servers in the admin: who may define what, and what the pages show."""

from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.test import Client

from core.errors import Forbidden
from tests.mcp_servers.made import url_server
from tools_catalog.models import ConfigFile, Server, SyncRun
from tools_catalog.services.servers import server_define
from tools_catalog.types import ServerConfig

pytestmark = pytest.mark.django_db
ADD = "/admin/tools_catalog/server/add/"
STDIO = {"transport": "stdio", "command": "run", "args": "--fast\n--port=1"}
HTTP = {"transport": "http", "url": "https://x.test/mcp", "headers": '{"Authorization": "Bearer ${T}"}'}


def client_of(*, superuser: bool) -> Client:
    user = get_user_model().objects.create_user("u", is_staff=True, is_superuser=superuser)
    user.user_permissions.set(Permission.objects.filter(content_type__app_label="tools_catalog"))
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def superuser() -> Client:
    return client_of(superuser=True)


@pytest.fixture
def curator() -> Client:
    return client_of(superuser=False)


def post(client: Client, url: str, fields: dict[str, Any]) -> Any:
    blank = dict.fromkeys(
        ("title", "description", "args", "command", "cwd", "url", "include_tools", "exclude_tools"), ""
    )
    return client.post(url, {**blank, "env": "{}", "headers": "{}", **fields})


class TestWhoMaySayWhatRuns:
    def test_a_superuser(self, superuser: Client, django_capture_on_commit_callbacks: Any) -> None:
        with django_capture_on_commit_callbacks(execute=True):
            assert post(superuser, ADD, {"name": "local", **STDIO}).status_code == 302
        server = Server.objects.get()
        assert (server.source, server.command, server.args) == ("admin", "run", ["--fast", "--port=1"])
        assert server.due_at is not None

    def test_nobody_else_in_the_form(self, curator: Client) -> None:
        answer = post(curator, ADD, {"name": "local", **STDIO})
        assert "Only a superuser" in answer.content.decode()
        assert not Server.objects.exists()

    def test_nor_through_the_service(self) -> None:
        with pytest.raises(Forbidden):
            server_define(Server(name="a"), ServerConfig("a", "stdio", command="run"), may_run_commands=False)

    def test_nobody_else_changes_one(self, curator: Client) -> None:
        server = Server.objects.create(name="a", source="admin", transport="stdio", command="run")
        url = f"/admin/tools_catalog/server/{server.pk}/change/"
        post(curator, url, {"title": "New", **STDIO, "command": "rm"})
        server.refresh_from_db()
        assert (server.command, server.args, server.title) == ("run", [], "New")
        post(curator, url, {"include_tools": "read_*"})
        server.refresh_from_db()
        assert server.include_tools == ["read_*"]
        with pytest.raises(Forbidden):
            server_define(server, ServerConfig("a", "http", url="http://x"), may_run_commands=False)

    def test_a_curator_adds_a_remote_server(self, curator: Client) -> None:
        assert post(curator, ADD, {"name": "remote", **HTTP, "headers": "{}"}).status_code == 302
        assert Server.objects.get().url == "https://x.test/mcp"


class TestWhoMaySayWhereVariablesAreSent:
    @pytest.mark.parametrize("fields", [{}, {"url": "https://x.test/${T}", "headers": "{}"}])
    def test_nobody_but_a_superuser(self, curator: Client, fields: dict[str, str]) -> None:
        answer = post(curator, ADD, {"name": "remote", **HTTP, **fields})
        assert "Only a superuser" in answer.content.decode()
        assert not Server.objects.exists()

    def test_others_leave_it_or_take_it_out(self, curator: Client) -> None:
        headers: Any = {"Authorization": "Bearer ${T}"}
        server = Server.objects.create(
            name="a", source="admin", transport="http", url=HTTP["url"], headers=headers, protocol="1"
        )
        url = f"/admin/tools_catalog/server/{server.pk}/change/"
        assert "Only a superuser" in post(curator, url, {**HTTP, "url": "https://evil.test"}).content.decode()
        assert post(curator, url, {**HTTP, "title": "New"}).status_code == 302
        server.refresh_from_db()
        assert (server.title, server.url, server.headers) == ("New", HTTP["url"], headers)
        assert post(curator, url, {**HTTP, "url": "https://y.test", "headers": "{}"}).status_code == 302

    def test_nor_through_the_service(self) -> None:
        config = ServerConfig("a", "http", url="https://x.test/?q=${T}")
        with pytest.raises(Forbidden):
            server_define(Server(name="a"), config, may_run_commands=False)


class TestTheForm:
    @pytest.mark.parametrize(
        ("fields", "message"),
        [
            ({"headers": '{"Authorization": "Bearer abcdefgh12"}'}, "this looks like a credential written out"),
            ({"url": "x.test"}, "It must start with http:// or https://"),
            ({"command": "run"}, "This means nothing with the transport http"),
            ({"headers": '{"A": 1}'}, "An object of texts is expected"),
            ({"headers": "nonsense"}, "Enter a valid JSON"),
            ({"name": "no spaces"}, "Letters, digits"),
            ({"timeout_seconds": "0"}, "Seconds from 1 to 600"),
            ({"transport": "stdio"}, "A stdio server needs the command"),
        ],
    )
    def test_says_what_is_wrong(self, superuser: Client, fields: dict[str, str], message: str) -> None:
        answer = post(superuser, ADD, {"name": "remote", **HTTP, **fields})
        assert answer.status_code == 200
        assert message in answer.content.decode()
        assert not Server.objects.exists()

    def test_a_server_of_the_file_is_shown_and_not_changed(self, superuser: Client) -> None:
        server = Server.objects.create(
            name="a", source="file", transport="stdio", command="run", config_path="/etc/servers.json"
        )
        url = f"/admin/tools_catalog/server/{server.pk}/change/"
        assert "/etc/servers.json" in superuser.get(url).content.decode()
        assert post(superuser, url, {"name": "a", **STDIO}).status_code == 403
        assert superuser.post(f"/admin/tools_catalog/server/{server.pk}/delete/", {"post": "yes"}).status_code == 403


class TestThePages:
    def test_show_state_error_and_refusals(self, superuser: Client) -> None:
        server = url_server("remote", "http", "http://x")
        Server.objects.update(failures=2, last_error="It is <b>broken</b>.", synced_at="2026-01-01T00:00Z")
        refusals: Any = [{"type": "tool", "name": "bad", "reason": "inputSchema: Field required"}]
        run = SyncRun.objects.create(server=server, trigger="manual", state="done", refused=1, refusals=refusals)
        SyncRun.objects.create(server=server, trigger="schedule", state="failed", error="It is away.")
        ConfigFile.objects.create(path="/x.json", error="/x.json: key: wrong", read_at="2026-01-01T00:00Z")
        servers = superuser.get("/admin/tools_catalog/server/").content.decode()
        assert "stale" in servers
        assert "It is &lt;b&gt;broken&lt;/b&gt;." in servers
        page = superuser.get(f"/admin/tools_catalog/server/{server.pk}/change/").content.decode()
        assert "inputSchema: Field required" in page
        assert "2 in a row" in page
        assert "It is away." in superuser.get("/admin/tools_catalog/syncrun/").content.decode()
        detail = superuser.get(f"/admin/tools_catalog/syncrun/{run.pk}/change/").content.decode()
        assert "inputSchema: Field required" in detail
        assert "key: wrong" in superuser.get("/admin/tools_catalog/configfile/").content.decode()

    def test_sync_now(self, superuser: Client) -> None:
        remote, imported = url_server("remote", "http", "http://x"), Server.objects.create(name="imported")
        data = {"action": "sync_now", "_selected_action": [remote.pk, imported.pk]}
        answer = superuser.post("/admin/tools_catalog/server/", data, follow=True)
        assert "1 will be synced now. 1 cannot be synced" in answer.content.decode()
        remote.refresh_from_db()
        assert remote.due_trigger == "manual"

    def test_the_schedule_can_be_edited(self, superuser: Client) -> None:
        from django_celery_beat.models import PeriodicTask

        from tools_catalog.services.schedule import schedule_create

        schedule_create()
        task = PeriodicTask.objects.get()
        page = superuser.get(f"/admin/django_celery_beat/periodictask/{task.pk}/change/").content.decode()
        assert "every 15 minutes" in page
