"""`POST /search_knowledge`, by acceptance criterion of its story."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx2
import pytest
from django.db import IntegrityError, transaction
from structlog.testing import capture_logs

from knowledge.models import Chunk, KnowledgeVector, Source
from knowledge.services.extractions import extraction_create
from knowledge.services.ingest import sources_embed
from tenants.models import Tenant
from tenants.plans import plans_from
from tests.knowledge.conftest import Documents
from tests.knowledge.library import add
from tools_catalog.models import EmbeddingSpace


@pytest.fixture(scope="module")
def learned(library: dict[str, Source]) -> None:
    chunk = Chunk.objects.get(source=library["backups.html"], section="", chapter="Restoring")
    warning = {"statement": "Never trust a backup that nobody restored", "reason": "it may be empty"}
    extraction_create(chunk, type="warning", content=warning, topics=["risk"])
    chunk = Chunk.objects.get(source=library["bread.md"], chapter="Baking")
    extraction_create(chunk, type="pattern", content={"statement": "Steam first, then dry heat"}, topics=["ovens"])
    sources_embed(None)


@contextmanager
def another_fingerprint() -> Iterator[None]:
    """As if the model's files had changed: it cannot embed for this index any more."""
    space = EmbeddingSpace.objects.get()
    EmbeddingSpace.objects.update(fingerprint="changed")
    yield
    EmbeddingSpace.objects.update(fingerprint=space.fingerprint)


@pytest.mark.django_db
def test_an_index_row_is_of_one_thing() -> None:
    """The database holds the rules, whoever writes."""
    space = EmbeddingSpace.objects.create(model="m", fingerprint="f", dim=2)
    for values in ({"type": "chunk"}, {"type": "warning"}):
        with pytest.raises(IntegrityError), transaction.atomic():
            KnowledgeVector.objects.create(space=space, source_id=1, key="k", vector=[1, 0], **values)


class TestAC1SimilarChunksAndExtractions:
    @pytest.mark.usefixtures("learned")
    def test_both_come_back_merged(self, documents: Documents) -> None:
        results = documents.knowledge("a backup that nobody restored", limit=2)["results"]
        assert {result["type"] for result in results} == {"chunk", "extraction"}
        assert all("backup" in result["content"].lower() for result in results)

    def test_by_meaning_not_by_words(self, documents: Documents) -> None:
        [best] = documents.knowledge("knots for making a ship fast", limit=1)["results"]
        assert best["content"].startswith("Tie the boat")

    @pytest.mark.usefixtures("learned")
    def test_an_extraction_says_what_it_is(self, documents: Documents) -> None:
        [best] = documents.knowledge("is an untested backup safe", limit=1, type="extraction")["results"]
        assert best["content"] == "Warning: Never trust a backup that nobody restored. Reason: it may be empty."


class TestAC2RankedByScore:
    @pytest.mark.usefixtures("learned")
    def test_scores_fall_and_stay_between_0_and_1(self, documents: Documents) -> None:
        scores = [result["score"] for result in documents.knowledge("baking bread with steam", limit=100)["results"]]
        assert scores == sorted(scores, reverse=True)
        assert len(scores) > 3
        assert all(0 <= score <= 1 for score in scores)

    def test_limit_is_kept_and_ten_is_the_default(self, documents: Documents) -> None:
        for number in range(12):
            add(f"extra{number}.txt", f"High tide on day {number} is at noon.", "text")
        sources_embed(None)
        assert len(documents.knowledge("high tide")["results"]) == 10
        assert len(documents.knowledge("high tide", limit=2)["results"]) == 2
        Source.objects.filter(path__startswith="extra").delete()


class TestAC3Attribution:
    def test_of_a_chunk(self, documents: Documents, library: dict[str, Source]) -> None:
        [best] = documents.knowledge("how often do high and low tide alternate", limit=1)["results"]
        source = library["harbour.md"]
        chunk = Chunk.objects.get(source=source, section="Reading the tide table")
        assert best["id"] == str(chunk.pk)
        assert best["source"] == {
            "source_id": str(source.pk),
            "chunk_id": str(chunk.pk),
            "title": "Harbour handbook",
            "authors": ["Ines Quill", "Tomas Reed"],
            "position": {"chapter": "Tides", "section": "Reading the tide table", "page": None},
        }

    @pytest.mark.usefixtures("learned")
    def test_of_an_extraction_it_is_that_of_its_chunk(self, documents: Documents) -> None:
        [best] = documents.knowledge("dry heat after steam", limit=1, type="pattern")["results"]
        chunk = Chunk.objects.get(content__startswith="Bake the loaf")
        assert best["source"]["chunk_id"] == str(chunk.pk)
        assert best["source"]["position"] == {"chapter": "Baking", "section": "", "page": None}


