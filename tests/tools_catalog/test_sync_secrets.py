"""A secret goes to the server it is for, and nowhere else: no table, no log, no error, no page."""

import json
import logging
from pathlib import Path
from typing import Any

import mcp.client.session
import pytest
from django.contrib.auth import get_user_model
from django.db import connection
from django.test import Client
from mcp.shared.exceptions import MCPError

from core.errors import ValidationFailed
from tests.mcp_servers.made import raw_server, tool, url_server
from tests.mcp_servers.sdk import http_server
from tools_catalog.models import Server, SyncRun, Tool
from tools_catalog.services.sync import server_sync
from tools_catalog.transports.client import translated
from tools_catalog.transports.diagnosis import KEPT, Diagnosis
from tools_catalog.transports.references import Secrets, resolve
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


class TestCutTexts:
    """The half of a secret is not recognised, so texts are cut after secrets are hidden."""

    def test_the_end_of_stderr(self) -> None:
        diagnosis = Diagnosis()
        for after in range(700):
            diagnosis.stderr = f"{CANARY} {'.' * after}".encode()
            assert hides_canary(diagnosis.hint(Secrets({CANARY})))

    @pytest.mark.parametrize("lost", [1, 5, 10])
    def test_what_was_kept_of_stderr(self, lost: int) -> None:
        """Little is left of a text full of secrets, so its beginning is shown, and that may be the end of one."""
        diagnosis = Diagnosis()
        text = f"{CANARY}\n" * KEPT
        diagnosis.stderr = text[lost : lost + KEPT].encode()
        assert hides_canary(diagnosis.hint(Secrets({CANARY}))[:40])
        secret = "swordfish" * 500
        diagnosis.stderr = f"{secret[9:]}{secret}{secret}".encode()[-KEPT:]
        assert hides_canary(diagnosis.hint(Secrets({secret})))

    @pytest.mark.parametrize("error", [lambda text: MCPError(-1, text), ValueError])
    def test_the_words_of_an_error(self, error: Any) -> None:
        for before in range(460, 500):
            found = translated(error("." * before + CANARY), "s", Secrets({CANARY}), Diagnosis())
            assert hides_canary(found.message)

    def test_a_secret_inside_json(self) -> None:
        secret = 'sword"fish\né'
        for text in (json.dumps({"a": secret}), json.dumps({"a": secret}, ensure_ascii=False), repr(secret)):
            assert hides_canary(Secrets({secret}).hide(text))

    def test_the_sdk_logs_nothing_of_what_servers_say(self) -> None:
        assert not mcp.client.session.logger.isEnabledFor(logging.ERROR)


def hides_canary(text: str) -> bool:
    return not any(part in text for part in ("sword", "fish", "5f3e", "9d w"))


@pytest.mark.django_db(transaction=True)
class TestWordsThatReferencesStandFor:
    def test_names_and_schemas_stay_what_they_are(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("TS_LEVEL", "info")
        properties: dict[str, Any] = {
            "info": {"enum": ["info"], "description": "More info."},
            "default": {"const": "info"},
        }
        published = tool("get_info", "Gives info.", inputSchema={"type": "object", "properties": properties})
        server = raw_server(tmp_path, tools=[published])
        Server.objects.update(env={"LOG_LEVEL": "${TS_LEVEL}"})
        server_sync(server.row.pk, trigger="manual")
        found = Tool.objects.get()
        assert (found.name, found.description) == ("get_info", "Gives ***.")
        properties["info"]["description"] = "More ***."
        assert found.input_schema == {"type": "object", "properties": properties}

    def test_an_item_named_by_a_secret_is_refused(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("TS_PLAIN", "swordfish-5f3e")
        monkeypatch.setenv("TS_SHORT", "9d wo")
        keyed = tool("keyed", inputSchema={"type": "object", "properties": {"a 9d wo": {}}})
        server = raw_server(tmp_path, tools=[tool("one"), tool("read_swordfish-5f3e"), keyed])
        Server.objects.update(env={"PLACE": "${TS_PLAIN}", "API_TOKEN": "${TS_SHORT}"})
        run = server_sync(server.row.pk, trigger="manual")
        assert run is not None
        assert [refusal["name"] for refusal in run.refusals] == ["read_***", "keyed"]
        assert "value of a reference" in run.refusals[0]["reason"]
        assert Tool.objects.get().name == "one"
        assert hides_canary(everything_stored())


class TestReferences:
    def test_variables_and_defaults(self) -> None:
        target = Target("s", "http", url="http://${HOST:-localhost}:${PORT}/", headers={"A": "x ${A}${B:-}"})
        found, _ = resolve(target, {"PORT": "80", "A": "a"})
        assert (found.url, found.headers) == ("http://localhost:80/", {"A": "x a"})

    def test_a_variable_that_is_not_set_is_named(self) -> None:
        with pytest.raises(ValidationFailed, match=r"s: headers.A refers to \$\{TOKEN\}, which is not set"):
            resolve(Target("s", "http", url="http://x", headers={"A": "${TOKEN}"}), {})

    @pytest.mark.parametrize(
        "name", ["TOOLSCRIPT_SECRET_KEY", "DJANGO_X", "PGPASSWORD", "DATABASE_URL", "REDIS_URL", "OPENAI_API_KEY"]
    )
    def test_our_own_settings_go_to_no_server(self, name: str) -> None:
        with pytest.raises(ValidationFailed, match=f"{name}}}, which is a setting of Toolscript itself") as caught:
            resolve(Target("s", "http", url="http://x", headers={"A": f"${{{name}:-x}}"}), {name: CANARY})
        assert CANARY not in caught.value.message

    @pytest.mark.django_db(transaction=True)
    def test_that_is_how_a_sync_fails(self) -> None:
        server = url_server("s", "http", "http://127.0.0.1:9/", headers={"A": "${TS_NOT_SET}"})
        run = server_sync(server.pk, trigger="manual")
        assert run is not None
        assert "TS_NOT_SET" in run.error
