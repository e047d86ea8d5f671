"""Seed 001, the requirements Embedding Model Support and Advanced Configuration (device)."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import onnxruntime
import psycopg
import pytest
from django.conf import settings as service
from django.db import connection

from core.errors import EmbeddingFailed
from embeddings import registry
from embeddings.devices import GPU_PROVIDERS
from embeddings.onnx_model import BGE_PREFIX
from embeddings.types import EmbeddingOptions
from tests.cli.gateway_stand_in import stand_in
from tests.cli.terminal import invoked, toolscript
from tests.conftest import Api
from tests.embeddings import tiny_onnx
from tests.processes import ROOT
from tests.seeds.world_001 import make_world_001
from tools_catalog.models import EmbeddingSpace

NEW = "seed_001_models"


@pytest.fixture(scope="module")
def database(django_db_setup: None) -> Iterator[str]:
    """An empty database beside that of the tests, for a command that works in a process of its own."""
    host = str(service.DATABASES["default"]["HOST"])
    with psycopg.connect(host=host, user="postgres", dbname="postgres", autocommit=True) as admin:
        admin.execute(f"DROP DATABASE IF EXISTS {NEW} WITH (FORCE)")
        admin.execute(f"CREATE DATABASE {NEW}")
        yield f"postgresql://postgres@{quote(host, safe='')}/{NEW}"
        admin.execute(f"DROP DATABASE {NEW} WITH (FORCE)")


@pytest.fixture(scope="module")
def first(database: str, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """The first search of all: no gateway, nothing prepared, another data folder by a flag."""
    folder = tmp_path_factory.mktemp("custom") / "path"
    done = toolscript("search", "read a file", "--data-dir", str(folder), env={"DATABASE_URL": database}, timeout=300)
    assert done.returncode == 0, done.stderr
    return folder, done


class TestEmbeddingModelSupport:
    def test_default_model_initialization(
        self, database: str, first: tuple[Path, subprocess.CompletedProcess[str]]
    ) -> None:
        """The default is the shipped model, which needs no download; its vectors are built with progress shown."""
        folder, done = first
        assert "read_file" in done.stdout.splitlines()[1]
        assert "Preparing the catalogue" in done.stderr
        assert "157/157" in done.stderr
        assert len(list((folder / "cache" / "embeddings").glob("embeddings-*.json"))) == 1
        with psycopg.connect(database) as conn:
            rows = conn.execute("SELECT model FROM tools_catalog_embeddingspace WHERE is_live").fetchall()
        assert rows == [("toolscript-minilm",)]

    def test_model_selection_via_cli(
        self, database: str, first: tuple[Path, subprocess.CompletedProcess[str]], tmp_path: Path
    ) -> None:
        """Used for this search; the model that is live stays live."""
        model = f"onnx:{tiny_onnx.build(tmp_path / 'tiny')}"
        args = ("search", "read a file", "--data-dir", str(first[0]), "--model", model)
        done = toolscript(*args, env={"DATABASE_URL": database}, timeout=300)
        assert done.returncode == 0, done.stderr
        assert "tools: 157/157" in done.stderr
        with psycopg.connect(database) as conn:
            rows = conn.execute("SELECT model FROM tools_catalog_embeddingspace ORDER BY is_live").fetchall()
        assert rows == [(model,), ("toolscript-minilm",)]

    def test_model_selection_via_environment_variable(self) -> None:
        with stand_in() as gateway:
            gateway.answers["/ready"] = (200, "application/json", {"status": "ok", "checks": {}, "model": "theirs"})
            gateway.finds()
            env = {"TOOLSCRIPT_GATEWAY_URL": gateway.url, "TOOLSCRIPT_SEARCH_MODEL": "Xenova/all-MiniLM-L6-v2"}
            done = invoked("search", "query", env=env)
            assert done.returncode == 1
            assert "searches with theirs, not with Xenova/all-MiniLM-L6-v2" in done.stderr
            assert invoked("search", "query", "--model", "theirs", env=env).returncode == 0
        script = "from django.conf import settings; print(settings.TOOLSCRIPT_EMBEDDING_MODEL)"
        assert _settings(script, TOOLSCRIPT_SEARCH_MODEL="all-MiniLM-L6-v2") == "all-MiniLM-L6-v2"

    def test_query_prefix_for_retrieval_optimization(self, tmp_path: Path) -> None:
        tiny_onnx.build(tmp_path / "bge-small-en-v1.5", pooled=True)
        tiny_onnx.build(tmp_path / "plain", pooled=True)
        options = EmbeddingOptions(tmp_path)
        bge, plain = (registry.load(name, options) for name in ("Xenova/bge-small-en-v1.5", "plain"))
        expected = plain.embed_batch([BGE_PREFIX + "read file"], kind="query")
        assert BGE_PREFIX == "Represent this sentence for searching relevant passages: "
        assert np.array_equal(bge.embed_batch(["read file"], kind="query"), expected)
        tool = plain.embed_batch(["read file"], kind="document")
        assert np.array_equal(bge.embed_batch(["read file"], kind="document"), tool)

    @pytest.mark.django_db(transaction=True)
    def test_graceful_fallback_on_model_failure(self, api: Api) -> None:
        make_world_001()
        EmbeddingSpace.objects.update(model="a-model-that-is-gone")
        env = {"TOOLSCRIPT_GATEWAY_URL": str(api.http.base_url)}
        done = invoked("search", "read_fil", "--output", "json", env=env)
        found = json.loads(done.stdout)
        assert found["degraded"] is True
        assert found["results"][0]["toolName"] == "read_file"
        assert "matches by words only" in done.stderr
        connection.close()


def pretend_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """An onnxruntime that knows of CUDA on a machine where it cannot be started."""
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: ["CUDAExecutionProvider"])


HAS_GPU = any(name in onnxruntime.get_available_providers() for name in GPU_PROVIDERS)


@pytest.mark.skipif(HAS_GPU, reason="there is a GPU; benchmarks/device.py tries it")
@pytest.mark.filterwarnings("ignore:Specified provider")
class TestDevices:
    def test_gpu_acceleration(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Attempted where it is offered, given up for the CPU where it fails. (tests/embeddings has the log line.)"""
        pretend_gpu(monkeypatch)
        folder = tiny_onnx.build(tmp_path / "tiny")
        embedder = registry.load(f"onnx:{folder}", EmbeddingOptions(tmp_path, device="auto"))
        assert embedder.embed_batch(["read"], kind="query").shape == (1, tiny_onnx.DIM)

    def test_disable_gpu_acceleration_via_environment(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        asked: list[list[str]] = []

        class Watched(onnxruntime.InferenceSession):
            def __init__(self, *args: Any, providers: list[str], **rest: Any) -> None:
                asked.append(providers)
                super().__init__(*args, providers=providers, **rest)

        monkeypatch.setattr(onnxruntime, "InferenceSession", Watched)
        pretend_gpu(monkeypatch)
        folder = tiny_onnx.build(tmp_path / "tiny")
        registry.load(f"onnx:{folder}", EmbeddingOptions(tmp_path, device="cpu"))
        assert asked == [["CPUExecutionProvider"]]
        script = "from django.conf import settings; print(settings.EMBEDDING_OPTIONS.device)"
        assert _settings(script, TOOLSCRIPT_SEARCH_DEVICE="cpu") == "cpu"

    def test_force_gpu_acceleration_via_environment(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        folder = tiny_onnx.build(tmp_path / "tiny")
        with pytest.raises(EmbeddingFailed, match="no GPU to use"):
            registry.load(f"onnx:{folder}", EmbeddingOptions(tmp_path, device="gpu"))
        pretend_gpu(monkeypatch)
        with pytest.raises(EmbeddingFailed, match="CUDAExecutionProvider"):
            registry.load(f"onnx:{folder}", EmbeddingOptions(tmp_path, device="gpu"))
        script = "from django.conf import settings; print(settings.EMBEDDING_OPTIONS.device)"
        assert _settings(script, TOOLSCRIPT_SEARCH_DEVICE="gpu") == "gpu"


def _settings(script: str, **env: str) -> str:
    from tests.processes import environment

    full = environment({"DJANGO_SETTINGS_MODULE": "config.settings", "DATABASE_URL": "postgresql://h/n", **env})
    command = [sys.executable, "-c", script]
    return subprocess.run(command, cwd=ROOT, env=full, capture_output=True, text=True, check=True).stdout.strip()
