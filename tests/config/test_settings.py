"""Settings fail loudly at the start, in one line."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from benchmarks.service import free_port
from config import env
from config.secret import kept_secret
from tests.processes import environment, manage


@pytest.mark.parametrize(
    ("read", "raw"),
    [
        (lambda: env.integer("X_TEST", 5, 1, 10), "11"),
        (lambda: env.integer("X_TEST", 5, 1, 10), "five"),
        (lambda: env.seconds("X_TEST", 5), "-1"),
        (lambda: env.seconds("X_TEST", 5), "nan"),
        (lambda: env.flag("X_TEST", default=True), "perhaps"),
        (lambda: env.choice("X_TEST", "a", ("a", "b")), "c"),
    ],
)
def test_a_bad_value_is_named_with_what_would_be_good(monkeypatch: pytest.MonkeyPatch, read: object, raw: str) -> None:
    monkeypatch.setattr(env, "DECLARED", {})
    monkeypatch.setenv("X_TEST", raw)
    with pytest.raises(env.SettingError, match=f"X_TEST='{raw}' is not valid"):
        read()  # type: ignore[operator]


def test_blank_counts_as_not_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(env, "DECLARED", {})
    monkeypatch.setenv("X_TEST", "  ")
    assert env.integer("X_TEST", 5, 1, 10) == 5
    assert env.words("X_TEST", ("a",)) == ["a"]


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"PORT": "99999"}, "PORT='99999' is not valid"),
        ({"DATABASE_URL": "mysql://localhost/x"}, "DATABASE_URL must start with postgresql://"),
        ({"DATABASE_URL": "nonsense"}, "DATABASE_URL"),
        ({"TOOLSCRIPT_PRODUCTION": "true"}, "TOOLSCRIPT_SECRET_KEY must be set"),
        (
            {"TOOLSCRIPT_PRODUCTION": "true", "TOOLSCRIPT_SECRET_KEY": "x" * 50, "TOOLSCRIPT_DEBUG_BYPASS_AUTH": "1"},
            "TOOLSCRIPT_DEBUG_BYPASS_AUTH cannot be true when TOOLSCRIPT_PRODUCTION is true",
        ),
        ({"TOOLSCRIPT_JWT_SECRET": "short"}, "TOOLSCRIPT_JWT_SECRET must have at least 32 characters"),
    ],
)
def test_the_process_does_not_start_and_says_why(tmp_path: Path, values: dict[str, str], says: str) -> None:
    done = manage("check", env=environment({"TOOLSCRIPT_DATA_DIR": str(tmp_path), **values}))
    assert done.returncode != 0
    assert says in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("command", ["up", "prepare"])
def test_a_database_that_is_away_is_said_without_a_trace(tmp_path: Path, command: str) -> None:
    url = f"postgresql://nobody@127.0.0.1:{free_port()}/nothing"
    values = {"TOOLSCRIPT_DATA_DIR": str(tmp_path), "DATABASE_URL": url, "PORT": str(free_port())}
    done = manage(command, env=environment(values))
    assert done.returncode != 0
    assert "The database is not reachable" in done.stderr
    assert "Traceback" not in done.stderr


def test_whoever_makes_a_secret_at_the_same_moment_gets_the_same_one(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        for number in range(50):
            path = tmp_path / str(number) / "secret"
            together = Barrier(8)

            def make(_: int, path: Path = path, together: Barrier = together) -> str:
                together.wait()
                return kept_secret(path)

            [secret] = set(pool.map(make, range(8)))
            assert len(secret) >= 48
            assert [file.name for file in path.parent.iterdir()] == ["secret"]


def test_an_empty_secret_is_none(tmp_path: Path) -> None:
    """As a process that was killed while it wrote one left it, before they were written aside."""
    (tmp_path / "secret").touch()
    assert len(kept_secret(tmp_path / "secret")) >= 48
    assert kept_secret(tmp_path / "secret") == (tmp_path / "secret").read_text()


def test_the_secret_key_is_made_once_and_kept_private(tmp_path: Path) -> None:
    folder = environment({"TOOLSCRIPT_DATA_DIR": str(tmp_path)})
    keys = {
        manage(
            "shell", "-v", "0", "-c", "from django.conf import settings; print(settings.SECRET_KEY)", env=folder
        ).stdout
        for _ in range(2)
    }
    assert len(keys) == 1
    assert (tmp_path / "secret_key").stat().st_mode & 0o777 == 0o600
