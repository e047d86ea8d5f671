from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx2
import pytest
from django.db import connection
from django.test import TransactionTestCase, override_settings
from hypothesis import HealthCheck, settings
from pytest_django.live_server_helper import LiveServer

from core import db
from tenants.services.keys import key_create
from tests.config.service import Service, running
from tests.world import make_world
from tools_catalog.models import Tool

# The same examples in every run, however slow the machine is: what fails must fail again.
settings.register_profile("always", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("always")


@pytest.fixture(scope="session", autouse=True)
def close_read_connections(django_db_setup: None) -> Iterator[None]:
    """They would keep the test database from being dropped."""
    yield
    db.close_all()


@pytest.fixture(scope="session", autouse=True)
def quick_passwords() -> Iterator[None]:
    """The real hasher is slow on purpose; the tests of `up` meet it."""
    with override_settings(PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"]):
        yield


KEPT = {"django_migrations", "django_content_type", "auth_permission"}
LARGE = 1 << 20
SIZE = "SELECT max(pg_relation_size(quote_ident(name)::regclass)) FROM unnest(%s::text[]) AS name"


@pytest.fixture(scope="session", autouse=True)
def quick_flush() -> Iterator[None]:
    """Empties what tests write. Django's own flush also empties, and then makes again, what migrations have made.

    Small tables are emptied row by row: to truncate all of them takes a fifth of a second.
    """

    def empty(case: TransactionTestCase) -> None:
        tables = sorted(set(connection.introspection.table_names()) - KEPT)
        with connection.cursor() as cursor:
            cursor.execute(SIZE, [tables])
            if cursor.fetchone()[0] > LARGE:
                cursor.execute(f"TRUNCATE {', '.join(tables)}")
                return
            deletions = "; ".join(f"DELETE FROM {table}" for table in tables)
            cursor.execute(f"SET session_replication_role = replica; {deletions}; RESET session_replication_role")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", empty)
        yield


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """The whole of it, as `make up` starts it. Whoever asks for it runs in one worker: tests/plugin.py."""
    with running(tmp_path_factory.mktemp("service") / "data") as service:
        yield service
        service.stop()


@dataclass(frozen=True)
class Api:
    """The service over HTTP."""

    http: httpx2.Client

    def search(self, query: Any = "schedule a meeting", expect: int = 200, **fields: Any) -> Any:
        return self._body(self.http.post("/api/v1/search", json={"query": query, **fields}), expect)

    def skills(self, query: Any = "schedule a meeting", expect: int = 200, **params: Any) -> Any:
        return self._body(self.http.get("/api/v1/search/skills", params={"query": query, **params}), expect)

    def tools(self, query: Any = "schedule a meeting", expect: int = 200, **params: Any) -> Any:
        return self._body(self.http.get("/api/v1/search/tools", params={"query": query, **params}), expect)

    @staticmethod
    def _body(response: httpx2.Response, expect: int) -> Any:
        assert response.status_code == expect, response.text
        return response.json()


@pytest.fixture
def api(live_server: LiveServer) -> Iterator[Api]:
    """An administrator's: what it creates is shared."""
    _, key = key_create(name="tests", is_admin=True)
    with http_client(live_server.url, key) as http:
        yield Api(http)


def http_client(url: str, key: str = "") -> httpx2.Client:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    return httpx2.Client(base_url=url, timeout=30, headers=headers)


@pytest.fixture
def world(transactional_db: None) -> dict[str, Tool]:
    return make_world()


def names(result: Any) -> list[str]:
    tools = result["tools"] if isinstance(result, dict) else result
    return [tool["name"] for tool in tools]
