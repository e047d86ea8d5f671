"""Seed 001, the requirements Hybrid Search Engine, Gateway Search Endpoint and Advanced Configuration (alpha)."""

import json
from typing import Any

import pytest

from tests.cli.terminal import invoked
from tests.conftest import Api
from tests.seeds.world_001 import make_world_001
from tools_catalog.models import EmbeddingSpace


def search(api: Api, q: str, expect: int = 200, **params: Any) -> Any:
    answer = api.http.get("/search", params={"q": q, **params})
    assert answer.status_code == expect, answer.text
    return answer.json()


def ids(found: Any) -> list[str]:
    return [hit["toolId"] for hit in found["results"]]


@pytest.fixture
def seed_world(transactional_db: None) -> None:
    make_world_001()


@pytest.mark.usefixtures("seed_world")
class TestHybridSearchEngine:
    def test_natural_language_tool_discovery(self, api: Api) -> None:
        found = search(api, "find files containing specific text")
        assert ids(found)[0] == "desktop-commander__search_code"
        assert all(hit["confidence"] > 0 and hit["reason"] for hit in found["results"])
        confidences = [hit["confidence"] for hit in found["results"]]
        assert confidences == sorted(confidences, reverse=True)

    def test_typo_tolerant_keyword_search(self, api: Api) -> None:
        [typo] = search(api, "read_fil", limit=1)["results"]
        [exact] = search(api, "read_file", limit=1)["results"]
        assert typo["toolName"] == exact["toolName"] == "read_file"
        assert "uzzy match" in typo["reason"]
        assert typo["confidence"] < exact["confidence"]

    def test_semantic_intent_matching(self, api: Api) -> None:
        found = search(api, "commit my changes to git", threshold=0, limit=50)
        shell = next(hit for hit in found["results"] if hit["toolName"] == "execute_command")
        assert ids(found)[0] == "desktop-commander__execute_command"
        assert shell["reason"].startswith("Capability inference")
        assert "ersion Control" in shell["reason"] or "ersion control" in shell["reason"]


@pytest.mark.usefixtures("seed_world")
class TestGatewaySearchEndpoint:
    def test_search_endpoint_invocation(self, api: Api) -> None:
        found = search(api, "find files", limit=5)
        assert (found["query"], found["threshold"]) == ("find files", 0.35)
        assert found["totalResults"] == len(found["results"]) <= 5
        assert {"toolId", "serverName", "toolName", "confidence", "reason", "description"} <= set(found["results"][0])
        hit = next(hit for hit in found["results"] if hit["toolName"] == "search_files")
        assert hit["toolId"] == "desktop-commander__search_files"
        assert hit["serverName"] == "desktop-commander"
        assert hit["description"] == "Search for files by name pattern"


@pytest.mark.django_db(transaction=True)
def test_search_endpoint_error_handling(api: Api) -> None:
    assert not EmbeddingSpace.objects.exists()
    error = search(api, "find files", expect=503)["error"]
    assert error["code"] == "NOT_READY"
    assert "not ready" in error["message"]


QUERY = "show me the content of files on disk"


def explained(api: Api, **params: Any) -> tuple[float, float, float]:
    """Of one tool: the two sides, and what they are mixed to."""
    found = search(api, QUERY, threshold=0, limit=50, explain="true", **params)
    [hit] = [hit for hit in found["results"] if hit["toolId"] == "desktop-commander__read_file"]
    [mixed] = [part["value"] for part in hit["explain"]["parts"] if part["part"] == "mixed"]
    return hit["explain"]["semantic"], hit["explain"]["fuzzy"], mixed


@pytest.mark.usefixtures("seed_world")
class TestAdvancedConfiguration:
    def test_configure_semantic_weight_alpha_via_environment(self, api: Api) -> None:
        semantic, fuzzy, mixed = explained(api, alpha=0.8)
        assert semantic != fuzzy
        assert mixed == pytest.approx(0.8 * semantic + 0.2 * fuzzy, abs=2e-4)
        env = {"TOOLSCRIPT_GATEWAY_URL": str(api.http.base_url), "TOOLSCRIPT_SEARCH_ALPHA": "0.8"}
        done = invoked("search", QUERY, "--output", "json", env=env)
        assert json.loads(done.stdout) == search(api, QUERY, alpha=0.8)
        assert json.loads(done.stdout) != search(api, QUERY)

    def test_default_alpha_value(self, api: Api) -> None:
        semantic, fuzzy, mixed = explained(api)
        assert mixed == pytest.approx(0.7 * semantic + 0.3 * fuzzy, abs=2e-4)
