"""What every embedder must do, whichever it is. A new one joins by a line in `PARAMS`."""

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from embeddings import registry
from embeddings.types import Embedder, EmbeddingOptions
from tests.embeddings import tiny_onnx, tiny_transformer
from tests.openai_server import EmbeddingServer, embedding_server


def shipped(tmp_path: Path, server: EmbeddingServer) -> tuple[str, EmbeddingOptions]:
    return "toolscript-minilm", EmbeddingOptions(tmp_path)


def folder(tmp_path: Path, server: EmbeddingServer) -> tuple[str, EmbeddingOptions]:
    return f"onnx:{tiny_onnx.build(tmp_path / 'tiny')}", EmbeddingOptions(tmp_path)


def named(tmp_path: Path, server: EmbeddingServer) -> tuple[str, EmbeddingOptions]:
    tiny_onnx.build(tmp_path / "models" / "bge-small-en-v1.5", pooled=True, token_types=False)
    return "Xenova/bge-small-en-v1.5", EmbeddingOptions(tmp_path / "models")


def carried(tmp_path: Path, server: EmbeddingServer) -> tuple[str, EmbeddingOptions]:
    return "all-MiniLM-L6-v2", EmbeddingOptions(tmp_path)


def openai(tmp_path: Path, server: EmbeddingServer) -> tuple[str, EmbeddingOptions]:
    return "openai:words", EmbeddingOptions(tmp_path, openai_base_url=server.url)


def sentence_transformer(tmp_path: Path, server: EmbeddingServer) -> tuple[str, EmbeddingOptions]:
    tiny_transformer.build(tmp_path / "tiny")
    return "st:tiny", EmbeddingOptions(tmp_path)


needs_torch = pytest.mark.skipif(find_spec("sentence_transformers") is None, reason="there is no sentence-transformers")
PARAMS = [shipped, folder, named, carried, openai, pytest.param(sentence_transformer, marks=needs_torch)]

# torch and transformers warn about their own future at import.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")


@pytest.fixture(params=PARAMS, ids=["shipped", "folder", "named", "carried", "openai", "sentence_transformer"])
def embedder(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Embedder]:
    with embedding_server() as server:
        yield registry.load(*request.param(tmp_path, server))


TEXTS = ["read the file", "write the calendar event", "commit a branch " * 30, "meeting"]


def test_one_unit_vector_a_text(embedder: Embedder) -> None:
    vectors = embedder.embed_batch(TEXTS, kind="document")
    assert vectors.shape == (4, embedder.dim)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_no_vector_depends_on_its_batch_mates(embedder: Embedder) -> None:
    together = embedder.embed_batch(TEXTS, kind="document")
    alone = np.concatenate([embedder.embed_batch([text], kind="document") for text in TEXTS])
    assert np.array_equal(together, alone)


def test_no_texts_give_no_vectors(embedder: Embedder) -> None:
    assert embedder.embed_batch([], kind="query").shape == (0, embedder.dim)


def test_the_same_text_gives_the_same_vector(embedder: Embedder) -> None:
    first, second = (embedder.embed_batch(["read the file"], kind="query") for _ in range(2))
    assert np.array_equal(first, second)


def test_it_says_who_it_is(embedder: Embedder) -> None:
    assert embedder.name
    assert len(embedder.fingerprint) >= 16


def test_odd_texts_are_embedded_too(embedder: Embedder) -> None:
    vectors = embedder.embed_batch(["", " ", "🗓️", "\x00", "x" * 20_000, "会议"], kind="query")
    assert np.all(np.isfinite(vectors))


def test_it_says_which_words_it_has_learned(embedder: Embedder) -> None:
    assert embedder.knows("xqzzvw") is embedder.remote  # of a remote one nobody can tell


def test_the_shipped_one_tells_words_from_typing_errors(tmp_path: Path) -> None:
    embedder = registry.load("toolscript-minilm", EmbeddingOptions(tmp_path))
    assert [embedder.knows(word) for word in ("read", "looking", "raed", "shcedule")] == [True, True, False, False]
