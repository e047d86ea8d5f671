"""Documents and extractions over HTTP."""

import base64
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from benchmarks.pdf import write_pdf
from knowledge.api import EMBED_AT_ONCE
from knowledge.models import Chunk, Source
from knowledge.services.ingest import sources_embed
from tenants.models import Tenant
from tenants.services.keys import key_create
from tests.conftest import http_client
from tests.knowledge.conftest import Documents
from tests.knowledge.library import add

SOURCES = "/api/v1/knowledge/sources"
EXTRACTIONS = "/api/v1/knowledge/extractions"


@pytest.mark.django_db
def test_facets_follow_every_change() -> None:
    source = add("a.txt", "Text.", "text", metadata={"n": 1})
    assert (source.facets["n"], source.facets["title"], source.facets["doc_id"]) == (1, "a", str(source.pk))
    Source.objects.update(title="Other", metadata={}, topics=["x"])
    source.refresh_from_db()
    assert (source.facets.get("n"), source.facets["title"], source.facets["tags"]) == (None, "Other", ["x"])


class TestSending:
    def test_it_is_found_at_once(self, documents: Documents) -> None:
        sent = documents.send(content="# Kites\n\nKites fly in strong wind.", title="Kite book", topics=["wind"])
        assert (sent["outcome"], sent["indexed"], sent["source"]["chunks"]) == ("created", True, 1)
        [best] = documents.knowledge("flying kites in the wind", limit=1)["results"]
        assert best["source"]["title"] == "Kite book"
        documents.delete(f"{SOURCES}/{sent['source']['id']}")

    def test_the_same_content_again_is_the_same_document(self, documents: Documents) -> None:
        first = documents.send(content="Kites.", format="text")
        second = documents.send(content="Kites.", format="text", expect=200)
        assert (second["outcome"], second["source"]["id"]) == ("unchanged", first["source"]["id"])
        documents.delete(f"{SOURCES}/{first['source']['id']}")

    def test_the_same_path_replaces_it(self, documents: Documents) -> None:
        first = documents.send(content="Kites.", format="text", path="kites.txt")
        second = documents.send(content="Balloons.", format="text", path="kites.txt", expect=200)
        assert (second["outcome"], second["source"]["id"]) == ("changed", first["source"]["id"])
        [chunk] = documents.get(f"{SOURCES}/{first['source']['id']}/chunks")
        assert chunk["content"] == "Balloons."
        documents.delete(f"{SOURCES}/{first['source']['id']}")

    def test_a_pdf_in_base64(self, documents: Documents) -> None:
        pdf = base64.b64encode(write_pdf(["Balloons rise."], title="Balloon book")).decode()
        sent = documents.send(content=pdf, format="pdf")
        assert sent["source"]["title"] == "Balloon book"
        [chunk] = documents.get(f"{SOURCES}/{sent['source']['id']}/chunks")
        assert chunk["position"] == {"chapter": "", "section": "", "page": 1}
        documents.delete(f"{SOURCES}/{sent['source']['id']}")

    def test_a_document_of_more_than_the_usual_body(self, documents: Documents, settings: Any) -> None:
        settings.TOOLSCRIPT_MAX_BODY_BYTES = 1024
        sent = documents.send(content="A short story about rope. " * 100, format="text")
        documents.delete(f"{SOURCES}/{sent['source']['id']}")
        settings.LARGE_BODIES = {SOURCES: 1024}
        documents.send(content="A short story about rope. " * 100, format="text", expect=413)

    @pytest.mark.parametrize(
        ("fields", "named"),
        [
            ({}, "content"),
            ({"content": ""}, "content"),
            ({"content": 5}, "content"),
            ({"content": "x", "format": "docx"}, "format"),
            ({"content": "not base64!", "format": "pdf"}, "content"),
            ({"content": "x", "type": "No Type"}, "type"),
            ({"content": "x", "metadata": []}, "metadata"),
            ({"content": "x", "metadata": {"title": "y"}}, "metadata.title"),
            ({"content": "x", "metadata": {"a": {"b": 1}}}, "metadata.a"),
            ({"content": "x", "metadata": {"mass": 1e30}}, "metadata.mass"),
            ({"content": "x", "metadata": {"id": 1234567890123456789}}, "metadata.id"),
            ({"content": "x", "path": "p" * 1001}, "path"),
            ({"content": "x", "authors": "me"}, "authors"),
            ({"content": "x", "authors": ["me", ""]}, "authors[1]"),
            ({"content": "x", "path": "p\0"}, "path"),
            ({"content": "x", "colour": "red"}, "colour"),
        ],
    )
    def test_bad_input_is_refused_and_changes_nothing(self, documents: Documents, fields: Any, named: str) -> None:
        before = Source.objects.count()
        error = documents.send(expect=422, **fields)["error"]
        assert named in error["details"]["fields"]
        assert "ErrorDetail" not in error["message"]
        assert Source.objects.count() == before

    def test_what_a_type_may_be_is_said(self, documents: Documents) -> None:
        refused = documents.send(content="x", type="No Type", expect=422)
        assert refused["detail"].startswith("type: Lower-case letters, digits and underscores")

    def test_numbers_in_front_matter_that_are_too_large_become_texts(self, documents: Documents) -> None:
        text = "---\nmass: 1.0e+30\ntweet: 1234567890123456789\nsmall: 12\n---\n# Sun\n\nHeavy helium."
        sent = documents.send(content=text, path="sun.md")
        assert sent["source"]["metadata"] == {"mass": "1e+30", "tweet": "1234567890123456789", "small": 12}
        condition = {"field": "tweet", "op": "eq", "value": "1234567890123456789"}
        assert documents.search(filters={"must": [condition]})["total"] == 1
        refused = documents.search(filters={"must": [{**condition, "value": 1234567890123456789}]}, expect=422)
        assert "a number up to 1e+15" in refused["detail"]
        documents.delete(f"{SOURCES}/{sent['source']['id']}")

    def test_what_an_older_version_took_in_breaks_no_answer(self, documents: Documents) -> None:
        sent = documents.send(content="Helium.", path="sun.md")
        Source.objects.filter(path="sun.md").update(metadata={"mass": 1e30})
        assert documents.search("helium", metadata_fields=["mass"])["hits"][0]["metadata"] == {"mass": 10**30}
        documents.delete(f"{SOURCES}/{sent['source']['id']}")

    def test_what_waits_for_the_worker_says_so_each_time(self, documents: Documents) -> None:
        content = "\n\n".join(f"# Part {i}\n\nPassage number {i}." for i in range(EMBED_AT_ONCE + 20))
        first = documents.send(content=content, path="long.md")
        assert (first["outcome"], first["indexed"]) == ("created", False)
        again = documents.send(content=content, path="long.md", expect=200)
        assert (again["outcome"], again["indexed"]) == ("unchanged", False)
        sources_embed([first["source"]["id"]])
        again = documents.send(content=content, path="long.md", expect=200)
        assert (again["outcome"], again["indexed"]) == ("unchanged", True)
        documents.delete(f"{SOURCES}/{first['source']['id']}")

    def test_many_writers_of_one_document(self, documents: Documents) -> None:
        """Each replaces or deletes what the others wrote; nothing breaks, and what is left is whole."""

        def write(number: int) -> int:
            text = "\n\n".join(f"# Part {part}\n\nWriter {number} on part {part}." for part in range(4))
            with http_client(str(documents.writer.base_url), key) as http:
                if number % 4 == 3:
                    found = http.get(SOURCES).json()
                    mine = [source["id"] for source in found if source["path"] == "one.md"]
                    statuses = {http.delete(f"{SOURCES}/{pk}").status_code for pk in mine}
                    return 200 if statuses <= {200, 404} else max(statuses)
                return http.post(SOURCES, json={"content": text, "path": "one.md"}).status_code

        _, key = key_create(name="writers", is_admin=True)
        with ThreadPoolExecutor(8) as pool:
            statuses = list(pool.map(write, range(40)))
        assert set(statuses) <= {200, 201, 409}  # deleted before its writer was answered
        documents.send(
            content="The beginning.", path="one.md", expect=200 if Source.objects.filter(path="one.md") else 201
        )
        sent = documents.send(content="The end.", path="one.md", expect=200)
        assert (sent["indexed"], sent["source"]["chunks"]) == (True, 1)
        documents.delete(f"{SOURCES}/{sent['source']['id']}")

    @pytest.mark.parametrize(
        "fields",
        [{"content": " \n "}, {"content": base64.b64encode(b"no pdf").decode(), "format": "pdf"}],
        ids=["blank", "no pdf"],
    )
    def test_what_cannot_be_read_is_a_422_with_the_reason(self, documents: Documents, fields: Any) -> None:
        assert documents.send(expect=422, **fields)["error"]["code"] == "VALIDATION_ERROR"


