from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx2
import pytest
from django.core.management import call_command
from pytest_django.live_server_helper import LiveServer
from pytest_django.plugin import DjangoDbBlocker

from knowledge.models import Source
from tenants.models import RateWindow
from tenants.services.keys import key_create
from tests.conftest import http_client
from tests.knowledge.library import make_library


@dataclass(frozen=True)
class Documents:
    """Documents over HTTP."""

    http: httpx2.Client
    """Nobody's in particular: the public tier."""
    writer: httpx2.Client

    def search(self, query: Any = "", expect: int = 200, **fields: Any) -> Any:
        body = {"query": query, **fields} if query != "" else fields
        return self._body(self.http.post("/search", json=body), expect)

    def knowledge(self, query: Any = "when is high tide", expect: int = 200, **fields: Any) -> Any:
        return self._body(self.http.post("/search_knowledge", json={"query": query, **fields}), expect)

    def send(self, expect: int = 201, **fields: Any) -> Any:
        return self._body(self.writer.post("/api/v1/knowledge/sources", json=fields), expect)

    def get(self, address: str, expect: int = 200, **params: Any) -> Any:
        return self._body(self.http.get(address, params=params), expect)

    def delete(self, address: str, expect: int = 200) -> Any:
        return self._body(self.writer.delete(address), expect)

    @staticmethod
    def _body(response: httpx2.Response, expect: int) -> Any:
        assert response.status_code == expect, response.text
        return response.json()


@pytest.fixture(scope="module")
def service(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Documents]:
    """One service and one library for all tests of a module: each test leaves it as it was.

    (pytest-django makes the database for a run that has a test with its mark, so each module has one.)
    """
    with django_db_blocker.unblock():
        server = LiveServer("localhost")
        try:
            with (
                http_client(server.url) as http,
                http_client(server.url, key_create(name="tests", is_admin=True)[1]) as writer,
            ):
                yield Documents(http, writer)
        finally:
            server.stop()
            call_command("flush", interactive=False, verbosity=0)


@pytest.fixture(scope="module")
def library(service: Documents) -> dict[str, Source]:
    return make_library()


@pytest.fixture
def documents(service: Documents, library: dict[str, Source]) -> Documents:
    RateWindow.objects.all().delete()
    return service
