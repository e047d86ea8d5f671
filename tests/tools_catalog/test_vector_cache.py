"""The cache on disk: what it saves, and that nothing in it can do harm."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pytest_django import Settings
from structlog.testing import capture_logs

from embeddings.cache import MAX_FILES, VectorCache, config_hash
from tests.openai_server import EmbeddingServer, embedding_server
from tests.world import Entry, make_tools
from tools_catalog.models import EmbeddingSpace
from tools_catalog.services.catalog import server_upsert
from tools_catalog.services.reindex import index_refresh
from tools_catalog.types import ServerSpec, ToolSpec

TOOLS = (Entry("read_file", "Read a file.", ()), Entry("write_file", "Write a file.", (), server="beta"))
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def service(settings: Settings, tmp_path: Path) -> Iterator[EmbeddingServer]:
    with embedding_server() as server:
        settings.EMBEDDING_OPTIONS = replace(settings.EMBEDDING_OPTIONS, openai_base_url=server.url)
        settings.TOOLSCRIPT_EMBEDDING_MODEL = "openai:words"
        settings.EMBEDDING_CACHE_DIR = tmp_path / "cache" / "embeddings"
        yield server


def embedded(service: EmbeddingServer) -> list[str]:
    """The tools that the service was asked to embed since the last time."""
    texts = [text for request in service.requests for text in request["input"] if text != "dimension"]
    service.requests.clear()
    return sorted(texts)


def forget_the_index() -> None:
    """As if the database were new: no space, no vectors; the servers and tools are there again."""
    EmbeddingSpace.objects.all().delete()


def cache_file(settings: Settings, *servers: str) -> Path:
    folder: Path = settings.EMBEDDING_CACHE_DIR
    return folder / f"embeddings-{config_hash(servers)}.json"


def test_a_new_database_embeds_nothing_again(service: EmbeddingServer, settings: Settings) -> None:
    make_tools(*TOOLS)
    index_refresh()
    assert len(embedded(service)) == 2
    before = _vectors()
    forget_the_index()
    index_refresh()
    assert embedded(service) == []
    assert _vectors() == before


def _vectors() -> dict[str, list[float]]:
    [space] = EmbeddingSpace.objects.all()
    rows = space.toolvector_set.select_related("tool")
    return {row.tool.name: [float(x) for x in row.vector] for row in rows}


def test_the_file_says_what_it_holds(service: EmbeddingServer, settings: Settings) -> None:
    make_tools(*TOOLS)
    space = index_refresh()
    assert space is not None
    content = json.loads(cache_file(settings, "beta", "alpha").read_text())
    assert (content["model"], content["version"]) == ("openai:words", space.fingerprint)
    assert content["servers"] == ["alpha", "beta"]
    assert set(content["tools"]) == {"alpha__read_file", "beta__write_file"}
    assert all(row["hash"].startswith("text:") for row in content["tools"].values())


def test_a_changed_tool_is_embedded_alone(service: EmbeddingServer, settings: Settings) -> None:
    make_tools(*TOOLS)
    index_refresh()
    embedded(service)
    before = json.loads(cache_file(settings, "alpha", "beta").read_text())["tools"]
    server_upsert(ServerSpec("alpha", items=(ToolSpec("tool", "read_file", "Read any file at all."),)))
    forget_the_index()
    index_refresh()
    assert embedded(service) == ["alpha: read file. Read any file at all."]
    after = json.loads(cache_file(settings, "alpha", "beta").read_text())["tools"]
    assert {name for name in after if after[name] != before[name]} == {"alpha__read_file"}


def test_another_server_makes_another_file_and_embeds_only_what_is_new(
    service: EmbeddingServer, settings: Settings
) -> None:
    make_tools(*TOOLS)
    index_refresh()
    embedded(service)
    make_tools(Entry("brew_tea", "Brew tea.", (), server="gamma"))
    forget_the_index()
    index_refresh()
    assert embedded(service) == ["gamma: brew tea. Brew tea. zeta alpha"]
    assert len(json.loads(cache_file(settings, "alpha", "beta", "gamma").read_text())["tools"]) == 3
    assert len(json.loads(cache_file(settings, "alpha", "beta").read_text())["tools"]) == 2


def test_another_model_ignores_the_file_with_a_warning(service: EmbeddingServer, settings: Settings) -> None:
    make_tools(*TOOLS)
    index_refresh()
    embedded(service)
    settings.TOOLSCRIPT_EMBEDDING_MODEL = "openai:other"
    with capture_logs() as logs:
        index_refresh()
    assert len(embedded(service)) == 2
    assert [entry["reason"] for entry in logs if entry["event"] == "embedding_cache.ignored"] == [
        "made with openai:words"
    ]
    assert json.loads(cache_file(settings, "alpha", "beta").read_text())["model"] == "openai:other"


def flip_a_vector(content: dict[str, Any]) -> str:
    rows = content["tools"]
    rows["alpha__read_file"]["vector"], rows["beta__write_file"]["vector"] = (
        rows["beta__write_file"]["vector"],
        rows["alpha__read_file"]["vector"],
    )
    return json.dumps(content)


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: "",
        lambda content: "{",
        lambda content: "[]",
        lambda content: "\x00\xff",
        lambda content: "[" * 100_000,
        lambda content: json.dumps(content)[:-200],
        lambda content: json.dumps({**content, "tools": {"a": 5}}),
        lambda content: json.dumps({**content, "format": 99}),
        flip_a_vector,
    ],
)
def test_a_damaged_file_is_ignored_with_a_warning_and_written_anew(
    service: EmbeddingServer, settings: Settings, damage: Any
) -> None:
    make_tools(*TOOLS)
    index_refresh()
    embedded(service)
    file = cache_file(settings, "alpha", "beta")
    whole = file.read_text()
    file.write_text(damage(json.loads(whole)))
    forget_the_index()
    with capture_logs() as logs:
        index_refresh()
    assert len(embedded(service)) == 2
    assert [entry["log_level"] for entry in logs if entry["event"] == "embedding_cache.ignored"] == ["warning"]
    assert file.read_text() == whole


def test_without_a_cache_nothing_is_read_or_written(service: EmbeddingServer, settings: Settings) -> None:
    make_tools(*TOOLS)
    index_refresh()
    file = cache_file(settings, "alpha", "beta")
    before = file.stat().st_mtime_ns
    embedded(service)
    settings.EMBEDDING_CACHE_DIR = None
    forget_the_index()
    index_refresh()
    assert len(embedded(service)) == 2
    assert file.stat().st_mtime_ns == before


def test_a_folder_that_cannot_be_written_stops_nothing(
    service: EmbeddingServer, settings: Settings, tmp_path: Path
) -> None:
    (tmp_path / "taken").write_text("a file where the folder should be")
    settings.EMBEDDING_CACHE_DIR = tmp_path / "taken" / "embeddings"
    make_tools(*TOOLS)
    with capture_logs() as logs:
        assert index_refresh() is not None
    assert "embedding_cache.not_written" in {entry["event"] for entry in logs}


def test_a_folder_that_may_not_be_looked_into_stops_nothing(tmp_path: Path) -> None:
    """A name that is too long fails at the first look, for root too, as a folder of somebody else does for others."""
    cache = VectorCache(tmp_path / ("x" * 300), ["alpha"], "m", "v", 2)
    with capture_logs() as logs:
        assert cache.get("digest") is None
        assert not cache.is_missing()
        cache.save({"t": ("digest", np.array([1.0, 0.0], dtype=np.float32))})
    assert [entry["event"] for entry in logs] == ["embedding_cache.ignored", "embedding_cache.not_written"]


def test_the_folder_stays_small(tmp_path: Path) -> None:
    vector = np.array([1.0, 0.0], dtype=np.float32)
    for i in range(MAX_FILES + 3):
        VectorCache(tmp_path, [f"server{i}"], "m", "v", 2).save({"t": (f"h{i}", vector)})
    assert len(list(tmp_path.iterdir())) == MAX_FILES
    newest = VectorCache(tmp_path, [f"server{MAX_FILES + 2}"], "m", "v", 2)
    assert newest.get(f"h{MAX_FILES + 2}") is not None
