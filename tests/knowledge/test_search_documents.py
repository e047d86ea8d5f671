"""`POST /search` and `GET /search/health`, by responsibility of the contract."""

import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from structlog.testing import capture_logs

from knowledge.models import Chunk, Source
from knowledge.services.ingest import sources_embed
from tenants.models import Tenant
from tenants.plans import plans_from
from tests.knowledge.conftest import Documents
from tests.knowledge.library import add
from tests.knowledge.test_search_knowledge import another_fingerprint
from tools_catalog.models import EmbeddingSpace


def titles(answer: Any) -> list[str]:
    return [hit["metadata"]["title"] for hit in answer["hits"]]


@pytest.mark.django_db
def test_a_document_has_a_title_and_one_path_a_tenant() -> None:
    Source.objects.create(path="a", title="A", format="text", content_hash="x")
    for values in ({"path": "a", "title": "B"}, {"path": "b", "title": ""}, {"path": "c", "title": "C", "type": "No"}):
        with pytest.raises(IntegrityError), transaction.atomic():
            Source.objects.create(format="text", content_hash="x", **values)


class TestAnswer:
    def test_it_has_the_shape_of_the_contract(self, documents: Documents, library: dict[str, Source]) -> None:
        answer = documents.search("tide", metadata_fields=["title", "path", "tags"])
        assert set(answer) == {"query_id", "took_ms", "total", "hits"}
        uuid.UUID(answer["query_id"])
        assert answer["took_ms"] > 0
        hit = answer["hits"][0]
        assert set(hit) == {"doc_id", "score", "metadata", "snippet"}
        assert hit["doc_id"] == str(library["harbour.md"].pk)
        assert hit["metadata"] == {"title": "Harbour handbook", "path": "harbour.md", "tags": ["harbour", "tides"]}
        assert 0 < hit["score"] <= 1

    def test_each_query_has_an_id_of_its_own_that_is_in_the_log(self, documents: Documents) -> None:
        with capture_logs() as logs:
            first, second = documents.search("tide"), documents.search("tide")
        assert first["query_id"] != second["query_id"]
        events = [entry for entry in logs if entry["event"] == "documents.searched"]
        assert [event["query_id"] for event in events] == [first["query_id"], second["query_id"]]
        assert {"query", "search_type", "result_count", "total", "latency_ms"} <= set(events[0])

    def test_a_document_comes_once_however_many_of_its_passages_match(self, documents: Documents) -> None:
        found = [hit["doc_id"] for hit in documents.search("tide water harbour")["hits"]]
        assert len(found) == len(set(found))


class TestSearchTypes:
    def test_semantic_ranks_every_document_by_meaning(self, documents: Documents) -> None:
        answer = documents.search("making dough rise", search_type="semantic")
        assert titles(answer)[0] == "Bread at home"
        assert answer["total"] == 4
        scores = [hit["score"] for hit in answer["hits"]]
        assert scores == sorted(scores, reverse=True)

    def test_keyword_finds_only_what_holds_a_word_whatever_its_ending(self, documents: Documents) -> None:
        answer = documents.search("restoring databases", search_type="keyword")
        assert titles(answer) == ["Backups that work"]
        assert answer["total"] == 1
        assert documents.search("zeppelin", search_type="keyword")["hits"] == []

    def test_keyword_needs_no_model(self, documents: Documents) -> None:
        with another_fingerprint():
            assert titles(documents.search("sourdough", search_type="keyword")) == ["Bread at home"]

    def test_a_rare_word_weighs_more_than_a_common_one(self, documents: Documents) -> None:
        for number in range(5):
            add(f"filler{number}.txt", f"The office has a budget, number {number}.", "text")
        add("rare.txt", "A zeppelin over the office.", "text")
        found = titles(documents.search("budget zeppelin", search_type="keyword"))
        Source.objects.filter(path__startswith="filler").delete()
        Source.objects.filter(path="rare.txt").delete()
        assert found[0] == "rare"

    @pytest.mark.parametrize("fusion", [None, "rrf", "zscore"])
    def test_hybrid_puts_both_together(self, documents: Documents, fusion: str | None) -> None:
        answer = documents.search("sourdough starter", search_type="hybrid", fusion=fusion)
        assert titles(answer)[0] == "Bread at home"
        assert answer["total"] == 4
        scores = [hit["score"] for hit in answer["hits"]]
        assert scores == sorted(scores, reverse=True)
        assert all(0 <= score <= 1 for score in scores)

    def test_the_two_fusions_are_two(self, documents: Documents) -> None:
        by_rank, by_score = (documents.search("tide table", fusion=fusion)["hits"] for fusion in ("rrf", "zscore"))
        assert [hit["score"] for hit in by_rank] != [hit["score"] for hit in by_score]

    def test_hybrid_goes_on_with_words_when_the_model_is_away(self, documents: Documents) -> None:
        with another_fingerprint():
            answer = documents.search("tide table")
            documents.search("tide table", search_type="semantic", expect=502)
        assert answer["degraded"] == "embedding"
        assert titles(answer) == ["Harbour handbook"]


