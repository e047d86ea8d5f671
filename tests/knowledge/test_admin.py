"""The admin: it shows everything, edits through the services, and refuses what they refuse."""

from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from knowledge.models import Chunk, Extraction, Source
from knowledge.services.extractions import extraction_create
from tests.knowledge.library import HARBOUR, add

pytestmark = pytest.mark.django_db


@pytest.fixture
def source() -> Source:
    source = add("harbour.md", HARBOUR)
    extraction_create(Chunk.objects.earliest("ordinal"), type="warning", content={"statement": "Mind the <range>"})
    return source


@pytest.fixture
def admin(source: Source) -> Client:
    client = Client()
    client.force_login(get_user_model().objects.create_superuser("admin", password="x"))
    return client


def test_every_page_opens(admin: Client, source: Source) -> None:
    chunk, extraction = Chunk.objects.earliest("ordinal"), Extraction.objects.get()
    for name, row in (("source", source), ("chunk", chunk), ("extraction", extraction)):
        for address in (f"/admin/knowledge/{name}/", f"/admin/knowledge/{name}/{row.pk}/change/"):
            page = admin.get(address)
            assert page.status_code == 200
            assert "<range>" not in page.text
    assert "Reading the tide table" in admin.get(f"/admin/knowledge/source/{source.pk}/change/").text


def form(**fields: Any) -> dict[str, Any]:
    empty = {f"{name}-{part}_FORMS": 0 for name in ("chunks", "extractions") for part in ("TOTAL", "INITIAL")}
    values = {"title": "Port manual", "type": "book", "authors": "Quill, Ines\r\n\r\nB\r\n", "topics": "x"}
    return {**empty, **values, "metadata": "{}", **fields}


def test_a_new_title_reaches_the_passages(admin: Client, source: Source) -> None:
    admin.post(f"/admin/knowledge/source/{source.pk}/change/", form(metadata='{"year": 2022}'))
    source.refresh_from_db()
    assert (source.title, source.authors, source.facets["year"]) == ("Port manual", ["Quill, Ines", "B"], 2022)
    assert Chunk.objects.filter(heading__startswith="Port manual").count() == 4


def test_what_is_saved_as_it_was_shown_stays_as_it_was(admin: Client, source: Source) -> None:
    Source.objects.filter(pk=source.pk).update(authors=["Quill, Ines", "B"])
    shown = admin.get(f"/admin/knowledge/source/{source.pk}/change/").context["adminform"].form
    fields = {name: shown[name].value() for name in ("title", "type", "authors", "topics", "metadata")}
    admin.post(f"/admin/knowledge/source/{source.pk}/change/", form(**fields))
    source.refresh_from_db()
    assert source.authors == ["Quill, Ines", "B"]


def test_a_type_is_a_word_and_the_form_says_so(admin: Client, source: Source) -> None:
    page = admin.post(f"/admin/knowledge/source/{source.pk}/change/", form(type="My Book"))
    assert "Lower-case letters" in page.text
    source.refresh_from_db()
    assert source.type == "book"


@pytest.mark.parametrize("metadata", ['{"title": 1}', '{"a": {"b": 1}}', "[1]", "{"])
def test_metadata_that_filters_could_not_ask_for_is_refused(admin: Client, source: Source, metadata: str) -> None:
    page = admin.post(f"/admin/knowledge/source/{source.pk}/change/", form(metadata=metadata))
    assert "Please correct" in page.text
    source.refresh_from_db()
    assert source.title == "Harbour handbook"


def test_without_a_language_model_the_action_says_so(admin: Client, source: Source) -> None:
    data = {"action": "extract", "_selected_action": [source.pk]}
    page = admin.post("/admin/knowledge/source/", data, follow=True)
    assert "There is no language model" in page.text


def test_deleting_takes_all_of_it(admin: Client, source: Source) -> None:
    admin.post(f"/admin/knowledge/source/{source.pk}/delete/", {"post": "yes"})
    assert not Source.objects.exists()
    assert not Extraction.objects.exists()
