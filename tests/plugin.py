"""Loaded before Django's settings are: gives the whole run a Postgres, a data folder and a broker of its own."""

import atexit
import os
import shutil
import signal
import tempfile
from pathlib import Path
from typing import Any

import pytest

MARK = "TOOLSCRIPT_TEST_ROOT"
LONG = (
    "test_up",
    "test_broker",
    "test_up_servers",
    "test_openapi",
    "test_pages",
    "test_processes",
    "test_whole_path",
)
"""Files that take long, longest first: no worker should be left alone with one at the end."""
BETWEEN = 3
INHERITED = ("DATABASE_URL", "OPENAI_API_KEY", "OPENAI_BASE_URL", "PORT", "REDIS_URL")


TOGETHER = {"tests/mcp_endpoint/test_processes.py": "tests/test_pages.py"}
"""Files that another one's worker runs too, because they use the same service: starting it is most of their work."""


def _set_up() -> None:
    from config.postgres import EmbeddedPostgres

    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):  # a run in the background ignores them otherwise
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    for name in list(os.environ):
        if name.startswith("TOOLSCRIPT_") or name in INHERITED:
            del os.environ[name]
    root = Path(tempfile.mkdtemp(prefix="toolscript-test-"))
    os.environ |= {MARK: str(root), "TOOLSCRIPT_DATA_DIR": str(root), "TOOLSCRIPT_SKILL_CACHE_SECONDS": "0"}
    os.environ["TOOLSCRIPT_SEARCH_NO_CACHE"] = "true"  # a test must not find what another one embedded
    os.environ["TOOLSCRIPT_ANONYMOUS_PER_MINUTE"] = "0"  # hundreds of tests ask from one address
    os.environ["TOOLSCRIPT_CONFIG"] = str(root / "no-servers.json")  # and not what the developer has at home
    # Nothing here speaks TLS, and reading all certificates for each HTTP client takes longer than most requests.
    os.environ.pop("SSL_CERT_FILE", None)
    os.environ["SSL_CERT_DIR"] = str(root)
    postgres = EmbeddedPostgres(root, throwaway=True)
    postgres.start()

    def tear_down() -> None:
        postgres.stop("immediate")
        shutil.rmtree(root, ignore_errors=True)

    atexit.register(tear_down)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long files begin early, a few short ones after each: all at once, they would only slow each other."""
    files: dict[Path, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.path, []).append(item)
    long = [tests for name in LONG for path, tests in files.items() if path.stem == name]
    short = [tests for path, tests in files.items() if path.stem not in LONG]
    ordered: list[list[pytest.Item]] = []
    for tests in long:
        ordered += [tests, *short[:BETWEEN]]
        del short[:BETWEEN]
    items[:] = [item for tests in [*ordered, *short] for item in tests]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """File by file, as `--dist loadfile`."""
    from xdist.scheduler import LoadFileScheduling

    class Files(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file: str = super()._split_scope(nodeid)
            return TOGETHER.get(file, file)

    return Files(config, log)


# The workers of a parallel run inherit the environment of the process that started the server.
if MARK not in os.environ:
    _set_up()
