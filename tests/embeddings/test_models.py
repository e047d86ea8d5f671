import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from core.errors import EmbeddingFailed
from embeddings import onnx_model, registry
from embeddings.openai_api import MAX_CHARACTERS
from embeddings.queries import QueryVectors
from embeddings.types import EmbeddingOptions, unit
from tests.embeddings import tiny_onnx
from tests.openai_server import embedding_server


def options(tmp_path: Path, url: str = "") -> EmbeddingOptions:
    return EmbeddingOptions(tmp_path, openai_base_url=url, timeout=2)


def test_bge_models_get_their_prefix_on_queries_only(tmp_path: Path) -> None:
    plain = registry.load(f"onnx:{tiny_onnx.build(tmp_path / 'plain')}", options(tmp_path))
    tiny_onnx.build(tmp_path / "bge-tiny")
    tiny_onnx.add_pooling(tmp_path / "bge-tiny", cls=False)
    bge = registry.load(f"onnx:{tmp_path / 'bge-tiny'}", options(tmp_path))
    text = ["read file"]
    assert np.array_equal(bge.embed_batch(text, kind="document"), plain.embed_batch(text, kind="document"))
    expected = plain.embed_batch([onnx_model.BGE_PREFIX + "read file"], kind="document")
    assert np.array_equal(bge.embed_batch(text, kind="query"), expected)
    assert not np.array_equal(bge.embed_batch(text, kind="query"), bge.embed_batch(text, kind="document"))


def test_pooling_is_read_from_the_folder(tmp_path: Path) -> None:
    for name, cls in (("first", True), ("mean", False)):
        tiny_onnx.build(tmp_path / name)
        tiny_onnx.add_pooling(tmp_path / name, cls=cls)
    first, mean = (registry.load(f"onnx:{tmp_path / n}", options(tmp_path)) for n in ("first", "mean"))
    one, other = (first.embed_batch([text], kind="document") for text in ("read file", "write"))
    assert np.array_equal(one, other)  # [CLS] is the same token in both
    one, other = (mean.embed_batch([text], kind="document") for text in ("read file", "write"))
    assert not np.array_equal(one, other)


def test_changed_weights_have_another_fingerprint(tmp_path: Path) -> None:
    first = registry.load(f"onnx:{tiny_onnx.build(tmp_path / 'a')}", options(tmp_path))
    second = registry.load(f"onnx:{tiny_onnx.build(tmp_path / 'b', pooled=True)}", options(tmp_path))
    assert first.fingerprint != second.fingerprint


def test_a_damaged_shipped_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(onnx_model.WEIGHTS, tmp_path / "weights")
    model = tmp_path / "weights" / "toolscript-minilm" / "model.onnx"
    model.write_bytes(model.read_bytes()[:-1] + b"x")
    monkeypatch.setattr(onnx_model, "WEIGHTS", tmp_path / "weights")
    with pytest.raises(EmbeddingFailed, match="damaged"):
        onnx_model.shipped("toolscript-minilm", options(tmp_path))


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("no-such-model", "is not on this machine"),
        ("onnx:/no/such/folder", "There is no folder"),
        ("martian:model", "names no embedding model"),
        ("../../etc", "is not on this machine"),
    ],
)
def test_a_model_that_is_not_there_says_what_to_do(tmp_path: Path, spec: str, says: str) -> None:
    with pytest.raises(EmbeddingFailed, match=says):
        registry.load(spec, options(tmp_path))


def test_a_model_that_a_package_carries_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(onnx_model.CARRIED, "some-model", ("no_such_package", "x", "toolscript[some]"))
    with pytest.raises(EmbeddingFailed, match=r"install toolscript\[some\]"):
        registry.load("some-model", options(tmp_path))


def test_a_folder_without_model_or_tokenizer_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(EmbeddingFailed, match="holds no ONNX model"):
        registry.load(f"onnx:{tmp_path / 'empty'}", options(tmp_path))
    (tiny_onnx.build(tmp_path / "half") / "tokenizer.json").unlink()
    with pytest.raises(EmbeddingFailed, match=r"no tokenizer\.json"):
        registry.load(f"onnx:{tmp_path / 'half'}", options(tmp_path))


