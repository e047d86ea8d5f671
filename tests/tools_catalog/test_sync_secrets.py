"""A secret goes to the server it is for, and nowhere else: no table, no log, no error, no page."""

from pathlib import Path

import pytest
from django.contrib.auth import get_user_model
from django.db import connection
from django.test import Client

from core.errors import ValidationFailed
from tests.mcp_servers.made import raw_server, tool, url_server
from tests.mcp_servers.sdk import http_server
from tools_catalog.models import Server, SyncRun, Tool
from tools_catalog.services.sync import server_sync
from tools_catalog.transports.references import resolve
from tools_catalog.types import Target

CANARY = "swordfish/5f3e+9d word"


def everything_stored() -> str:
    with connection.cursor() as cursor:
        tables = connection.introspection.table_names(cursor)
        texts = []
        for table in tables:
            cursor.execute(f'SELECT t::text FROM "{table}" t')
            texts += [row[0] for row in cursor.fetchall()]
    return "\n".join(texts)


def pages(client: Client) -> str:
    lists = [f"/admin/tools_catalog/{name}/" for name in ("server", "syncrun", "tool", "configfile")]
    details = [f"/admin/tools_catalog/server/{s.pk}/change/" for s in Server.objects.all()]
    details += [f"/admin/tools_catalog/syncrun/{r.pk}/change/" for r in SyncRun.objects.all()]
    details += [f"/admin/tools_catalog/tool/{t.pk}/change/" for t in Tool.objects.all()]
    answers = [client.get(url) for url in lists + details]
    assert {answer.status_code for answer in answers} == {200}
    return "\n".join(answer.content.decode() for answer in answers)


@pytest.mark.django_db(transaction=True)
def test_a_canary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("TS_CANARY", CANARY)
    behaviours = {
        "talks": {"initialize": "garbage", "tools/list": "garbage"},
        "dies": {"tools/list": "crash"},
        "refuses": {"tools/list": "error"},
    }
    for name, on in behaviours.items():
        server = raw_server(tmp_path, name, timeout=5, tools=[tool("one")], on=on, leak="SECRET")
        Server.objects.filter(pk=server.row.pk).update(env={"SECRET": "${TS_CANARY}"})
    url_server("away", "http", "http://127.0.0.1:9/mcp?key=${TS_CANARY}")
    url_server("old", "sse", "http://127.0.0.1:9/sse?key=${TS_CANARY}")
    with http_server() as there:
        there.token = "another"
        url_server("closed", "http", there.url("/mcp"), headers={"Authorization": "Bearer ${TS_CANARY}"})
        states = {s.name: server_sync(s.pk, trigger="manual") for s in Server.objects.all()}
        assert {seen["authorization"] for seen in there.headers_seen} == {f"Bearer {CANARY}"}
    errors = {name: run.error for name, run in states.items() if run is not None}
    assert Tool.objects.get().description == "connected with ***"
    assert "out of memory ***" in errors["dies"]
    assert "no access ***" in errors["refuses"]
    assert "HTTP 401" in errors["closed"]
    assert "nobody answers" in errors["away"]

    admin = get_user_model().objects.create_superuser("root")
    client = Client()
    client.force_login(admin)
    shown = pages(client)
    assert "${TS_CANARY}" in shown
    written = capfd.readouterr()
    for text in (everything_stored(), shown, written.out, written.err):
        for form in (CANARY, "swordfish", "5f3e+9d"):
            assert form not in text


class TestReferences:
    def test_variables_and_defaults(self) -> None:
        target = Target("s", "http", url="http://${HOST:-localhost}:${PORT}/", headers={"A": "x ${A}${B:-}"})
        found, _ = resolve(target, {"PORT": "80", "A": "a"})
        assert (found.url, found.headers) == ("http://localhost:80/", {"A": "x a"})

    def test_a_variable_that_is_not_set_is_named(self) -> None:
        with pytest.raises(ValidationFailed, match=r"s: headers.A refers to \$\{TOKEN\}, which is not set"):
            resolve(Target("s", "http", url="http://x", headers={"A": "${TOKEN}"}), {})

    @pytest.mark.django_db(transaction=True)
    def test_that_is_how_a_sync_fails(self) -> None:
        server = url_server("s", "http", "http://127.0.0.1:9/", headers={"A": "${TS_NOT_SET}"})
        run = server_sync(server.pk, trigger="manual")
        assert run is not None
        assert "TS_NOT_SET" in run.error