@pytest.fixture(scope="class")
def many(library: dict[str, Source]) -> Iterator[None]:
    for number in range(30):
        add(f"many/{number}.txt", "The tide of paper in the office never ends.", "text", metadata={"n": number})
    sources_embed(None)
    yield
    Source.objects.filter(path__startswith="many/").delete()


class TestPaging:
    @pytest.mark.usefixtures("many")
    @pytest.mark.parametrize(
        "how",
        [
            {"search_type": "semantic"},
            {"search_type": "keyword"},
            {"search_type": "hybrid"},
            {"search_type": "hybrid", "fusion": "zscore"},
            {"rerank": "lexical"},
            {"search_type": "semantic", "rerank": "lexical"},
        ],
        ids=str,
    )
    def test_pages_are_cut_from_one_list_and_the_total_is_exact(self, documents: Documents, how: Any) -> None:
        whole = documents.search("tide of paper", top_k=50, **how)
        pages = [documents.search("tide of paper", top_k=7, offset=offset, **how) for offset in range(0, 42, 7)]
        assert {page["total"] for page in pages} == {whole["total"]} == {len(whole["hits"])}
        together = [hit["doc_id"] for page in pages for hit in page["hits"]]
        assert together == [hit["doc_id"] for hit in whole["hits"]]
        scores = [hit["score"] for hit in whole["hits"]]
        assert scores == sorted(scores, reverse=True)

    @pytest.mark.usefixtures("many")
    def test_a_filter_alone_pages_too(self, documents: Documents) -> None:
        wanted = {"must": [{"field": "n", "op": "gte", "value": 10}]}
        pages = [documents.search(filters=wanted, top_k=8, offset=offset) for offset in (0, 8, 16, 24)]
        assert [len(page["hits"]) for page in pages] == [8, 8, 4, 0]
        assert {page["total"] for page in pages} == {20}
        found = [hit["metadata"]["n"] for page in pages for hit in page["hits"]]
        assert sorted(found) == list(range(10, 30))

    def test_an_offset_past_the_end_still_knows_the_total(self, documents: Documents) -> None:
        answer = documents.search("tide", search_type="semantic", offset=1000)
        assert (answer["hits"], answer["total"]) == ([], Source.objects.count())


class TestFilters:
    def search(self, documents: Documents, clause: str, field: str, op: str, value: Any) -> list[str]:
        condition = {"field": field, "op": op, "value": value}
        return sorted(titles(documents.search(filters={clause: [condition]})))

    BACKUPS, BREAD, HARBOUR, NOTES = "Backups that work", "Bread at home", "Harbour handbook", "notes"

    @pytest.mark.parametrize(
        ("field", "op", "value", "expected"),
        [
            ("type", "eq", "book", [HARBOUR]),
            ("type", "ne", "book", [BACKUPS, BREAD, NOTES]),
            ("tags", "eq", "tides", [HARBOUR]),
            ("tags", "in", ["baking", "databases"], [BACKUPS, BREAD]),
            ("tags", "nin", ["baking", "databases"], [HARBOUR, NOTES]),
            ("year", "gt", 2019, [HARBOUR]),
            ("year", "gte", 2019, [BREAD, HARBOUR]),
            ("rating", "lt", 4.5, [BREAD]),
            ("rating", "lte", 4.5, [BREAD, HARBOUR]),
            ("year", "eq", "2021", []),
            ("draft", "eq", False, [HARBOUR]),
            ("draft", "exists", True, [HARBOUR]),
            ("draft", "exists", False, [BACKUPS, BREAD, NOTES]),
            ("title", "contains", "that", [BACKUPS]),
            ("authors", "contains", "Jon Vale", [BACKUPS]),
            ("authors", "contains", "Jon", []),
            ("ingested_at", "gt", "2020-01-01", [BACKUPS, BREAD, HARBOUR, NOTES]),
            ("no such field", "eq", 1, []),
        ],
    )
    def test_every_operator(self, documents: Documents, field: str, op: str, value: Any, expected: list[str]) -> None:
        assert self.search(documents, "must", field, op, value) == expected

    def test_the_three_clauses_together(self, documents: Documents) -> None:
        filters = {
            "must": [{"field": "format", "op": "in", "value": ["markdown", "html"]}],
            "should": [
                {"field": "year", "op": "gt", "value": 2000},
                {"field": "tags", "op": "eq", "value": "databases"},
            ],
            "must_not": [{"field": "title", "op": "contains", "value": "Bread"}],
        }
        assert sorted(titles(documents.search(filters=filters))) == [self.BACKUPS, self.HARBOUR]

    @pytest.mark.parametrize("how", ["semantic", "keyword", "hybrid"])
    def test_a_query_stays_inside_its_filters(self, documents: Documents, how: str) -> None:
        filters = {"must_not": [{"field": "type", "op": "eq", "value": "book"}]}
        answer = documents.search("tide water", search_type=how, filters=filters)
        assert self.HARBOUR not in titles(answer)
        assert answer["total"] == len(answer["hits"])

    @pytest.mark.parametrize("query", [None, "", "   "])
    def test_without_text_it_is_a_pure_filter_query(self, documents: Documents, query: str | None) -> None:
        answer = documents.search(query, filters={"must": [{"field": "type", "op": "eq", "value": "book"}]})
        assert titles(answer) == [self.HARBOUR]
        assert answer["hits"][0]["score"] == 1.0
        assert answer["hits"][0]["snippet"] == "Everything about the harbour."

    def test_without_anything_it_lists_all(self, documents: Documents) -> None:
        assert documents.http.post("/search").json()["total"] == documents.search()["total"] == Source.objects.count()


