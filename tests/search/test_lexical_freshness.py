"""Every process sees what changes in the catalogue, and no search waits for a build that is not its own business."""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from django.db import connection
from pytest_django import Settings

from search import selectors
from search.lexical.store import Store
from tests.processes import ROOT, environment
from tests.world import Entry, make_tools
from tools_catalog.models import Tool
from tools_catalog.services.catalog import server_set_active, tool_set_active

CHILD = """
import json, sys, django
django.setup()
from search.services import gateway_search
for line in sys.stdin:
    hits = gateway_search(line.strip(), limit=50, threshold=0).hits
    print(json.dumps([hit.tool.name for hit in hits]), flush=True)
"""


@pytest.fixture
def other_process(transactional_db: None) -> Iterator[Any]:
    """Another process with the same database, which answers a query a line."""
    params = connection.settings_dict
    url = f"postgresql://{params['USER']}@{quote(str(params['HOST']), safe='')}:{params['PORT']}/{params['NAME']}"
    env = environment(
        {
            "DATABASE_URL": url,
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "TOOLSCRIPT_SKILL_CACHE_SECONDS": "0",
            "TOOLSCRIPT_LEXICAL_TIMEOUT": "30",
            "TOOLSCRIPT_REQUEST_TIMEOUT": "30",
            "TOOLSCRIPT_LOG_LEVEL": "ERROR",
        }
    )
    command = [sys.executable, "-c", CHILD]
    with subprocess.Popen(
        command, cwd=ROOT, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None

        def ask(query: str) -> list[str]:
            process.stdin.write(query + "\n")  # type: ignore[union-attr]
            process.stdin.flush()  # type: ignore[union-attr]
            return json.loads(process.stdout.readline())  # type: ignore[no-any-return, union-attr]

        yield ask
        process.stdin.close()
        process.wait(30)


def test_another_process_sees_every_change_with_its_next_search(other_process: Any) -> None:
    make_tools(Entry("read_file", "Read a file.", ()), Entry("write_file", "Write a file.", ()))
    assert other_process("file") == ["read_file", "write_file"]
    tools = make_tools(Entry("move_file", "Move a file.", (), server="beta"))
    assert "move_file" in other_process("file")
    tool_set_active(tools["move_file"], active=False)
    assert "move_file" not in other_process("file")
    make_tools(Entry("read_file", "Reads a scroll.", ()))
    assert other_process("scroll") == ["read_file"]
    Tool.objects.filter(name="write_file").delete()
    assert other_process("write_file") == ["read_file"] or "write_file" not in other_process("write_file")
    server_set_active(tools["move_file"].server, active=False)
    assert "move_file" not in other_process("move_file")


def test_an_unchanged_tool_is_not_read_again(world: dict[str, Tool], monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store()
    store.get(30)
    read: list[int] = []
    sources = selectors.catalog_sources

    def counting(tool_ids: Any) -> Any:
        read.extend(tool_ids)
        return sources(tool_ids)

    monkeypatch.setattr(selectors, "catalog_sources", counting)
    Tool.objects.filter(pk=world["read_file"].pk).update(description="Another text.", content_hash="other")
    assert "text" in store.get(30).vocabulary
    assert read == [world["read_file"].pk]


def test_the_old_index_answers_while_the_new_one_is_built(
    world: dict[str, Tool], settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store()
    old = store.get(30)
    settings.SKILL_CACHE_SECONDS = 60
    begun, go_on = threading.Event(), threading.Event()
    keys = selectors.catalog_keys

    def slow() -> Any:
        begun.set()
        go_on.wait(30)
        return keys()

    monkeypatch.setattr(selectors, "catalog_keys", slow)
    tool_set_active(world["read_file"], active=False)
    store._version._entry = None  # the half second is over
    assert store.get(30) is old
    assert begun.wait(30)
    assert store.get(30) is old
    building = store._building
    go_on.set()
    assert building is not None
    assert building.wait(30)
    assert world["read_file"].pk not in store.get(30).entries
