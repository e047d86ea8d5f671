"""Seed 001, the requirement Persistent Embedding Cache. What damage and change do: tests/tools_catalog."""

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pytest_django import Settings
from structlog.testing import capture_logs

from embeddings.cache import config_hash
from tests.openai_server import EmbeddingServer, embedding_server
from tests.processes import ROOT, environment
from tests.world import Entry, make_tools
from tools_catalog.models import EmbeddingSpace
from tools_catalog.services.catalog import server_upsert
from tools_catalog.services.reindex import index_refresh
from tools_catalog.types import ServerSpec, ToolSpec


@pytest.fixture
def service(settings: Settings, tmp_path: Path) -> Iterator[EmbeddingServer]:
    with embedding_server() as server:
        settings.EMBEDDING_OPTIONS = replace(settings.EMBEDDING_OPTIONS, openai_base_url=server.url)
        settings.TOOLSCRIPT_EMBEDDING_MODEL = "openai:words"
        settings.EMBEDDING_CACHE_DIR = tmp_path
        yield server


def texts(service: EmbeddingServer) -> list[str]:
    found = [text for request in service.requests for text in request["input"] if text != "dimension"]
    service.requests.clear()
    return found


def restart_with_a_new_database() -> None:
    EmbeddingSpace.objects.all().delete()
    index_refresh()


def cache_dir(*args: str, **env: str) -> str:
    """Where a command with these arguments keeps its cache."""
    script = (
        "import sys; from cli.main import run; run(['config', '--check', *sys.argv[1:]]);"
        "from django.conf import settings; print(settings.EMBEDDING_CACHE_DIR)"
    )
    full = environment({"DATABASE_URL": "postgresql://h/n", **env})
    command = [sys.executable, "-c", script, *args]
    return subprocess.run(command, cwd=ROOT, env=full, capture_output=True, text=True, check=True).stdout.split()[-1]


class TestCacheLocation:
    def test_cache_location_resolution(self, tmp_path: Path) -> None:
        assert cache_dir(HOME=str(tmp_path)) == str(tmp_path / ".toolscript" / "cache" / "embeddings")

    def test_custom_data_directory_via_environment_variable(self, tmp_path: Path) -> None:
        assert cache_dir(TOOLSCRIPT_DATA_DIR=str(tmp_path / "env")) == str(tmp_path / "env" / "cache" / "embeddings")

    def test_custom_data_directory_via_cli_flag(self, tmp_path: Path) -> None:
        found = cache_dir("--data-dir", str(tmp_path / "flag"), TOOLSCRIPT_DATA_DIR=str(tmp_path / "env"))
        assert found == str(tmp_path / "flag" / "cache" / "embeddings")


ALPHA = Entry("read_file", "Read a file.", (), server="alpha")
BETA = Entry("write_file", "Write a file.", (), server="beta")


@pytest.mark.django_db(transaction=True)
class TestPersistentEmbeddingCache:
    def test_configuration_aware_cache_lookup(self, service: EmbeddingServer, tmp_path: Path) -> None:
        assert config_hash(["beta", "alpha"]) == config_hash(["alpha", "beta"]) != config_hash(["alpha"])
        assert len(config_hash(["alpha"])) == 64
        make_tools(ALPHA)
        index_refresh()
        make_tools(BETA)
        index_refresh()
        names = {f"embeddings-{config_hash(servers)}.json" for servers in (["alpha"], ["alpha", "beta"])}
        assert {file.name for file in tmp_path.iterdir()} == names

    def test_cache_creation_on_first_indexing(self, service: EmbeddingServer, tmp_path: Path) -> None:
        make_tools(ALPHA, BETA)
        index_refresh()
        assert len(texts(service)) == 2
        [file] = tmp_path.iterdir()
        content = json.loads(file.read_text())
        assert content["model"] == "openai:words"
        assert content["version"] == EmbeddingSpace.objects.get().fingerprint
        assert {name: bool(row["hash"]) for name, row in content["tools"].items()} == {
            "alpha__read_file": True,
            "beta__write_file": True,
        }

    def test_cache_validation_on_startup(self, service: EmbeddingServer, settings: Settings, tmp_path: Path) -> None:
        make_tools(ALPHA, BETA)
        index_refresh()
        texts(service)
        restart_with_a_new_database()
        assert texts(service) == []  # loaded, not computed
        settings.TOOLSCRIPT_EMBEDDING_MODEL = "openai:other"
        restart_with_a_new_database()
        assert len(texts(service)) == 2  # another model
        [file] = tmp_path.iterdir()
        file.write_text(file.read_text()[:-9])
        with capture_logs() as logs:
            restart_with_a_new_database()
        assert len(texts(service)) == 2  # damaged
        assert "embedding_cache.ignored" in {entry["event"] for entry in logs}

    def test_incremental_cache_updates(self, service: EmbeddingServer, tmp_path: Path) -> None:
        """A new server means a new file, complete for the new set. (What is known already is not computed again.)"""
        make_tools(ALPHA)
        index_refresh()
        texts(service)
        make_tools(BETA)
        index_refresh()
        assert [text.split(":")[0] for text in texts(service)] == ["beta"]
        new = tmp_path / f"embeddings-{config_hash(['alpha', 'beta'])}.json"
        assert set(json.loads(new.read_text())["tools"]) == {"alpha__read_file", "beta__write_file"}

    def test_cache_invalidation_on_schema_change(self, service: EmbeddingServer, tmp_path: Path) -> None:
        make_tools(ALPHA, BETA)
        index_refresh()
        texts(service)
        [file] = tmp_path.iterdir()
        before = json.loads(file.read_text())["tools"]
        schema = {"type": "object", "properties": {"encoding": {"type": "string"}}}
        changed = ToolSpec("tool", ALPHA.name, ALPHA.description, input_schema=schema)
        server_upsert(ServerSpec("alpha", items=(changed,)))
        index_refresh()
        assert texts(service) == ["alpha: read file. Read a file. encoding"]
        after = json.loads(file.read_text())["tools"]
        assert after["alpha__read_file"] != before["alpha__read_file"]
        assert after["beta__write_file"] == before["beta__write_file"]

    def test_disable_embedding_cache_via_environment(
        self, service: EmbeddingServer, settings: Settings, tmp_path: Path
    ) -> None:
        assert cache_dir(TOOLSCRIPT_SEARCH_NO_CACHE="true", TOOLSCRIPT_DATA_DIR=str(tmp_path / "data")) == "None"
        settings.EMBEDDING_CACHE_DIR = None
        make_tools(ALPHA, BETA)
        index_refresh()
        texts(service)
        restart_with_a_new_database()
        assert len(texts(service)) == 2
        assert list(tmp_path.glob("embeddings-*")) == []