@pytest.mark.parametrize("file", ["tokenizer.json", "model.onnx"])
def test_a_file_that_is_no_model_is_one_kind_of_error(tmp_path: Path, file: str) -> None:
    (tiny_onnx.build(tmp_path / "bad") / file).write_text("{}")
    with pytest.raises(EmbeddingFailed, match="cannot be loaded"):
        registry.load(f"onnx:{tmp_path / 'bad'}", options(tmp_path))


def test_long_texts_are_cut_for_the_service(tmp_path: Path) -> None:
    with embedding_server() as server:
        registry.load("openai:words", options(tmp_path, server.url)).embed_batch(["x" * 50_000], kind="document")
        assert len(server.requests[0]["input"][0]) == MAX_CHARACTERS


def test_a_model_is_loaded_once(tmp_path: Path) -> None:
    spec = f"onnx:{tiny_onnx.build(tmp_path / 'tiny')}"
    assert registry.load(spec, options(tmp_path)) is registry.load(spec, options(tmp_path))


@pytest.mark.parametrize("mode", ["fail", "garbage", "zero"])
def test_a_bad_answer_of_the_service_is_one_kind_of_error(tmp_path: Path, mode: str) -> None:
    with embedding_server() as server:
        embedder = registry.load("openai:words", options(tmp_path, server.url))
        server.mode = mode
        with pytest.raises(EmbeddingFailed):
            embedder.embed_batch(["read"], kind="query")


def test_a_service_that_is_away_is_the_same_kind_of_error(tmp_path: Path) -> None:
    embedder = registry.load("openai:words", options(tmp_path, "http://127.0.0.1:9/v1"))
    with pytest.raises(EmbeddingFailed):
        embedder.embed_batch(["read"], kind="query")


def test_long_lists_go_to_the_service_in_parts(tmp_path: Path) -> None:
    with embedding_server() as server:
        embedder = registry.load("openai:words", options(tmp_path, server.url))
        vectors = embedder.embed_batch([f"word{i}" for i in range(150)], kind="document")
        assert len(vectors) == 150
        assert [len(r["input"]) for r in server.requests] == [64, 64, 22]
        assert np.array_equal(vectors[149], embedder.embed_batch(["word149"], kind="document")[0])


def test_the_query_cache_forgets_the_least_recently_used(tmp_path: Path) -> None:
    with embedding_server() as server:
        embedder = registry.load("openai:words", options(tmp_path, server.url))
        cache = QueryVectors(2)
        for text in ("a", "b", "a", "c", "a", "b"):
            cache.embed(embedder, text, 2)
        assert [r["input"] for r in server.requests] == [["a"], ["b"], ["c"], ["b"]]


def test_a_cache_of_size_zero_keeps_nothing(tmp_path: Path) -> None:
    with embedding_server() as server:
        embedder = registry.load("openai:words", options(tmp_path, server.url))
        cache = QueryVectors(0)
        cache.embed(embedder, "a", 2)
        cache.embed(embedder, "a", 2)
        assert len(server.requests) == 2


@pytest.mark.parametrize("row", [[0.0, 0.0], [float("nan"), 1.0], [float("inf"), 1.0]])
def test_a_vector_without_direction_is_an_error(row: list[float]) -> None:
    with pytest.raises(EmbeddingFailed):
        unit(np.array([row], dtype=np.float32))


def test_nothing_heavy_is_imported_before_it_is_needed() -> None:
    """`manage.py migrate` and the admin must not load a model, torch or an API client."""
    script = (
        "import os, sys, django; os.environ['DJANGO_SETTINGS_MODULE'] = 'config.settings'; django.setup();"
        "import config.urls, search.services, tools_catalog.tasks, embeddings.onnx_model;"
        "heavy = {'onnxruntime', 'tokenizers', 'openai', 'torch', 'sentence_transformers'} & set(sys.modules);"
        "sys.exit(f'imported: {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