class TestSnippets:
    def test_it_shows_the_match(self, documents: Documents) -> None:
        words = " ".join(f"word{number}" for number in range(150))
        add("long.txt", f"{words} the hidden zeppelin flies {words}", "text")
        [hit] = documents.search("zeppelins", search_type="keyword", snippet_max_chars=60)["hits"]
        Source.objects.get(path="long.txt").delete()
        assert "hidden zeppelin flies" in hit["snippet"]
        assert len(hit["snippet"]) <= 60
        assert hit["snippet"].startswith("…")
        assert hit["snippet"].endswith("…")

    def test_it_can_be_left_out(self, documents: Documents) -> None:
        assert {hit["snippet"] for hit in documents.search("tide", include_snippets=False)["hits"]} == {None}


class TestMetadataFields:
    def test_all_by_default(self, documents: Documents) -> None:
        hit = documents.search("sourdough", search_type="keyword")["hits"][0]
        assert {"title", "path", "tags", "authors", "year", "rating", "format"} <= set(hit["metadata"])

    def test_exactly_those_that_were_asked_for(self, documents: Documents) -> None:
        fields = ["year", "section", "chapter", "page", "nothing"]
        hit = documents.search("tide table", search_type="keyword", metadata_fields=fields)["hits"][0]
        place = {"chapter": "Tides", "section": "Reading the tide table", "page": None}
        assert hit["metadata"] == {"year": 2021, **place, "nothing": None}

    def test_none_if_none_were_asked_for(self, documents: Documents) -> None:
        assert documents.search("tide", metadata_fields=[])["hits"][0]["metadata"] == {}


class TestPlans:
    def test_the_largest_top_k(self, documents: Documents, settings: Any) -> None:
        settings.PLANS = plans_from('{"public": {"max_top_k": 2}}')
        assert len(documents.search()["hits"]) == 2  # who asks for no number gets what the plan allows
        assert len(documents.search("tide", top_k=2)["hits"]) == 2
        error = documents.search("tide", top_k=3, expect=403)["error"]
        assert (error["code"], error["details"]) == ("FORBIDDEN", {"plan": "public", "max_top_k": 2})

    @pytest.mark.parametrize("how", ["filter", "show"])
    def test_the_fields(self, documents: Documents, settings: Any, how: str) -> None:
        settings.PLANS = plans_from('{"public": {"fields": ["title", "tags"]}}')
        assert set(documents.search("tide")["hits"][0]["metadata"]) == {"title", "tags"}
        condition = {"field": "year", "op": "gt", "value": 1}
        asked: dict[str, Any] = {"filters": {"must_not": [condition]}} if how == "filter" else {}
        error = documents.search("tide", expect=403, **(asked or {"metadata_fields": ["title", "year"]}))["error"]
        assert error["details"]["fields"] == ["year"]


