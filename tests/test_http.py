"""What holds for every request: its id, its log lines, its headers, its errors, and the pages around the API."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from django.db import connections
from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.urls import path
from prometheus_client.parser import text_string_to_metric_families
from pytest_django.live_server_helper import LiveServer
from rest_framework.request import Request
from rest_framework.views import APIView

from config import urls
from core import db
from tests.conftest import Api

SECRET = "a detail that must not leave the service"
STATIC = re.compile(r"""(?:src|href)=["'](/static/[^"']+)["']""")


class ViewThatBreaks(APIView):
    def get(self, request: Request) -> HttpResponse:
        raise RuntimeError(SECRET)


def page_that_breaks(request: HttpRequest) -> HttpResponse:
    raise RuntimeError(SECRET)


# This module is the URL configuration of the tests that need something broken.
urlpatterns = [
    path("broken", ViewThatBreaks.as_view()),
    path("broken/page", page_that_breaks),
    path("admin/broken", page_that_breaks),
    *urls.urlpatterns,
]
handler400, handler403 = urls.handler400, urls.handler403
handler404, handler500 = urls.handler404, urls.handler500


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    db.close_all()  # this thread's own would keep the test database from being dropped


def logged(capfd: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capfd.readouterr().err.split("\n") if line]


def check_error(response: Any, status: int, code: str) -> dict[str, Any]:
    assert response.status_code == status, response.text
    assert response.headers["Content-Type"] == "application/json"
    body = response.json()
    assert set(body) == {"error", "detail"}
    assert set(body["error"]) == {"code", "message", "details"}
    assert body["error"]["code"] == code
    assert body["error"]["message"] == body["detail"]
    details: dict[str, Any] = body["error"]["details"]
    return details


class TestRequestIds:
    @pytest.mark.usefixtures("world")
    def test_a_given_id_is_kept_and_is_in_every_log_line(self, api: Api, capfd: pytest.CaptureFixture[str]) -> None:
        mine = "order-66.retry:2_A"
        body = {"query": "book a room", "skill_threshold": 1}
        response = api.http.post("/api/v1/search", json=body, headers={"X-Request-ID": mine})
        assert response.headers["X-Request-ID"] == mine
        lines = logged(capfd)
        assert {line["event"] for line in lines} == {"search.fallback", "search.done", "http.request"}
        assert {line["request_id"] for line in lines} == {mine}

    def test_each_request_has_its_own(self) -> None:
        ids = {Client().get("/health").headers["X-Request-ID"] for _ in range(10)}
        assert len(ids) == 10
        assert all(re.fullmatch(r"[0-9a-f]{32}", own) for own in ids)

    @pytest.mark.parametrize(
        "hostile",
        [
            "",
            " ",
            "a b",
            "a\nb",
            "a\r\nSet-Cookie: x=1",
            "a%0ab",
            "x" * 129,
            "x" * 500,
            "é",
            '"}',
            "a\n",
            "${x}",
            "\x1b[0m",
        ],
    )
    def test_a_hostile_one_is_replaced(self, hostile: str, capfd: pytest.CaptureFixture[str]) -> None:
        response = Client().get("/health", headers={"X-Request-ID": hostile})
        own = response.headers["X-Request-ID"]
        assert re.fullmatch(r"[0-9a-f]{32}", own)
        assert "Set-Cookie" not in response.headers
        [line] = logged(capfd)
        assert line["request_id"] == own

    def test_the_longest_one_is_kept(self) -> None:
        assert Client().get("/health", headers={"X-Request-ID": "x" * 128}).headers["X-Request-ID"] == "x" * 128

    def test_what_is_not_found_has_one_too(self) -> None:
        assert Client().get("/nothing", headers={"X-Request-ID": "mine"}).headers["X-Request-ID"] == "mine"


class TestLogs:
    def test_a_line_is_json_and_says_what_happened_when(self, capfd: pytest.CaptureFixture[str]) -> None:
        Client().get("/nothing?secret=1")
        [line] = logged(capfd)
        assert line["event"] == "http.request"
        assert line["level"] == "info"
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z", line["timestamp"])
        assert (line["method"], line["path"], line["status"]) == ("GET", "/nothing", 404)
        assert line["duration_ms"] >= 0

    def test_odd_text_stays_on_its_line(self, capfd: pytest.CaptureFixture[str]) -> None:
        for address in ("/a%0a%7b%22level%22%3a1%7d", "/%ff", "/%e2%80%a8", "/%1b[31m", "/%00"):
            Client().get(address)
        lines = logged(capfd)
        assert [line["status"] for line in lines] == [404] * 5
        assert lines[0]["path"] == '/a\n{"level":1}'

    @pytest.mark.usefixtures("world")
    def test_a_search_is_logged_with_what_it_found(self, api: Api, capfd: pytest.CaptureFixture[str]) -> None:
        result = api.search("line one\nline two", strategy="direct", tool_threshold=0)
        lines = logged(capfd)
        assert [line["event"] for line in lines] == ["search.done", "http.request"]
        assert len({line["request_id"] for line in lines}) == 1
        assert lines[0]["query"] == "line one\nline two"
        assert lines[0]["results"] == len(result["tools"])


class TestHealthAndReadiness:
    @pytest.mark.usefixtures("world")
    def test_a_service_with_an_index_is_ready(self, api: Api) -> None:
        response = api.http.get("/ready")
        assert response.status_code == 200
        checks = {"database": "ok", "index": "ok", "model": "ok"}
        assert response.json() == {"status": "ok", "model": "toolscript-minilm", "checks": checks}

    def test_an_empty_database_is_not(self, api: Api) -> None:
        response = api.http.get("/ready")
        checks = check_error(response, 503, "NOT_READY")["checks"]
        assert checks["database"] == "ok"
        assert checks["index"] != "ok"
        assert response.headers["Retry-After"]
        check_error(api.http.post("/api/v1/search", json={"query": "meeting"}), 503, "NOT_READY")
        assert api.http.get("/health").status_code == 200

    def test_without_a_database_it_is_healthy_and_not_ready(
        self, live_server: LiveServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(connections.settings["default"], "PORT", 1)
        with httpx2.Client(base_url=live_server.url) as http:  # another thread of the server, which must connect anew
            assert http.get("/health").json() == {"status": "ok"}
            assert check_error(http.get("/ready"), 503, "NOT_READY")["checks"]["database"] != "ok"
            search = http.post("/api/v1/search", json={"query": "meeting"})
            check_error(search, 503, "NOT_READY")
            assert search.headers["Retry-After"]

    def test_a_database_that_was_never_migrated_is_not_ready(
        self, live_server: LiveServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(connections.settings["default"], "NAME", "postgres")
        with httpx2.Client(base_url=live_server.url) as http:
            check_error(http.get("/ready"), 503, "NOT_READY")
            check_error(http.post("/api/v1/search", json={"query": "meeting"}), 503, "NOT_READY")

    def test_health_asks_nothing_of_the_database(self) -> None:
        """pytest-django lets no query through here."""
        response = Client().get("/health")
        assert response.status_code == 200
        assert response.json() == {"status": "ok"}


class TestMetrics:
    @staticmethod
    def counts(api: Api) -> Counter[tuple[str, ...]]:
        response = api.http.get("/metrics")
        assert response.status_code == 200
        assert response.headers["Content-Type"].startswith("text/plain; version=")
        found: Counter[tuple[str, ...]] = Counter()
        for family in text_string_to_metric_families(response.text):
            for sample in family.samples:
                if sample.name.endswith(("_total", "_count")):
                    found[(sample.name, *(sample.labels[name] for name in sorted(sample.labels)))] = int(sample.value)
        return found

    @pytest.mark.usefixtures("world")
    def test_requests_and_searches_are_counted(self, api: Api) -> None:
        before = self.counts(api)
        api.search()
        api.search("book a room", skill_threshold=1)
        api.search(limit=0, expect=422)
        new = self.counts(api) - before
        requests = "toolscript_http_request_seconds_count"
        assert new[(requests, "POST", "api/v1/search", "200")] == 2
        assert new[(requests, "POST", "api/v1/search", "422")] == 1
        searches = "toolscript_searches_total"
        assert new[(searches, "none", "none", "hierarchical")] == 1
        assert new[(searches, "none", "no_skill_matched", "direct")] == 1
        stages = "toolscript_search_stage_seconds_count"
        assert all(new[(stages, stage)] == 2 for stage in ("embedding", "skills", "tools", "schemas", "total"))

    def test_strangers_cannot_make_up_series(self, api: Api) -> None:
        for i in range(5):
            api.http.get(f"/nothing/{i}")
            api.http.request(f"BREW{i}", f"/nothing/{i}")
        assert not [
            labels for labels in self.counts(api) if any("BREW" in text or "nothing" in text for text in labels)
        ]

    @pytest.mark.parametrize("address", ["/metrics", "/health"])
    @pytest.mark.parametrize("accept", ["text/plain", "application/openmetrics-text", "text/html"])
    def test_probes_answer_whatever_the_caller_says_it_accepts(self, address: str, accept: str) -> None:
        assert Client().get(address, headers={"Accept": accept}).status_code == 200


class TestPages:
    @pytest.mark.django_db
    @pytest.mark.parametrize("address", ["/", "/admin/login/", "/api/docs"])
    def test_a_page_is_served_with_all_its_files(self, address: str) -> None:
        client = Client()
        page = client.get(address)
        assert page.status_code == 200
        assert page.headers["Content-Type"].startswith("text/html")
        files = set(STATIC.findall(page.text))
        assert files
        for name in files:
            file = client.get(name)
            assert file.status_code == 200, name
            assert file.headers["X-Content-Type-Options"] == "nosniff"
            assert file.headers["X-Request-ID"]
            file.close()

    @pytest.mark.parametrize("address", ["/", "/admin/login/"])
    def test_a_page_loads_nothing_from_elsewhere(self, address: str) -> None:
        text = Client().get(address).text
        assert not re.search(r"""(?:src|action)=["'](?:https?:)?//|<link[^>]+href=["'](?:https?:)?//""", text)

    def test_the_admin_is_found_without_its_slash(self) -> None:
        response = Client().get("/admin")
        assert response.status_code == 302
        assert response.headers["Location"] == "/admin/"

    def test_the_admin_asks_who_you_are(self) -> None:
        response = Client().get("/admin/")
        assert response.status_code == 302
        assert response.headers["Location"] == "/admin/login/?next=/admin/"

    @pytest.mark.usefixtures("world")
    def test_head_works_where_get_does(self, api: Api) -> None:
        for address in (
            *("/", "/health", "/ready", "/metrics", "/api/schema", "/api/docs", "/admin/login/", "/static/home.css"),
            *("/api/v1/search/skills?query=meeting", "/api/v1/search/tools?query=meeting"),
        ):
            get, head = api.http.get(address), api.http.head(address)
            assert (get.status_code, head.status_code, head.content) == (200, 200, b""), address
            assert head.headers["Content-Type"] == get.headers["Content-Type"]
        assert api.http.head("/nothing").status_code == 404


class TestSafety:
    @pytest.mark.parametrize(
        "address", ["/", "/admin/login/", "/health", "/metrics", "/api/schema", "/nothing", "/admin"]
    )
    def test_security_headers_are_everywhere(self, address: str) -> None:
        headers = Client().get(address).headers
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["X-Frame-Options"] == "DENY"
        assert headers["Referrer-Policy"] == "same-origin"
        assert "Server" not in headers

    @pytest.mark.parametrize("address", ["/", "/api/v1/search/skills?query=meeting", "/api/schema"])
    def test_a_host_that_is_not_ours_is_refused(self, address: str) -> None:
        """Otherwise any web page could reach a service on its visitor's machine by rebinding its own name."""
        check_error(Client().get(address, headers={"Host": "evil.example"}), 400, "BAD_REQUEST")

    def test_a_form_without_its_token_is_refused(self) -> None:
        strict = Client(enforce_csrf_checks=True)
        assert strict.post("/admin/login/", {"username": "x", "password": "y"}).status_code == 403
        check_error(strict.post("/"), 403, "FORBIDDEN")


@pytest.mark.urls("tests.test_http")
class TestUnhandledErrors:
    @pytest.mark.parametrize("address", ["/broken", "/broken/page"])
    def test_the_answer_is_in_the_error_format_and_tells_nothing(self, address: str) -> None:
        response = Client(raise_request_exception=False).get(address, headers={"X-Request-ID": "mine"})
        assert check_error(response, 500, "INTERNAL_ERROR") == {}
        assert response.headers["X-Request-ID"] == "mine"
        assert SECRET not in response.text
        assert "Traceback" not in response.text

    def test_the_admin_has_a_page_for_it(self) -> None:
        response = Client(raise_request_exception=False).get("/admin/broken")
        assert response.status_code == 500
        assert response.headers["Content-Type"].startswith("text/html")
        assert SECRET not in response.text
        assert "Traceback" not in response.text

    @pytest.mark.parametrize("address", ["/broken", "/broken/page", "/admin/broken"])
    def test_the_log_tells_everything(
        self, address: str, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
    ) -> None:
        Client(raise_request_exception=False).get(address, headers={"X-Request-ID": "mine"})
        written = capfd.readouterr().err
        assert SECRET in written + caplog.text
        assert "Traceback" in written + caplog.text
        assert all(json.loads(line)["request_id"] == "mine" for line in written.split("\n") if line)
