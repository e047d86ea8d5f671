"""Another embedding model is built beside the old one, and searches answer all the while."""

import threading
from collections.abc import Iterator
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from pytest_django import Settings

from core.errors import EmbeddingFailed
from tests.conftest import Api, names
from tests.embeddings import tiny_onnx
from tests.openai_server import EmbeddingServer, embedding_server
from tests.processes import eventually
from tests.world import Entry, make_tools
from tools_catalog.models import EmbeddingSpace, Tool, ToolVector
from tools_catalog.services.reindex import LOCK, index_refresh

pytestmark = pytest.mark.usefixtures("world")


@pytest.fixture
def other_model(settings: Settings) -> Iterator[EmbeddingServer]:
    with embedding_server() as server:
        settings.EMBEDDING_OPTIONS = replace(settings.EMBEDDING_OPTIONS, openai_base_url=server.url)
        yield server


def live() -> str:
    return EmbeddingSpace.objects.get(is_live=True).model


def test_searches_answer_while_another_model_is_built(api: Api, other_model: EmbeddingServer) -> None:
    other_model.mode = "slow"
    before = api.search("create a calendar event")
    answers = []

    def build() -> None:
        index_refresh("openai:words")
        connection.close()

    worker = threading.Thread(target=build)
    worker.start()
    while worker.is_alive():
        answers.append(api.search("create a calendar event", strategy="direct"))
    worker.join()
    assert len(answers) > 5
    assert all(names(answer) for answer in answers)
    assert live() == "openai:words"
    after = api.search("create a calendar event")
    assert names(after)[0] == names(before)[0] == "create_event"
    assert after["tools"][0]["score"] != before["tools"][0]["score"]


def test_a_build_that_fails_leaves_the_old_model_live(api: Api, other_model: EmbeddingServer) -> None:
    other_model.mode = "fail"
    with pytest.raises(CommandError, match="embedding service failed"):
        call_command("reembed", "--model", "openai:words")
    assert live() == "toolscript-minilm"
    assert api.search("create a calendar event")["tools"]


def test_an_interrupted_build_goes_on_where_it_was(other_model: EmbeddingServer) -> None:
    def interrupt(label: str, done: int, total: int) -> None:
        if label == "skills":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        index_refresh("openai:words", interrupt)
    assert live() == "toolscript-minilm"
    other_model.requests.clear()
    index_refresh("openai:words")
    assert live() == "openai:words"
    texts = [text for request in other_model.requests for text in request["input"]]
    assert len(texts) == 1  # the one skill without tools: no tool is embedded a second time


def test_the_command_reports_and_can_drop_the_old_vectors(tmp_path: Path) -> None:
    out = StringIO()
    call_command("reembed", "--model", f"onnx:{tiny_onnx.build(tmp_path / 'tiny')}", "--drop-old", stdout=out)
    assert "8 dimensions" in out.getvalue()
    assert set(ToolVector.objects.values_list("space__dim", flat=True)) == {8}


def test_vectors_of_two_models_never_meet(api: Api, tmp_path: Path) -> None:
    index_refresh(f"onnx:{tiny_onnx.build(tmp_path / 'tiny')}")
    assert ToolVector.objects.count() == 2 * Tool.objects.count()
    result = api.search("read the file", strategy="direct", limit=50, tool_threshold=0)
    assert len(names(result)) == len(set(names(result))) == 13


def test_a_model_whose_weights_changed_is_not_compared_with_old_vectors(api: Api) -> None:
    EmbeddingSpace.objects.update(fingerprint="of weights that are gone")
    result = api.search("a query that no cache holds")
    assert result["tools"] == []
    assert result["metadata"]["degraded"] == "embedding"
    index_refresh()
    assert names(api.search("create a calendar event"))[0] == "create_event"


def test_two_builds_at_once_do_not_get_in_each_others_way() -> None:
    other = connection.copy()
    try:
        with other.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_lock(%s)", [LOCK])
        with pytest.raises(CommandError, match="Another process is building"):
            call_command("reembed")
    finally:
        other.close()
    # The server lets go of the lock a moment after the connection is closed.
    assert eventually(lambda: index_refresh() is not None)


def test_a_model_chosen_by_hand_stays(tmp_path: Path) -> None:
    chosen = f"onnx:{tiny_onnx.build(tmp_path / 'tiny')}"
    call_command("reembed", "--model", chosen, stdout=StringIO())
    index_refresh()  # what beat asks for every minute
    assert live() == chosen


def test_a_model_against_the_setting_is_refused(settings: Settings) -> None:
    settings.TOOLSCRIPT_EMBEDDING_MODEL = "toolscript-minilm"
    with pytest.raises(CommandError, match="would soon switch back"):
        call_command("reembed", "--model", "openai:words")


@pytest.mark.parametrize("wanted", ["openai:words", "no-such-model"])
def test_the_live_index_stays_fresh_while_another_model_cannot_be_built(
    api: Api, other_model: EmbeddingServer, settings: Settings, wanted: str
) -> None:
    other_model.mode = "fail"
    settings.TOOLSCRIPT_EMBEDDING_MODEL = wanted
    make_tools(Entry("brew_tea", "Brew a pot of green tea.", (), server="gamma"))
    with pytest.raises(EmbeddingFailed):
        index_refresh()
    assert live() == "toolscript-minilm"
    assert names(api.tools("brew a pot of green tea"))[0] == "brew_tea"
