"""What `explain` shows, and what `hybrid` does with it."""

import pytest

from tests.conftest import Api, names
from tests.world import Entry, make_tools

pytestmark = pytest.mark.usefixtures("world")


def test_without_asking_nothing_is_explained(api: Api) -> None:
    assert all("explain" not in tool for tool in api.search("read a file", strategy="hybrid")["tools"])


@pytest.mark.parametrize("strategy", ["hierarchical", "direct"])
def test_pure_similarity_has_one_part(api: Api, strategy: str) -> None:
    for tool in api.search("read a file", strategy=strategy, explain=True)["tools"]:
        assert tool["explain"]["parts"] == [
            {"part": "semantic", "value": tool["score"], "contribution": pytest.approx(tool["score"], abs=2e-4)}
        ]


def test_the_parts_of_hybrid_add_up_to_the_score(api: Api) -> None:
    tools = api.search("read_file", strategy="hybrid", explain=True, limit=50, tool_threshold=0)["tools"]
    assert tools[0]["name"] == "read_file"
    for tool in tools:
        parts = tool["explain"]["parts"]
        assert [part["part"] for part in parts] == ["semantic", "lexical", "name", "skill"]
        assert sum(part["contribution"] for part in parts) == pytest.approx(tool["score"], abs=3e-4)
    first = {part["part"]: part["contribution"] for part in tools[0]["explain"]["parts"]}
    assert first["name"] > first["semantic"] > 0
    assert first["skill"] > 0


@pytest.mark.parametrize("query", ["read_file", "read file", "readFile", "read_fil", "raed_file"])
def test_hybrid_puts_a_name_first_with_and_without_errors(api: Api, query: str) -> None:
    assert names(api.search(query, strategy="hybrid"))[0] == "read_file"


def test_hybrid_finds_by_words_what_has_no_vector_yet(api: Api) -> None:
    make_tools(Entry("frobnicate_widget", "Frobnicates.", (), server="new"))
    assert names(api.search("frobnicate_widget", strategy="hybrid"))[0] == "frobnicate_widget"
    assert "frobnicate_widget" not in names(api.search("frobnicate_widget", strategy="direct", tool_threshold=0))


def test_hybrid_goes_on_without_a_matching_skill(api: Api) -> None:
    result = api.search("read_file", strategy="hybrid", skill_threshold=1)
    assert result["metadata"]["strategy_used"] == "hybrid"
    assert result["metadata"]["fallback"] == "no_skill_matched"
    assert result["metadata"]["skill_ids_used"] is None
    assert names(result)[0] == "read_file"
