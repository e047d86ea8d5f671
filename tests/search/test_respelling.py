"""Typing errors in a request: the meaning is looked for as it was probably meant, unless a word is simply unknown."""

import pytest

from search.query_vectors import embed
from search.stages import find_keywords, respelled
from search.types import SearchRequest, SearchRun
from tests.conftest import Api, names
from tools_catalog.selectors import live_space

MISSPELT = [("raed a flie from dsik", "read_file"), ("cancle the calender evnet", "cancel_event")]


def run_of(query: str) -> tuple[SearchRun, SearchRun]:
    """As it begins, and after a look at its spelling."""
    space = live_space()
    assert space is not None
    run = SearchRun(SearchRequest(query), space, embed(space, query, 5), deadline=1e12)
    return run, respelled(run, find_keywords(run.request, run.deadline, {}))


@pytest.mark.usefixtures("world")
@pytest.mark.parametrize(("query", "expected"), MISSPELT)
def test_a_misspelt_request_finds_what_was_meant(api: Api, query: str, expected: str) -> None:
    answer = api.http.get("/search", params={"q": query}).json()
    assert answer["results"][0]["toolName"] == expected
    assert names(api.search(query, strategy="hybrid"))[0] == expected


@pytest.mark.usefixtures("world")
@pytest.mark.parametrize(("query", "expected"), MISSPELT)
def test_the_vector_is_that_of_the_request_as_it_was_meant(query: str, expected: str) -> None:
    before, after = run_of(query)
    assert (after.vector != before.vector).any()


@pytest.mark.usefixtures("world")
@pytest.mark.parametrize(
    "query", ["read a file about Reid", "commit my changes for marge", "a reed in the wind", "read a file"]
)
def test_a_name_that_resembles_a_word_stays_a_name(query: str) -> None:
    """Or a word that every tool knows: there is nothing to spell otherwise."""
    before, after = run_of(query)
    assert (after.vector == before.vector).all()


@pytest.mark.usefixtures("world")
def test_words_written_as_one_are_parted() -> None:
    before, _ = run_of("readfile")
    keywords = find_keywords(before.request, before.deadline, {})
    assert keywords is not None
    assert keywords.respelled("Please READFILE now", lambda word: False) == "Please read file now"
    assert keywords.respelled("Please READFILE now", lambda word: True) == "Please READFILE now"
