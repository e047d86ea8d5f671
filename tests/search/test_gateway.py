"""The gateway's search: confidence, reasons, typing errors, capabilities, and answers while a side is missing."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from django.db import connection
from pytest_django import Settings

from search.ranking import Evidence, gateway_parts
from search.reasons import reason
from skills.models import Capability, Skill
from skills.services.capabilities import capability_delete, capability_save
from skills.services.curation import skill_set_active
from skills.services.starter import demo_catalog_create, starter_skills_create
from tenants.models import Tenant
from tests.conftest import Api
from tests.openai_server import EmbeddingServer, embedding_server
from tests.world import Entry, make_skill, make_tools, make_world
from tools_catalog.models import EmbeddingSpace, Tool
from tools_catalog.services.catalog import tool_set_active
from tools_catalog.services.reindex import index_refresh
from tools_catalog.types import ToolHit

SHELL = Entry("run_command", "Run a command line in a shell on this machine.", ("shell_execution",), server="gamma")


def ask(api: Api, query: str, expect: int = 200, **params: Any) -> Any:
    response = api.http.get("/search", params={"q": query, **params})
    assert response.status_code == expect, response.text
    return response.json()


def found(answer: Any) -> list[str]:
    return [hit["toolName"] for hit in answer["results"]]


def replace_weight(relation: Capability, weight: float) -> Capability:
    relation.weight = weight
    return relation


@pytest.mark.parametrize(
    ("name", "written"), [("File operations", "file operations"), ("SQL", "SQL"), ("NoSQL stores", "NoSQL stores")]
)
def test_reasons_write_a_skill_as_inside_a_sentence(name: str, written: str) -> None:
    evidence = Evidence(semantic=0.9)
    tool = ToolHit(1, "tool", "get", "store", "", 0.9, ["skill"], "skill")
    said = reason(evidence, gateway_parts(evidence, 0.7), 0.7, tool, {"skill": name})
    assert said == f"Semantic similarity ({written})"


@pytest.fixture
def broken_model(settings: Settings, transactional_db: None) -> Iterator[EmbeddingServer]:
    """The world, embedded by a service that answers, until a test breaks it."""
    with embedding_server() as server:
        settings.EMBEDDING_OPTIONS = replace(
            settings.EMBEDDING_OPTIONS, openai_base_url=server.url, openai_api_key="secret", timeout=2
        )
        settings.SEARCH_TIMEOUTS = {**settings.SEARCH_TIMEOUTS, "embedding": 2.0}
        settings.TOOLSCRIPT_EMBEDDING_MODEL = "openai:words"
        make_world()
        yield server


@pytest.mark.usefixtures("world")
class TestAnswers:
    def test_the_answer_has_the_fields_of_the_contract(self, api: Api) -> None:
        answer = ask(api, "read a file from disk", limit=2)
        assert answer["query"] == "read a file from disk"
        assert answer["threshold"] == 0.35
        assert answer["totalResults"] == len(answer["results"]) <= 2
        assert answer["degraded"] is False
        best = answer["results"][0]
        assert best == {
            "toolId": "alpha__read_file",
            "serverName": "alpha",
            "toolName": "read_file",
            "confidence": best["confidence"],
            "reason": best["reason"],
            "description": "Read the contents of a file from disk.",
        }
        assert best["reason"].startswith("Semantic similarity (file Operations)")

    def test_best_first_above_the_threshold_and_three_at_most(self, api: Api) -> None:
        hits = ask(api, "create a calendar event", threshold=0)["results"]
        assert len(hits) == 3
        confidences = [hit["confidence"] for hit in ask(api, "calendar event", limit=50, threshold=0.2)["results"]]
        assert confidences == sorted(confidences, reverse=True)
        assert all(0.2 <= c <= 1 for c in confidences)

    def test_nothing_above_the_threshold_is_an_empty_list(self, api: Api) -> None:
        answer = ask(api, "xylophone quux", threshold=0.99)
        assert answer["results"] == []
        assert answer["totalResults"] == 0

    def test_prompts_and_resources_are_no_tools(self, api: Api) -> None:
        assert "plan_week" not in found(ask(api, "plan week", limit=50, threshold=0))
        assert found(ask(api, "plan week", item_type="prompt")) == ["plan_week"]

    @pytest.mark.parametrize("query", ["read_file", "read file", "readFile", "alpha__read_file"])
    def test_a_name_comes_first(self, api: Api, query: str) -> None:
        best = ask(api, query)["results"][0]
        assert best["toolName"] == "read_file"
        assert best["reason"] == "Exact name"

    def test_typo_tolerant_keyword_search(self, api: Api) -> None:
        best = ask(api, "read_fil")["results"][0]
        assert best["toolName"] == "read_file"
        assert best["reason"].startswith("Fuzzy match")
        assert best["confidence"] < ask(api, "read_file")["results"][0]["confidence"]

    def test_alpha_weighs_meaning_against_keywords(self, api: Api) -> None:
        for alpha in (0.0, 0.3, 1.0):
            for hit in ask(api, "show changed files", limit=50, threshold=0, alpha=alpha, explain=True)["results"]:
                parts = {part["part"]: part["value"] for part in hit["explain"]["parts"]}
                expected = alpha * hit["explain"]["semantic"] + (1 - alpha) * hit["explain"]["fuzzy"]
                assert parts["mixed"] == pytest.approx(expected, abs=2e-4)

    def test_the_settings_are_the_defaults(self, api: Api, settings: Settings) -> None:
        from search.services import gateway_search

        settings.SEARCH_LIMIT, settings.SEARCH_THRESHOLD, settings.SEARCH_ALPHA = 2, 0.1, 0.8
        result = gateway_search("create a calendar event")
        assert (len(result.hits), result.threshold, result.alpha) == (2, 0.1, 0.8)

    @pytest.mark.parametrize(
        "params", [{"limit": 0}, {"limit": 51}, {"threshold": 2}, {"alpha": -1}, {"explain": "maybe"}, {"page": 1}]
    )
    def test_bad_parameters_are_refused(self, api: Api, params: dict[str, Any]) -> None:
        assert ask(api, "file", expect=422, **params)["error"]["code"] == "VALIDATION_ERROR"

    def test_a_blank_query_is_refused(self, api: Api) -> None:
        assert api.http.get("/search", params={"q": " "}).status_code == 422
        assert api.http.get("/search").status_code == 422

    def test_a_tool_without_a_vector_is_found_by_its_words(self, api: Api) -> None:
        make_tools(Entry("frobnicate_widget", "Frobnicates.", (), server="new"))
        assert found(ask(api, "frobnicate_widget"))[0] == "frobnicate_widget"

    def test_what_is_switched_off_is_not_found(self, api: Api, world: dict[str, Tool]) -> None:
        tool_set_active(world["read_file"], active=False)
        assert "read_file" not in found(ask(api, "read_file", limit=50, threshold=0))

    def test_other_tenants_tools_are_not_found(self, api: Api) -> None:
        make_tools(Entry("secret_tool", "Keep a secret.", (), server="s"), tenant=Tenant.objects.create(name="Them"))
        index_refresh()
        assert "secret_tool" not in found(ask(api, "secret_tool", limit=50, threshold=0))


@pytest.mark.usefixtures("world")
class TestCapabilities:
    def make(self) -> Capability:
        make_skill("shell_execution", "Run commands in a shell or terminal, and look after processes.")
        make_tools(SHELL)
        index_refresh()
        return capability_save(Capability(provider_id="shell_execution", need_id="version_control", weight=0.8))

    def confidence(self, api: Api) -> tuple[float, str]:
        hits = ask(api, "commit my changes to git", limit=50, threshold=0)["results"]
        return next((h["confidence"], h["reason"]) for h in hits if h["toolName"] == "run_command")

    def test_semantic_intent_matching(self, api: Api) -> None:
        relation = self.make()
        raised, reason = self.confidence(api)
        assert reason == "Capability inference (shell Execution → version Control)"
        capability_delete(relation)
        plain, other = self.confidence(api)
        assert raised > plain + 0.1
        assert "Capability" not in other

    def test_of_a_serving_skill_what_is_most_like_the_skill_counts_and_not_what_is_like_the_query(
        self, api: Api
    ) -> None:
        self.make()
        lists = "List the branches and commits of git processes: which repository each process has open."
        make_tools(Entry("list_processes", lists, ("shell_execution",), server="gamma"))
        index_refresh()
        hits = {
            h["toolName"]: h for h in ask(api, "list the branches of a repository", limit=50, threshold=0)["results"]
        }
        assert "Capability" in hits["run_command"]["reason"]
        assert "Capability" not in hits["list_processes"]["reason"]

    def test_a_skill_that_is_off_serves_nobody(self, api: Api) -> None:
        self.make()
        skill_set_active(Skill.objects.get(pk="shell_execution"), active=False)
        assert "Capability" not in self.confidence(api)[1]

    def test_tools_of_the_need_itself_stay_ahead(self, api: Api) -> None:
        self.make()
        assert found(ask(api, "commit my changes to git"))[0] == "commit_changes"

    @pytest.mark.parametrize("query", ["git", "what happened in the repository", "put my work under a branch"])
    def test_what_is_inferred_is_never_ahead_of_the_best_that_is_filed(self, api: Api, query: str) -> None:
        capability_save(replace_weight(self.make(), 1.0))
        hits = {hit["toolName"]: hit for hit in ask(api, query, limit=50, threshold=0)["results"]}
        assert "Capability" in hits["run_command"]["reason"]
        filed = max(hits[name]["confidence"] for name in ("commit_changes", "create_branch", "show_diff"))
        assert hits["run_command"]["confidence"] <= filed


@pytest.mark.django_db(transaction=True)
class TestDegraded:
    def test_a_broken_model_leaves_keywords(self, api: Api, broken_model: EmbeddingServer) -> None:
        for mode in ("fail", "garbage", "hang", "short", "zero"):
            broken_model.mode = mode
            answer = ask(api, "read the contents of a file")
            assert answer["degraded"] is True, mode
            assert found(answer)[0] == "read_file"
            assert all(hit["reason"].startswith("Fuzzy match") for hit in answer["results"])

    def test_no_model_at_all_leaves_keywords(self, api: Api) -> None:
        make_tools(Entry("read_file", "Read the contents of a file.", ()), Entry("ls", "List a folder.", ()))
        assert not EmbeddingSpace.objects.exists()
        answer = ask(api, "raed_file")
        assert answer["degraded"] is True
        assert found(answer) == ["read_file"]

    def test_503_until_there_is_anything_to_search(self, api: Api) -> None:
        error = ask(api, "read a file", expect=503)["error"]
        assert error["code"] == "NOT_READY"
        assert "not ready" in error["message"]

    def test_an_empty_catalogue_with_an_index_finds_nothing(self, api: Api) -> None:
        index_refresh()
        assert ask(api, "read a file")["results"] == []

    def test_without_the_keyword_index_meaning_remains(self, api: Api, settings: Settings) -> None:
        make_world()
        settings.SEARCH_TIMEOUTS = {**settings.SEARCH_TIMEOUTS, "lexical": 0.05}
        with connection.cursor() as cursor:
            cursor.execute("ALTER TABLE search_catalogversion RENAME TO away")
            try:
                answer = ask(api, "read a file from disk")
                hybrid = api.search("read a file from disk", strategy="hybrid")
            finally:
                cursor.execute("ALTER TABLE away RENAME TO search_catalogversion")
        assert answer["degraded"] is True
        assert found(answer)[0] == "read_file"
        assert hybrid["metadata"]["degraded"] == "lexical"
        assert hybrid["tools"][0]["name"] == "read_file"


@pytest.mark.django_db(transaction=True)
def test_the_demo_catalogue_survives_typing_errors(api: Api) -> None:
    """With one and two errors, nineteen of twenty come first; a correct name always does."""
    from benchmarks.typos import misspelt

    starter_skills_create()
    demo_catalog_create()
    names = sorted(Tool.objects.filter(type="tool").values_list("name", flat=True))
    cases = list(misspelt(names, 40, 3, 5))
    right = sum(found(ask(api, typed, limit=1))[:1] == [meant] for meant, typed, _ in cases)
    assert right >= 38
    assert all(found(ask(api, name, limit=1)) == [name] for name in names[::4])
    assert Capability.objects.count() >= 10
