"""The keyword index: words, ranking, typing errors, and updates that equal a build from nothing."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from search.lexical import index as lexical_index
from search.lexical.documents import Document, Source, document
from search.lexical.index import Index, build, updated
from search.lexical.query import Keywords, search
from search.lexical.words import squash, stem, words

quick = settings(max_examples=25)


def tool(number: int, name: str, description: str = "", tenant: int | None = None, kind: str = "tool") -> Document:
    schema = json.dumps({"properties": {"path": {"type": "string", "description": "Where it lies on disk."}}})
    return document(Source(number, tenant, kind, f"{name}{description}", "alpha", name, description, schema))


FILES = [
    tool(1, "read_file", "Read the contents of a file."),
    tool(2, "write_file", "Write text to a file."),
    tool(3, "search_code", "Search source code for a pattern."),
    tool(4, "create_issue", "Open an issue in the tracker."),
    tool(5, "ls", "List a folder."),
    tool(6, "read_file_lines", "Read some lines of a file, then read more of the file, file by file."),
    tool(7, "listDirectories", "Directories below a directory."),
]


def ask(index: Index, query: str, tenant: int | None = None, kind: str | None = None) -> Keywords:
    return search(index, query, tenant_id=tenant, item_type=kind, limit=100)


def first(index: Index, query: str) -> int | None:
    found = ask(index, query)
    return max(found.best, key=found.match, default=None)


class TestPlainWords:
    index = build([tool(1, "search", "Look something up."), tool(2, "commit", "Keep changes."), *FILES[3:5]])

    def test_a_word_two_errors_from_a_short_name_means_itself(self) -> None:
        assert ask(self.index, "beach").names == {}

    @pytest.mark.parametrize(("query", "number"), [("serch", 1), ("comit", 2), ("creat_isue", 4), ("createisu", 4)])
    def test_one_error_or_a_long_name_is_still_found(self, query: str, number: int) -> None:
        assert set(ask(self.index, query).names) == {number}


class TestWords:
    @pytest.mark.parametrize("name", ["read_file", "readFile", "read-file", "READ_FILE", "read file", "Read.File"])
    def test_all_ways_to_write_a_name_are_one(self, name: str) -> None:
        assert squash(name) == "readfile"
        assert words(name)[:2] == ["read", "file"]

    def test_digits_accents_and_unspaced_scripts(self) -> None:
        assert words("base64") == ["base", "64", "base64"]
        assert words("GitHub naïve") == ["git", "hub", "github", "naive"]
        assert words("会议安排") == ["会议", "议安", "安排"]
        assert words("查询GitHub仓库") == ["查询", "git", "hub", "github", "仓库"]
        assert words("READMEを読む・file") == ["readme", "を読", "読む", "file"]
        assert squash("查询_GitHub仓库") == "查询github仓库"

    def test_endings_do_not_count(self) -> None:
        assert {stem(word) for word in ("commit", "commits", "committed", "committing")} == {"commit"}


class TestRanking:
    index = build(FILES)

    @pytest.mark.parametrize("query", ["read_file", "read file", "readFile", "alpha__read_file", "READ-FILE"])
    def test_a_name_comes_first_however_it_is_written(self, query: str) -> None:
        found = ask(self.index, query)
        assert found.best[0] == 1
        assert found.names[1].exact

    def test_a_short_name_comes_first(self) -> None:
        assert ask(self.index, "ls").best[0] == 5

    def test_parameter_descriptions_are_searched(self) -> None:
        assert set(ask(self.index, "disk").best) == {d.tool_id for d in FILES}

    def test_one_word_of_one_fits_well_and_says_little(self) -> None:
        found = ask(self.index, "tracker")
        assert found.best == [4]
        assert found.match(4) > 0.35 > found.evidence(4)

    def test_words_that_nobody_has_lower_the_fit(self) -> None:
        assert ask(self.index, "issue").match(4) > ask(self.index, "issue quux frobnicate").match(4)

    def test_what_is_written_as_published_comes_before_its_twin(self) -> None:
        twins = build([tool(1, "list-users"), tool(2, "list_users"), tool(3, "listUsers")])
        for number, name in enumerate(["list-users", "list_users", "listUsers"], 1):
            assert first(twins, name) == number

    @pytest.mark.parametrize(("query", "found"), [("🔥", {1}), ("alpha__🔥", {1}), ("???", set()), ("alpha", set())])
    def test_a_name_without_letters_is_only_itself(self, query: str, found: set[int]) -> None:
        assert set(ask(build([tool(1, "🔥"), *FILES[1:]]), query).names) == found

    def test_nothing_in_common_finds_nothing(self) -> None:
        assert ask(self.index, "zzzz qqqq").best == []
        assert ask(build([]), "read file").best == []


class TestTypos:
    index = build(FILES)

    @pytest.mark.parametrize(
        ("typed", "meant"),
        [
            ("read_fil", 1),
            ("raed_file", 1),
            ("red_file", 1),
            ("reda_flie", 1),
            ("serch_code", 3),
            ("creat_isue", 4),
            ("listDirectoris", 7),
            ("readfile", 1),
            ("serach for code", 3),
            ("isseu tracker", 4),
        ],
    )
    def test_the_tool_that_was_meant_comes_first(self, typed: str, meant: int) -> None:
        assert first(self.index, typed) == meant

    def test_a_correct_short_word_is_left_alone(self) -> None:
        found = ask(build([tool(1, "git_log"), tool(2, "get_log"), tool(3, "got_log")]), "get")
        assert found.best == [2]
        assert found.repaired == {}

    def test_three_letters_are_not_changed_into_others(self) -> None:
        assert ask(build([tool(1, "cat"), tool(2, "git")]), "bat").best == []


class TestScope:
    index = build([tool(1, "read_file"), tool(2, "read_file", tenant=7), tool(3, "read_file", kind="prompt")])

    def test_a_tenant_sees_its_own_and_what_is_shared(self) -> None:
        assert sorted(ask(self.index, "read_file").best) == [1, 3]
        assert sorted(ask(self.index, "read_file", tenant=7).best) == [1, 2, 3]
        assert sorted(ask(self.index, "read_fiel", tenant=8).best) == [1, 3]

    def test_the_type_filters(self) -> None:
        assert ask(self.index, "read_file", kind="prompt").best == [3]
        assert ask(self.index, "raed_file", kind="prompt").best == [3]


NAMES = ["read_file", "write_file", "list_events", "create_event", "git_commit", "run_query", "send_mail", "ls"]
steps = st.lists(
    st.tuples(
        st.lists(
            st.tuples(st.integers(1, 12), st.sampled_from(NAMES), st.sampled_from(["", "a file", "mail event"])),
            max_size=6,
        ),
        st.sets(st.integers(1, 12), max_size=4),
    ),
    max_size=5,
)


@pytest.mark.parametrize("small", [0, 3, 1000])
def test_an_updated_index_answers_like_one_built_from_nothing(small: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lexical_index, "SMALL", small)

    @quick
    @given(steps, st.sampled_from(["read file", "event", "git comit", "ls", "send a mail about the file"]))
    def check(changes: list[tuple[list[tuple[int, str, str]], set[int]]], query: str) -> None:
        held: dict[int, Document] = {}
        index = build([])
        for came, went in changes:
            new = {number: tool(number, name, text) for number, name, text in came if number not in went}
            held = {i: d for i, d in held.items() if i not in went} | new
            index = updated(index, list(new.values()), went)
        fresh = build(held.values())
        assert index.entries.keys() == held.keys()
        assert {k: set(v) for k, v in index.names.items()} == {k: set(v) for k, v in fresh.names.items()}
        assert set(ask(index, query).scores) == set(ask(fresh, query).scores)
        assert ask(index, query).names == ask(fresh, query).names

    check()


def test_an_update_leaves_the_old_index_as_it_was() -> None:
    index = build(FILES)
    before = ask(index, "read file")
    other = updated(index, [tool(1, "erase_disk", "Erase all."), tool(99, "read_file_fast", "Read a file.")], [2])
    assert ask(index, "read file") == before
    assert 2 not in other.entries
    assert ask(other, "erase").best == [1]
    assert bool(np.all(index.alive))
