"""`auto`, `cpu`, `gpu`, on a machine with or without a GPU."""

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

from core.errors import EmbeddingFailed
from embeddings import registry
from embeddings.devices import GPU_PROVIDERS
from embeddings.types import EmbeddingOptions
from tests.embeddings import tiny_onnx, tiny_transformer
from tests.processes import ROOT

HAS_GPU = any(name in onnxruntime.get_available_providers() for name in GPU_PROVIDERS)
needs_torch = pytest.mark.skipif(find_spec("sentence_transformers") is None, reason="there is no sentence-transformers")
# torch and transformers warn about their own future at import.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")


@pytest.mark.parametrize("device", ["auto", "cpu"])
def test_auto_and_cpu_give_the_same_vectors(tmp_path: Path, device: str) -> None:
    folder = tiny_onnx.build(tmp_path / "tiny")
    plain = registry.load(f"onnx:{folder}", EmbeddingOptions(tmp_path))
    chosen = registry.load(f"onnx:{folder}", EmbeddingOptions(tmp_path, threads=2, device=device))
    texts = ["read file", "write"]
    assert np.allclose(plain.embed_batch(texts, kind="document"), chosen.embed_batch(texts, kind="document"), atol=1e-5)
    assert plain.fingerprint == chosen.fingerprint


@pytest.mark.skipif(HAS_GPU, reason="there is a GPU")
def test_gpu_fails_loudly_where_there_is_none(tmp_path: Path) -> None:
    folder = tiny_onnx.build(tmp_path / "tiny")
    with pytest.raises(EmbeddingFailed, match="there is no GPU to use: this onnxruntime has no GPU provider"):
        registry.load(f"onnx:{folder}", EmbeddingOptions(tmp_path, device="gpu"))
    with pytest.raises(EmbeddingFailed, match="there is no GPU to use"):
        registry.load("toolscript-minilm", EmbeddingOptions(tmp_path, device="gpu"))


def test_the_status_is_logged_at_debug_level(tmp_path: Path) -> None:
    folder = tiny_onnx.build(tmp_path / "tiny")
    script = (
        "import sys, pathlib, structlog; from embeddings import registry;"
        "from embeddings.types import EmbeddingOptions;"
        "structlog.configure(processors=[structlog.processors.add_log_level, structlog.processors.JSONRenderer()]);"
        "registry.load(sys.argv[1], EmbeddingOptions(pathlib.Path('.'), device='cpu'))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, f"onnx:{folder}"], capture_output=True, text=True, check=True, cwd=ROOT
    )
    entry = json.loads(done.stdout.splitlines()[0])
    assert (entry["event"], entry["level"], entry["gpu"]) == ("embeddings.device", "debug", False)


@needs_torch
def test_sentence_transformers_honour_the_device(tmp_path: Path) -> None:
    import torch

    tiny_transformer.build(tmp_path / "tiny")
    has_gpu = torch.cuda.is_available() or torch.backends.mps.is_available()
    for device in ("cpu", "auto"):
        embedder: Any = registry.load("st:tiny", EmbeddingOptions(tmp_path, device=device))
        assert (embedder._model.device.type == "cpu") is (device == "cpu" or not has_gpu)
    if not has_gpu:
        with pytest.raises(EmbeddingFailed, match="torch finds none"):
            registry.load("st:tiny", EmbeddingOptions(tmp_path, device="gpu"))