class TestReading:
    def test_the_list(self, documents: Documents) -> None:
        titles = [source["title"] for source in documents.get(SOURCES)]
        assert titles == ["Backups that work", "Bread at home", "Harbour handbook", "notes"]
        assert [s["title"] for s in documents.get(SOURCES, limit=1, offset=2)] == ["Harbour handbook"]
        assert [s["title"] for s in documents.get(SOURCES, type="book")] == ["Harbour handbook"]
        assert documents.get(SOURCES, status="failed") == []

    def test_one(self, documents: Documents, library: dict[str, Source]) -> None:
        source = documents.get(f"{SOURCES}/{library['harbour.md'].pk}")
        assert (source["chunks"], source["metadata"]["year"], source["shared"]) == (4, 2021, True)

    @pytest.mark.parametrize("address", [f"{SOURCES}/999999", f"{SOURCES}/999999/chunks", f"{SOURCES}/{10**30}"])
    def test_none(self, documents: Documents, address: str) -> None:
        assert documents.get(address, expect=404)["error"]["code"] == "NOT_FOUND"

    def test_unknown_parameters_are_refused(self, documents: Documents, library: dict[str, Source]) -> None:
        for address in (SOURCES, f"{SOURCES}/{library['harbour.md'].pk}", EXTRACTIONS):
            documents.get(address, expect=422, colour="red")

    def test_what_is_anothers_is_not_there(self, documents: Documents) -> None:
        tenant = Tenant.objects.create(slug="north", name="North")
        source = add("vault.md", "The vault.", tenant=tenant)
        assert "vault" not in str(documents.get(SOURCES))
        documents.get(f"{SOURCES}/{source.pk}", expect=404)
        documents.delete(f"{SOURCES}/{source.pk}", expect=404)
        assert Source.objects.filter(pk=source.pk).exists()
        tenant.delete()


