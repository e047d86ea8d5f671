"""`toolscript eval` on a small set: real strategies, a database of its own, clear errors."""

import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import connection

from search.services.evaluation import evaluate, measures, read_set
from search.services.scratch import scratch_database, scratch_prefix
from tests.cli.terminal import invoked
from tests.processes import ROOT, environment
from tests.world import make_world
from tools_catalog.models import Tool

TOOLS = [
    {"id": "a", "server": "Files/Disk", "name": "read_file", "description": "Read a file.", "input_schema": None},
    {"id": "b", "server": "", "name": "create_event", "description": "Create a calendar event.", "input_schema": {}},
    {"id": "c", "server": "", "name": "create_event_2", "description": "Send mail to people."},
]
QUERIES = [{"id": "1", "query": "read a file from disk", "gold": ["a"]}, {"query": "write a mail", "gold": ["c"]}]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path, TOOLS, QUERIES)
    return tmp_path


def write(folder: Path, tools: list[Any], queries: list[Any]) -> None:
    for name, lines in (("tools", tools), ("queries", queries)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def own_prefix() -> str:
    return scratch_prefix(str(connection.settings_dict["NAME"]))


def scratch_databases() -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT datname FROM pg_database WHERE starts_with(datname, %s)", [own_prefix()])
        return [row[0] for row in cursor.fetchall()]


def test_measures_are_those_of_the_textbook() -> None:
    found = measures(["x", "a", "y", "b"], frozenset({"a", "b", "c"}))
    ideal = 1 + 1 / math.log2(3) + 1 / 2
    assert found == {
        "recall@1": 0,
        "recall@5": pytest.approx(2 / 3),
        "ndcg@10": pytest.approx((1 / math.log2(3) + 1 / math.log2(5)) / ideal),
        "mrr@10": 0.5,
    }
    assert measures([], frozenset({"a"}))["ndcg@10"] == 0


@pytest.mark.django_db(transaction=True)
def test_the_catalogue_is_left_alone_and_nothing_stays_behind(folder: Path) -> None:
    make_world()
    before = list(Tool.objects.order_by("pk").values())
    seen: set[str] = set()
    with connection.cursor() as cursor:  # what a killed run leaves
        cursor.execute(f"CREATE DATABASE {own_prefix()}1_left")
    strategies = ["direct", "hybrid", "hierarchical", "gateway"]
    scores = evaluate(folder, strategies, lambda label, done, total: seen.add(label))
    assert scores["hybrid"] == {"recall@1": 1, "recall@5": 1, "ndcg@10": 1, "mrr@10": 1}
    assert list(scores) == strategies
    assert {"servers", "tools", "hybrid"} <= seen
    assert list(Tool.objects.order_by("pk").values()) == before
    assert scratch_databases() == []


@pytest.mark.django_db(transaction=True)
def test_a_failure_inside_leaves_nothing_behind() -> None:
    def fail() -> None:
        with scratch_database():
            assert Tool.objects.count() == 0
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert scratch_databases() == []


@pytest.mark.parametrize(
    ("tools", "queries", "message"),
    [
        (TOOLS, [{"query": "x", "gold": ["zz"]}], "no tool has the id 'zz'"),
        (TOOLS, [{"query": "x"}], "line 1 needs query, gold"),
        ([*TOOLS, TOOLS[0]], QUERIES, "two tools have the same id"),
        ([], QUERIES, "no tool has the id"),
        (TOOLS, [], "no queries"),
        (TOOLS, [{"query": "x", "gold": 5}], "line 1: gold is no list of ids"),
        (TOOLS, [{"query": "x", "gold": "a"}], "line 1: gold is no list of ids"),
        (TOOLS, [{"query": "x", "gold": []}], "line 1: gold is empty"),
    ],
)
def test_a_bad_set_is_named(tmp_path: Path, tools: list[Any], queries: list[Any], message: str) -> None:
    from core.errors import ValidationFailed

    write(tmp_path, tools, queries)
    with pytest.raises(ValidationFailed, match=message):
        read_set(tmp_path)


def test_a_database_that_is_away_is_worth_another_try(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(connection.settings_dict, "HOST", "127.0.0.1")
    monkeypatch.setitem(connection.settings_dict, "PORT", "9")
    done = invoked("eval", str(folder))
    assert done.returncode == 3
    assert "The database is not reachable" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_lines_are_counted_as_an_editor_counts_them(folder: Path) -> None:
    from core.errors import ValidationFailed

    (folder / "queries.jsonl").write_text('\n\n{"query": "x", "gold": ["zz"]}\n')
    with pytest.raises(ValidationFailed, match="line 3: no tool has the id 'zz'"):
        read_set(folder)


def test_an_id_may_be_zero_and_a_text_hold_a_nul(tmp_path: Path) -> None:
    write(tmp_path, [{"id": 0, "name": "a\0b", "description": "a \\u0000 b"}], [{"query": "x", "gold": [0]}])
    given = read_set(tmp_path)
    assert given.questions[0].gold == {"0"}
    assert (given.tools[0]["name"], given.tools[0]["description"]) == ("a b", "a \\u0000 b")


def test_the_command_prints_json(folder: Path, transactional_db: None) -> None:
    env = environment({"TOOLSCRIPT_DATA_DIR": str(settings.DATA_DIR)})
    command = [sys.executable, "-m", "cli", "eval", str(folder), "--strategy", "hybrid", "--output", "json"]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["strategies"]["hybrid"]["ndcg@10"] == 1
    assert "hybrid: 2/2\n" in done.stderr
    own = scratch_prefix("toolscript")
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM pg_database WHERE starts_with(datname, %s)", [own])
        assert cursor.fetchone() is None


def test_the_command_says_what_is_wrong_with_a_set(tmp_path: Path) -> None:
    env = environment({"TOOLSCRIPT_DATA_DIR": str(settings.DATA_DIR)})
    command = [sys.executable, "-m", "cli", "eval", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1
    assert "tools.jsonl cannot be read" in done.stderr
    assert "Traceback" not in done.stderr