class TestAC4Format:
    @pytest.mark.usefixtures("learned")
    def test_results_and_metadata_and_nothing_else(self, documents: Documents) -> None:
        answer = documents.knowledge("  can I trust my backup  ")
        assert set(answer) == {"results", "metadata"}
        for result in answer["results"]:
            assert set(result) == {"id", "score", "type", "content", "source"}
            assert isinstance(result["id"], str)
        cited = [result["source"]["source_id"] for result in answer["results"]]
        assert answer["metadata"] == {
            "query": "can I trust my backup",
            "sources_cited": list(dict.fromkeys(cited)),
            "result_count": len(answer["results"]),
            "search_type": "semantic",
        }

    def test_no_match_is_an_empty_list(self, documents: Documents) -> None:
        answer = documents.knowledge("tide", topics="nothing has this topic")
        assert answer["results"] == []
        assert answer["metadata"]["sources_cited"] == []

    def test_query_parameters_work_too(self, documents: Documents) -> None:
        response = documents.http.post("/search_knowledge", params={"query": "high tide", "limit": "1"})
        assert response.json() == documents.knowledge("high tide", limit=1)

    def test_parameters_fill_in_what_the_body_leaves_out(self, documents: Documents) -> None:
        response = documents.http.post("/search_knowledge?limit=1&topics=tides", json={"query": "tide", "limit": 2})
        assert len(response.json()["results"]) == 2

    @pytest.mark.parametrize("body", [{}, {"limit": 1}])
    def test_the_query_may_stand_in_the_address(self, documents: Documents, body: dict[str, int]) -> None:
        response = documents.http.post("/search_knowledge?query=high tide&topics=tides", json=body)
        assert response.json() == documents.knowledge("high tide", topics=["tides"], **body)

    @pytest.mark.parametrize(
        ("fields", "named"),
        [
            ({"query": ""}, "query"),
            ({"query": " \n"}, "query"),
            ({"query": "x" * 1001}, "query"),
            ({"query": 5}, "query"),
            ({"query": "a\0b"}, "query"),
            ({"query": "tide", "limit": 0}, "limit"),
            ({"query": "tide", "limit": 101}, "limit"),
            ({"query": "tide", "limit": "5"}, "limit"),
            ({"query": "tide", "type": 3}, "type"),
            ({"query": "tide", "topics": [""]}, "topics"),
            ({"query": "tide", "topics": ["x"] * 21}, "topics"),
            ({"query": "tide", "topic": "x"}, "topic"),
            ({}, "query"),
        ],
    )
    def test_bad_input_is_a_422_that_names_the_field(self, documents: Documents, fields: Any, named: str) -> None:
        response = documents.http.post("/search_knowledge", json=fields)
        assert response.status_code == 422
        assert named in response.json()["error"]["details"]["fields"]

    def test_bad_parameters_are_refused_as_well(self, documents: Documents) -> None:
        for params in ({}, {"query": ""}, {"query": "x", "limit": "1_0"}, {"query": "x", "q": "y"}):
            response = documents.http.post("/search_knowledge", params=params)
            assert (response.status_code, response.json()["error"]["code"]) == (422, "VALIDATION_ERROR")