class TestExtractions:
    def chunk(self, library: dict[str, Source]) -> int:
        return int(Chunk.objects.filter(source=library["bread.md"]).earliest("ordinal").pk)

    def post(self, documents: Documents, expect: int = 201, **fields: Any) -> Any:
        response = documents.writer.post(EXTRACTIONS, json=fields)
        assert response.status_code == expect, response.text
        return response.json()

    def test_one_is_added_found_listed_and_deleted(self, documents: Documents, library: dict[str, Source]) -> None:
        content = {"statement": "Zeppelins need no starter", "because": ["they fly", "they do not rise"]}
        made = self.post(documents, chunk_id=self.chunk(library), type="decision", content=content, topics=["air"])
        assert made["text"] == "Decision: Zeppelins need no starter. Because: they fly, they do not rise."
        assert (made["position"]["chapter"], made["method"]) == ("Sourdough", "api")
        [best] = documents.knowledge("zeppelins", limit=1, type="decision")["results"]
        assert (best["id"], best["type"]) == (str(made["id"]), "extraction")
        again = self.post(documents, chunk_id=self.chunk(library), type="decision", content=content, expect=200)
        assert again["id"] == made["id"]
        listed = documents.get(EXTRACTIONS, source_id=library["bread.md"].pk, type="decision")
        assert [extraction["id"] for extraction in listed] == [made["id"]]
        documents.delete(f"{EXTRACTIONS}/{made['id']}")
        assert documents.get(EXTRACTIONS) == []
        documents.delete(f"{EXTRACTIONS}/{made['id']}", expect=404)

    @pytest.mark.parametrize(
        ("fields", "status"),
        [
            ({"type": "decision", "content": {"statement": "x"}, "chunk_id": 10**9}, 404),
            ({"type": "decision", "content": {}}, 422),
            ({"type": "decision", "content": {"statement": " "}}, 422),
            ({"type": "chunk", "content": {"statement": "x"}}, 422),
            ({"type": "A B", "content": {"statement": "x"}}, 422),
            ({"type": "decision", "content": "x"}, 422),
            ({"type": "decision", "content": {"statement": "a\0b"}}, 422),
            ({"type": "decision", "content": {"statement": "a", "n": 1e30}}, 422),
            ({"type": "decision", "content": {"statement": "a", "nested": {"k": "\0"}}}, 422),
            ({"type": "decision", "content": {"statement": "a", "b\0": "c"}}, 422),
            ({"content": {"statement": "x"}}, 422),
        ],
        ids=str,
    )
    def test_bad_ones_are_refused(
        self, documents: Documents, library: dict[str, Source], fields: Any, status: int
    ) -> None:
        self.post(documents, **{"chunk_id": self.chunk(library), **fields}, expect=status)

    def test_without_a_language_model_none_can_be_asked_for(
        self, documents: Documents, library: dict[str, Source]
    ) -> None:
        response = documents.writer.post(f"{SOURCES}/{library['bread.md'].pk}/extract")
        assert (response.status_code, response.json()["error"]["code"]) == (409, "CONFLICT")
