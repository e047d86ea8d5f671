"""Documents that come as the file of a form."""

import json
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from pytest_django import Settings

from benchmarks.pdf import write_pdf
from core.api import validated
from knowledge.models import Source
from knowledge.serializers import SourceInput, UploadInput
from knowledge.services.ingest import source_ingest
from knowledge.types import SourceSpec
from tenants.services.keys import key_create
from tests.conftest import http_client
from tests.knowledge.conftest import Documents

SOURCES = "/api/v1/knowledge/sources"
PLAIN = ("kites.txt", b"Kites fly in strong wind.")


@pytest.mark.django_db
def test_a_form_says_what_json_says() -> None:
    form = validated(UploadInput, {"file": SimpleUploadedFile("kites.txt", b"Kites."), "topics": ["wind"]})
    plain = validated(SourceInput, {"content": "Kites.", "path": "kites.txt", "format": "text", "topics": ["wind"]})
    outcomes = [source_ingest(SourceSpec(**values)).outcome for values in (form, plain)]
    assert outcomes == ["created", "unchanged"]


def upload(documents: Documents, file: tuple[str, bytes] | None, expect: int = 201, **fields: Any) -> Any:
    files = {"file": file} if file else {"other": ("", b"")}
    answer = documents.writer.post(SOURCES, data=fields, files=files)
    assert answer.status_code == expect, answer.text
    return answer.json()


def test_a_pdf_comes_as_it_is(documents: Documents) -> None:
    pdf = write_pdf(["Balloons rise in cold air."], title="Balloon book")
    fields: Any = {"topics": ["air", "travel, slow"], "authors": "A. Rising", "metadata": json.dumps({"year": 1783})}
    sent = upload(documents, ("balloons.pdf", pdf), **fields)
    source = sent["source"]
    assert (sent["outcome"], sent["indexed"], source["format"], source["path"]) == (
        "created",
        True,
        "pdf",
        "balloons.pdf",
    )
    assert (source["title"], source["authors"], source["topics"]) == (
        "Balloon book",
        ["A. Rising"],
        ["air", "travel, slow"],
    )
    assert source["metadata"] == {"year": 1783}
    [best] = documents.knowledge("balloons in cold air", limit=1)["results"]
    assert best["source"]["position"]["page"] == 1
    documents.delete(f"{SOURCES}/{source['id']}")


def test_the_name_of_the_file_is_its_path_so_the_next_one_replaces_it(documents: Documents) -> None:
    first = upload(documents, PLAIN)
    assert upload(documents, PLAIN, 200)["outcome"] == "unchanged"
    second = upload(documents, ("kites.txt", b"Balloons."), 200)
    assert (second["outcome"], second["source"]["id"]) == ("changed", first["source"]["id"])
    other = upload(documents, PLAIN, path="other/kites.md", format="markdown", title="Kite book")
    assert (other["source"]["path"], other["source"]["format"], other["source"]["title"]) == (
        "other/kites.md",
        "markdown",
        "Kite book",
    )
    for sent in (first, other):
        documents.delete(f"{SOURCES}/{sent['source']['id']}")


@pytest.mark.parametrize(
    ("file", "fields", "message"),
    [
        (None, {}, "other: this field is not known. Known are: authors, file, format"),
        (("kites.doc", b"Kites."), {}, "format: It cannot be told from kites.doc: markdown, text, html, pdf?"),
        (("kites.txt", b""), {}, "file: The submitted file is empty."),
        (("kites.pdf", b"Kites."), {}, "It is no readable PDF"),
        (PLAIN, {"metadata": "{year}"}, "metadata: An object, written as JSON, is expected."),
        (PLAIN, {"metadata": "[1]"}, "metadata: An object is expected."),
        (PLAIN, {"title": ["a", "b"]}, "title: it is there more than once."),
        (PLAIN, {"titel": "a"}, "titel: this field is not known. Did you mean title?"),
        (PLAIN, {"content": "Kites."}, "content: this field is not known."),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_written(
    documents: Documents, file: Any, fields: dict[str, Any], message: str
) -> None:
    before = Source.objects.count()
    body = upload(documents, file, 422, **fields)
    assert message in body["error"]["message"]
    assert Source.objects.count() == before


def test_a_form_without_a_file(documents: Documents) -> None:
    answer = documents.writer.post(SOURCES, files={"file": (None, "Kites.")})
    assert answer.status_code == 422, answer.text
    assert "file" in answer.json()["error"]["details"]["fields"]


def test_a_form_that_is_none_is_a_400(documents: Documents) -> None:
    kind = {"Content-Type": "multipart/form-data"}
    answer = documents.writer.post(SOURCES, content=b"not a form", headers=kind)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "BAD_REQUEST")


def test_one_that_is_too_large_is_a_413(documents: Documents, settings: Settings) -> None:
    settings.LARGE_BODIES = {SOURCES: 2000}
    answer = documents.writer.post(SOURCES, files={"file": ("kites.txt", b"Kites. " * 1000)})
    assert answer.status_code == 413, answer.text


def test_who_may_only_read_sends_nothing(documents: Documents) -> None:
    row, key = key_create(name="reader", may_write=False)
    with http_client(str(documents.http.base_url), key) as reader:
        assert reader.post(SOURCES, files={"file": PLAIN}).status_code == 403
    row.delete()
    assert documents.http.post(SOURCES, files={"file": PLAIN}).status_code == 401