class TestReranking:
    def test_the_lexical_one_lifts_what_holds_the_words(self, documents: Documents) -> None:
        plain = documents.search("chairs", search_type="semantic")
        again = documents.search("chairs", search_type="semantic", rerank="lexical")
        assert titles(again)[0] == "notes"
        assert again["hits"][0]["score"] > next(h["score"] for h in plain["hits"] if h["metadata"]["title"] == "notes")
        assert sorted(titles(plain)) == sorted(titles(again))


class TestTenants:
    def test_another_tenants_documents_are_neither_found_nor_counted(self, documents: Documents) -> None:
        before = documents.search()["total"]
        tenant = Tenant.objects.create(slug="north", name="North")
        add("vault.md", "The vault is under the lighthouse.", tenant=tenant)
        sources_embed(None)
        for how in ("semantic", "keyword", "hybrid"):
            assert "vault" not in str(documents.search("vault lighthouse", search_type=how))
        assert documents.search()["total"] == before
        assert Chunk.objects.filter(source__tenant=tenant).exists()
        tenant.delete()


class TestHealth:
    def test_all_is_well(self, documents: Documents) -> None:
        answer = documents.get("/search/health")
        assert answer == {"status": "ok", "checks": {"database": "ok", "model": "ok", "index": "ok"}}

    def test_a_model_that_cannot_answer_is_found_out(self, documents: Documents) -> None:
        with another_fingerprint():
            checks = documents.get("/search/health", expect=503)["error"]["details"]["checks"]
        assert checks["database"] == "ok"
        assert "reembed" in checks["model"]

    def test_an_index_that_cannot_be_read_is_found_out(self, documents: Documents) -> None:
        with connection.cursor() as cursor:
            cursor.execute("ALTER VIEW knowledge_vector_seen RENAME TO lost")
            checks = documents.get("/search/health", expect=503)["error"]["details"]["checks"]
            cursor.execute("ALTER VIEW lost RENAME TO knowledge_vector_seen")
        assert (checks["database"], checks["model"]) == ("ok", "ok")
        assert checks["index"] != "ok"

    def test_no_live_index(self, documents: Documents) -> None:
        EmbeddingSpace.objects.update(is_live=False)
        checks = documents.get("/search/health", expect=503)["error"]["details"]["checks"]
        EmbeddingSpace.objects.update(is_live=True)
        assert "being built" in checks["index"]


class TestBadInput:
    @pytest.mark.parametrize(
        "fields",
        [
            {"query": 5},
            {"query": "x" * 1001},
            {"query": "a\0b"},
            {"top_k": 0},
            {"top_k": 1001},
            {"offset": -1},
            {"search_type": "psychic"},
            {"fusion": "sum"},
            {"rerank": "magic"},
            {"include_snippets": "yes"},
            {"snippet_max_chars": 5},
            {"metadata_fields": "title"},
            {"metadata_fields": [1]},
            {"filters": []},
            {"filters": {"may": []}},
            {"filters": {"must": {}}},
            {"filters": {"must": [{"field": "a", "op": "eq"}]}},
            {"filters": {"must": [{"field": "a", "op": "like", "value": 1}]}},
            {"filters": {"must": [{"field": "", "op": "eq", "value": 1}]}},
            {"filters": {"must": [{"field": "a\0", "op": "eq", "value": 1}]}},
            {"filters": {"must": [{"field": "a", "op": "eq", "value": None}]}},
            {"filters": {"must": [{"field": "a", "op": "eq", "value": [1]}]}},
            {"filters": {"must": [{"field": "a", "op": "eq", "value": "\0"}]}},
            {"filters": {"must": [{"field": "a", "op": "in", "value": 1}]}},
            {"filters": {"must": [{"field": "a", "op": "in", "value": []}]}},
            {"filters": {"must": [{"field": "a", "op": "gt", "value": True}]}},
            {"filters": {"must": [{"field": "a", "op": "exists", "value": "yes"}]}},
            {"filters": {"must": [{"field": "a", "op": "eq", "value": 1}] * 51}},
            {"unknown": 1},
        ],
        ids=str,
    )
    def test_it_is_a_422_in_the_error_format(self, documents: Documents, fields: Any) -> None:
        error = documents.search(expect=422, **fields)["error"] if "query" not in fields else (
            documents.http.post("/search", json=fields).json()["error"]
        )  # fmt: skip
        assert error["code"] == "VALIDATION_ERROR"
        assert error["details"]["fields"]

    def test_a_condition_is_named_by_its_place(self, documents: Documents) -> None:
        good, bad = {"field": "a", "op": "eq", "value": 1}, {"field": "a", "op": "in", "value": 1}
        error = documents.search(filters={"should": [good, bad]}, expect=422)["error"]
        assert error["message"].startswith("filters: should[1]: in takes a list")
