"""Commands on a machine where no service was ever started."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest
from django.conf import settings

from tests.cli.gateway_stand_in import stand_in
from tests.cli.terminal import invoked, toolscript
from tests.processes import ROOT, environment


@pytest.fixture
def empty_database(tmp_path: Path) -> Iterator[dict[str, str]]:
    """Variables that lead to a database without tables."""
    postgres = settings.EMBEDDED_POSTGRES
    assert postgres is not None
    name = f"first_use_{abs(hash(tmp_path))}"
    with psycopg.connect(postgres.conninfo("postgres"), autocommit=True) as conn:
        conn.execute(f"CREATE DATABASE {name}")
        url = f"postgresql://postgres@{quote(str(postgres.socket_dir), safe='')}/{name}"
        yield {"DATABASE_URL": url, "TOOLSCRIPT_DATA_DIR": str(tmp_path / "data")}
        conn.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["skills", "propose"], "0 tools looked at"),
        (["ingest"], "1 files: 1 created"),
    ],
)
def test_an_empty_database_is_prepared_first(
    args: list[str], says: str, empty_database: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "notes.md").write_text("Tie the boat with two lines.")
    done = toolscript(*args, *([str(tmp_path / "notes.md")] if args == ["ingest"] else []), env=empty_database)
    assert "Traceback" not in done.stderr
    assert done.returncode == 0, done.stderr
    assert says in done.stdout


@pytest.mark.parametrize("args", [["skills", "--help"], ["skills", "list", "--help"], ["skills", "approve", "--help"]])
def test_help_touches_nothing(args: list[str], tmp_path: Path) -> None:
    done = toolscript(*args, env={"TOOLSCRIPT_DATA_DIR": str(tmp_path / "data")})
    assert done.returncode == 0
    assert not (tmp_path / "data").exists()


def test_two_searches_at_once_on_an_empty_folder(tmp_path: Path) -> None:
    env = environment({"TOOLSCRIPT_DATA_DIR": str(tmp_path), "TOOLSCRIPT_DEMO": "false"})
    command = [sys.executable, "-m", "cli", "search", "read a file"]
    pipe = subprocess.PIPE
    both = [subprocess.Popen(command, cwd=ROOT, env=env, stdout=pipe, stderr=pipe, text=True) for _ in range(2)]
    try:
        for process in both:
            said, errors = process.communicate(timeout=180)
            assert process.returncode == 0, errors
            assert said == "No tools found matching query\n"
            assert "The catalogue holds no tools yet: `toolscript sync`" in errors
            assert "Try different keywords" not in errors
    finally:
        from config.postgres import EmbeddedPostgres

        EmbeddedPostgres(tmp_path).stop("immediate")  # who ends last did not start it


def test_a_catalogue_with_tools_is_not_called_empty() -> None:
    with stand_in() as gateway:
        gateway.finds()
        gateway.answers["/tools"] = (200, "application/json", [{"id": "files__read"}])
        assert "Try different keywords" in invoked("search", "read", "--gateway", gateway.url).stderr
        gateway.answers["/tools"] = (200, "application/json", [])
        assert "holds no tools yet" in invoked("search", "read", "--gateway", gateway.url).stderr
