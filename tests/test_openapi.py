"""The description of the API is valid, complete, and true of the running service."""

import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from drf_spectacular.validation import validate_schema
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from pytest_django.live_server_helper import LiveServer
from rest_framework.views import APIView

from tenants.plans import plans_from
from tenants.services.keys import key_create

NOT_DESCRIBED = {"/metrics", "/api/schema", "/api/docs", "/mcp"}
"""Text for Prometheus, the description itself, and another protocol."""
SECONDS = 300
"""More than enough: a run takes well under a minute on an idle machine."""


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    response = Client().get("/api/schema", headers={"Accept": "application/json"})
    assert response.status_code == 200
    described: dict[str, Any] = response.json()
    return described


def routes(patterns: Iterable[URLPattern | URLResolver], prefix: str = "/") -> Iterator[tuple[str, Any]]:
    for entry in patterns:
        address = re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", prefix + str(entry.pattern))
        if isinstance(entry, URLResolver):
            yield from routes(entry.url_patterns, address)
        else:
            yield address, getattr(entry.callback, "cls", None)


def nodes(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    for child in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from nodes(child)


def test_it_is_valid_openapi_3_1(schema: dict[str, Any]) -> None:
    assert schema["openapi"].startswith("3.1.")
    validate_schema(schema)  # type: ignore[no-untyped-call]
    for node in nodes(schema):
        if isinstance(node.get("schema"), dict):
            Draft202012Validator.check_schema(node["schema"])
    for component in schema["components"]["schemas"].values():
        Draft202012Validator.check_schema(component)


def test_it_lists_every_path_of_the_api(schema: dict[str, Any]) -> None:
    views = [(address, view) for address, view in routes(get_resolver().url_patterns) if view]
    served = {re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", address) for address, view in views if issubclass(view, APIView)}
    assert set(schema["paths"]) == served - NOT_DESCRIBED
    assert {"/api/v1/search", "/api/v1/search/skills", "/api/v1/search/tools", "/health", "/ready"} <= served


def test_every_operation_has_a_name_of_its_own_and_says_how_it_fails(schema: dict[str, Any]) -> None:
    operations = [(address, op) for address, methods in schema["paths"].items() for op in methods.values()]
    names = [operation["operationId"] for _, operation in operations]
    assert len(names) == len(set(names))
    for address, operation in operations:
        if address.startswith("/api/"):
            assert {"422", "503"} <= set(operation["responses"])
            assert any(status.startswith("2") for status in operation["responses"])
            assert operation["summary"]


def test_a_query_with_a_nul_or_without_a_letter_is_not_valid(schema: dict[str, Any]) -> None:
    body = schema["components"]["schemas"]["SearchInput"]
    accepts = Draft202012Validator(body).is_valid
    assert accepts({"query": "schedule a meeting"})
    assert not any(accepts({"query": query}) for query in ("", " ", "\n", "\0", "a\0b", "\0a", "a\0", "x" * 1001))
    assert not accepts({"query": "schedule a meeting", "limt": 5})


def test_it_comes_as_yaml_too() -> None:
    response = Client().get("/api/schema")
    assert response.status_code == 200
    assert response.text.startswith("openapi: 3.1.")


def test_the_docs_need_no_other_host() -> None:
    page = Client().get("/api/docs")
    assert page.status_code == 200
    assert page.headers["Content-Type"].startswith("text/html")
    assert "/api/schema" in page.text
    addresses = re.findall(r"""(?:src|href)=["']([^"']+)["']|url\(["']?([^"')]+)""", page.text)
    files = {first or second for first, second in addresses} - {""}
    assert len(files) >= 3
    assert all(name.startswith(("/static/", "data:")) for name in files), files
    assert not re.search(r"""["'(](?:https?:)?//""", page.text)
    for name in files:
        if name.startswith("/static/"):
            file = Client().get(name)
            assert file.status_code == 200, name
            file.close()


STATEFUL = "^/api/v1/(knowledge|import)|^/search_knowledge|^/tools"
"""What is valid there is more than a schema can say: a PDF must be one, and a query may come in either place."""
CURATED = "/v1/(skills|tools)"


def schemathesis(url: str, folder: Path, *options: str, checks: str = "--checks=all", examples: int = 8) -> str:
    """Valid and invalid requests that it makes up from the description. What it says, if it found nothing."""
    command = [sys.executable, "-m", "schemathesis.cli", "run", f"{url}/api/schema", checks, *options]
    _, key = key_create(name="schemathesis", is_admin=True)
    effort = [f"--max-examples={examples}", "--continue-on-failure", f"--header=X-API-Key: {key}"]
    same_each_time = ["--seed=20", "--generation-database=none"]
    run = subprocess.run(
        [*command, *effort, *same_each_time, "--request-timeout=15", "--no-color"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


@pytest.mark.usefixtures("world")
def test_schemathesis_finds_nothing(live_server: LiveServer, tmp_path: Path, settings: Any) -> None:
    settings.PLANS = plans_from('{"public": {"searches_per_minute": 0, "max_top_k": 1000}}')
    rest = "--exclude-checks=ignored_auth"
    # Every corner of nested filters takes a minute to make up; what filters mean is tested against an evaluator.
    deep = "^/search$"
    schemathesis(live_server.url, tmp_path, f"--include-path-regex={deep}", "--phases=examples,fuzzing", rest)
    others = f"--exclude-path-regex={STATEFUL}|{CURATED}|{deep}"
    said = schemathesis(live_server.url, tmp_path, others, "--phases=examples,coverage,fuzzing", rest)
    generated = re.search(r"(\d+) generated", said)
    assert generated
    assert int(generated[1]) > 300


@pytest.mark.usefixtures("world")
def test_nor_among_the_endpoints_about_skills(live_server: LiveServer, tmp_path: Path) -> None:
    """Fewer examples each: there are many endpoints. That a skill exists, or is named once, no schema can say."""
    light = ["--phases=examples,fuzzing", "--exclude-checks=positive_data_acceptance,ignored_auth"]
    schemathesis(live_server.url, tmp_path, f"--include-path-regex={CURATED}", *light, examples=3)


@pytest.mark.usefixtures("world")
def test_schemathesis_finds_nothing_where_more_than_the_schema_counts(
    live_server: LiveServer, tmp_path: Path, settings: Any
) -> None:
    settings.PLANS = plans_from('{"public": {"searches_per_minute": 0}}')
    checks = "--checks=not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"
    phases = "--phases=examples,fuzzing"
    schemathesis(live_server.url, tmp_path, f"--include-path-regex={STATEFUL}", phases, checks=checks, examples=6)
