"""Import without a live server: the command, the API, and every published file there is."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from django.db import connection
from pytest_django import Settings

from cli.main import toolscript
from core.errors import Conflict, ValidationFailed
from tests.conftest import Api
from tests.mcp_servers.made import tool, url_server
from tests.processes import ROOT
from tools_catalog.models import Server, SyncRun, Tool
from tools_catalog.selectors import tools_served
from tools_catalog.services.publication import published_import

CATALOG = ROOT.parent / "shared" / "mcp" / "catalog"
FORM: dict[str, Any] = {
    "server": "mailer",
    "package": "mailer-mcp",
    "tools": [tool("send", "Send a message."), {"name": "bad", "inputSchema": {}}],
    "prompts": [{"name": "greet", "arguments": [{"name": "who"}]}],
    "resources": [{"name": "inbox", "uri": "mail://inbox"}],
}


def versions() -> list[Any]:
    """Of every row of servers, tools and runs: changes with each write."""
    found: list[Any] = []
    with connection.cursor() as cursor:
        for table in ("server", "tool", "syncrun"):
            cursor.execute(f"SELECT ctid::text, xmin::text FROM tools_catalog_{table} ORDER BY 1")
            found += cursor.fetchall()
    return found


@pytest.mark.django_db
class TestTheService:
    def test_takes_everything_or_says_why_not(self) -> None:
        report = published_import(FORM)
        assert (report.seen, report.counts["created"]) == (4, 3)
        assert [(r.name, r.reason) for r in report.refusals] == [("bad", "inputSchema.type: Field required")]
        run = SyncRun.objects.get()
        assert (run.trigger, run.state, run.seen, run.created, run.refused) == ("import", "done", 4, 3, 1)
        server = Server.objects.get()
        assert (server.source, server.transport, server.due_at) == ("import", "", None)

    def test_the_same_again_writes_nothing(self) -> None:
        published_import(FORM)
        before = versions()
        report = published_import(FORM)
        assert (report.wrote, report.counts["unchanged"]) == (False, 3)
        assert versions() == before

    def test_what_is_gone_from_the_file_is_missing(self) -> None:
        published_import(FORM)
        report = published_import({"server": "mailer", "tools": FORM["tools"]})
        assert report.counts["missing"] == 2
        assert [t.name for t in tools_served()] == ["send"]

    def test_two_thousand_tools_in_one_go(self) -> None:
        tools = [tool(f"tool_{i}", f"Does the thing number {i}.") for i in range(2000)]
        assert published_import({"server": "large", "tools": tools}).counts["created"] == 2000
        assert published_import({"server": "large", "tools": tools}).counts["unchanged"] == 2000

    @pytest.mark.parametrize(
        ("form", "message"),
        [
            ([], "An object is expected"),
            ({"tools": []}, "server: a name"),
            ({"server": "no spaces", "tools": []}, "server: a name"),
            ({"server": "a"}, "tools: a list is expected"),
            ({"server": "a", "tools": {}}, "tools: a list is expected"),
            ({"server": "a", "tools": [], "title": 1}, "title: a text"),
        ],
    )
    def test_a_bad_form_changes_nothing(self, form: Any, message: str) -> None:
        with pytest.raises(ValidationFailed, match=message):
            published_import(form)
        assert not Server.objects.exists()

    def test_a_server_that_is_synced_itself_is_not_imported_over(self) -> None:
        url_server("mailer", "http", "http://127.0.0.1:9/")
        with pytest.raises(Conflict, match="the next sync would undo the import"):
            published_import(FORM)


@pytest.mark.django_db
@pytest.mark.skipif(not CATALOG.exists(), reason="the published definitions are not here")
def test_every_published_file_is_in_or_refused_with_a_reason_and_again_writes_nothing() -> None:
    forms = [json.loads(path.read_text()) for path in sorted(CATALOG.glob("*.json"))]
    assert len(forms) == 76
    items = sum(len(form.get(kind) or []) for form in forms for kind in ("tools", "prompts", "resources"))
    reports = [published_import(form) for form in forms]
    refused = [refusal for report in reports for refusal in report.refusals]
    assert Tool.objects.count() + len(refused) == items
    assert all(refusal.reason for refusal in refused)
    before = versions()
    assert not any(published_import(form).wrote for form in forms)
    assert versions() == before


def run(*args: str) -> Any:
    return CliRunner().invoke(toolscript, list(args))


@pytest.mark.django_db(transaction=True)
class TestTheCommand:
    def test_reports_each_file_and_what_was_refused(self, tmp_path: Path) -> None:
        (tmp_path / "good.json").write_text(json.dumps(FORM))
        (tmp_path / "broken.json").write_text("{")
        (tmp_path / "wrong.json").write_text('{"server": "x"}')
        result = run("import", str(tmp_path))
        assert result.exit_code == 1
        assert "mailer: 3 created, 1 refused" in result.stdout
        assert "refused tool 'bad': inputSchema.type: Field required" in result.stdout
        assert "broken.json: This is no JSON" in result.stderr
        assert "wrong.json: tools: a list is expected." in result.stderr
        assert "3 files, 4 items: 3 created" in result.stdout
        assert "index of tools: 3/3\n" in result.stderr

    def test_as_json_and_searchable_at_once(self, tmp_path: Path) -> None:
        path = tmp_path / "good.json"
        path.write_text(json.dumps(FORM))
        result = run("import", str(path), "--output", "json")
        assert result.exit_code == 0
        report = json.loads(result.stdout)
        assert report["totals"]["created"] == 3
        assert report["files"][0]["refused"][0]["name"] == "bad"
        assert Tool.objects.get(name="send").vectors.get().is_active
        again = json.loads(run("import", str(path), "--output", "json").stdout)
        assert (again["totals"]["created"], again["totals"]["unchanged"]) == (0, 3)

    def test_without_the_index(self, tmp_path: Path) -> None:
        path = tmp_path / "good.json"
        path.write_text(json.dumps(FORM))
        assert "index of" not in run("import", str(path), "--no-index").stderr
        assert not Tool.objects.get(name="send").vectors.exists()

    def test_a_file_that_is_not_there(self, tmp_path: Path) -> None:
        result = run("import", str(tmp_path / "none.json"))
        assert result.exit_code == 1
        assert "No such file" in result.stderr


class TestTheApi:
    def test_takes_the_published_form(self, api: Api) -> None:
        answer = api.http.post("/api/v1/import", json=FORM)
        assert answer.status_code == 200
        body = answer.json()
        assert (body["server"], body["seen"], body["created"]) == ("mailer", 4, 3)
        assert body["refused"] == [{"type": "tool", "name": "bad", "reason": "inputSchema.type: Field required"}]
        assert api.http.post("/api/v1/import", json=FORM).json()["unchanged"] == 3

    @pytest.mark.parametrize(
        ("body", "status"), [([], 422), ({"server": "a"}, 422), ({"server": "a", "tools": [], "tool": []}, 422)]
    )
    def test_refuses_another_form(self, api: Api, body: Any, status: int) -> None:
        answer = api.http.post("/api/v1/import", json=body)
        assert answer.status_code == status
        assert answer.json()["error"]["code"] == "VALIDATION_ERROR"

    def test_takes_more_than_the_usual_body(self, api: Api, settings: Settings) -> None:
        settings.TOOLSCRIPT_MAX_BODY_BYTES = 1024
        body = {"server": "large", "tools": [tool("send", "Send a message. " * 100)]}
        assert api.http.post("/api/v1/import", json=body).json()["created"] == 1
        settings.LARGE_BODIES = {"/api/v1/import": 1024}
        assert api.http.post("/api/v1/import", json=body).status_code == 413

    def test_a_conflict(self, api: Api) -> None:
        url_server("mailer", "http", "http://127.0.0.1:9/")
        assert api.http.post("/api/v1/import", json=FORM).status_code == 409