class TestFilters:
    pytestmark = pytest.mark.usefixtures("learned")

    @pytest.mark.parametrize(
        ("kind", "expected"),
        [
            ("chunk", {"chunk"}),
            ("extraction", {"extraction"}),
            ("warning", {"extraction"}),
            (["chunk", "pattern"], {"chunk", "extraction"}),
            ("haiku", set()),
        ],
    )
    def test_by_type(self, documents: Documents, kind: Any, expected: set[str]) -> None:
        found = documents.knowledge("backup and bread", type=kind, limit=100)["results"]
        assert {result["type"] for result in found} == expected

    def test_by_topic_of_the_document_or_the_extraction(self, documents: Documents) -> None:
        found = documents.knowledge("anything", topics=["tides", "risk"], limit=100)["results"]
        assert {result["source"]["title"] for result in found} <= {"Harbour handbook", "Backups that work"}
        risky = documents.knowledge("restored backup", topics="risk")["results"]
        assert [result["type"] for result in risky] == ["extraction"]

    def test_in_query_parameters_as_lists_with_commas(self, documents: Documents) -> None:
        params = {"query": "backup", "type": "warning,pattern", "topics": "risk,ovens"}
        response = documents.http.post("/search_knowledge", params=params)
        assert {result["type"] for result in response.json()["results"]} == {"extraction"}


class TestAC5PublicTier:
    def test_nobody_has_to_say_who_they_are(self, documents: Documents) -> None:
        assert documents.knowledge("tide")["results"]

    def test_what_belongs_to_a_tenant_is_not_public(self, documents: Documents) -> None:
        tenant = Tenant.objects.create(slug="north", name="North")
        add("secret.md", "# Vault\n\nThe combination of the vault is under the lighthouse.", tenant=tenant)
        sources_embed(None)
        found = documents.knowledge("combination of the vault", limit=100)["results"]
        assert not [result for result in found if "vault" in result["content"]]
        assert "vault" in Chunk.objects.get(source__tenant=tenant).content
        tenant.delete()

    def test_too_many_requests_are_refused_with_the_time_to_wait(self, documents: Documents, settings: Any) -> None:
        settings.PLANS = plans_from('{"public": {"searches_per_minute": 2}}')
        answers = [documents.http.post("/search_knowledge", json={"query": "tide"}) for _ in range(4)]
        assert [answer.status_code for answer in answers][:2] == [200, 200]
        refused = answers[-1]
        assert refused.status_code == 429
        error = refused.json()["error"]
        assert error["code"] == "RATE_LIMITED"
        assert error["details"]["limit"] == 2
        assert int(refused.headers["Retry-After"]) == error["details"]["retry_after_s"] >= 1

    def test_both_searches_share_one_count(self, documents: Documents, settings: Any) -> None:
        settings.PLANS = plans_from('{"public": {"searches_per_minute": 1}}')
        documents.knowledge("tide")
        documents.search("tide", expect=429)


class TestAC6LogsAndLatency:
    def test_every_search_is_logged_with_query_count_and_latency(self, documents: Documents) -> None:
        with capture_logs() as logs:
            answer = documents.knowledge("high tide", limit=2)
        [event] = [entry for entry in logs if entry["event"] == "knowledge.searched"]
        assert event["query"] == "high tide"
        assert event["result_count"] == len(answer["results"]) == 2
        assert 0 < event["latency_ms"] < 60_000

    def test_it_takes_two_statements_whatever_is_found(self, documents: Documents, monkeypatch: Any) -> None:
        """What keeps it fast: the live space, and one statement that ranks and reads."""
        from core import db

        statements: list[str] = []
        fetch = db.fetch

        def counted(sql: Any, *args: Any, **named: Any) -> list[db.Row]:
            statements.append(sql)
            return fetch(sql, *args, **named)

        monkeypatch.setattr(db, "fetch", counted)
        documents.knowledge("high tide", limit=50)
        assert len([sql for sql in statements if "tenants_ratewindow" not in sql]) == 2


class TestWhenTheModelIsAway:
    def test_words_stand_in_and_the_answer_says_so(self, documents: Documents) -> None:
        with another_fingerprint():
            answer = documents.knowledge("tide table")
        assert answer["metadata"]["search_type"] == "keyword"
        assert answer["metadata"]["degraded"] == "embedding"
        assert answer["results"][0]["source"]["position"]["section"] == "Reading the tide table"

    def test_no_index_is_a_503(self, documents: Documents) -> None:
        EmbeddingSpace.objects.update(is_live=False)
        response: httpx2.Response = documents.http.post("/search_knowledge", json={"query": "tide"})
        EmbeddingSpace.objects.update(is_live=True)
        assert (response.status_code, response.json()["error"]["code"]) == (503, "NOT_READY")
