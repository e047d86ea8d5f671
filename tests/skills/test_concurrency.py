"""Many at once: constraints hold, nothing is done twice, and the index says what the truth says."""

import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection, connections
from pytest_django import Settings

from llm.types import ChatOptions
from skills.models import Assignment, ClassificationRun, Skill, SkillVector, ToolClassification
from skills.services.assignments import tool_assign, tools_reclassify
from skills.services.curation import skill_delete
from skills.services.freshness import refresh_begin, refresh_claim, skills_refresh_live
from skills.services.index_check import index_check
from skills.services.pipeline import classify_batch
from skills.types import SkillChoice
from tests.chat_server import ChatServer, chat_server, filed
from tests.processes import ROOT, celery_worker, environment, eventually
from tests.world import Entry, make_skill, make_tools
from tools_catalog.models import EmbeddingSpace, Tool, ToolEmbedding, ToolVector
from tools_catalog.services.catalog import server_upsert
from tools_catalog.services.reindex import index_refresh
from tools_catalog.types import ServerSpec, ToolSpec

pytestmark = pytest.mark.django_db(transaction=True)
WORKERS = 4


@pytest.fixture(scope="module")
def endpoint() -> Iterator[ChatServer]:
    with chat_server() as running:
        yield running


@pytest.fixture
def chat(endpoint: ChatServer, settings: Settings, transactional_db: None) -> ChatServer:
    endpoint.modes, endpoint.requests = ["ok"], []
    endpoint.answer = lambda prompt: filed(("weather", 0.9), ("maps", 0.6))
    settings.CHAT_MODEL = "tiny"
    settings.CHAT_OPTIONS = ChatOptions(base_url=endpoint.url, timeout=20)
    for skill in ("weather", "maps", "mail"):
        make_skill(skill)
    return endpoint


def publish(count: int) -> list[Tool]:
    items = tuple(ToolSpec("tool", f"forecast_{n}", "Forecast for a place.") for n in range(count))
    server_upsert(ServerSpec("sky", items=items))
    return list(Tool.objects.order_by("pk"))


def at_once(work: Callable[[int], object], workers: int = WORKERS) -> None:
    """Runs it in threads that begin together, each with a database connection of its own."""
    gate = threading.Barrier(workers)

    def run(number: int) -> object:
        try:
            gate.wait()
            return work(number)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(workers) as pool:
        for result in [pool.submit(run, number) for number in range(workers)]:
            result.result()


def differences() -> list[str]:
    return [finding.what for finding in index_check() if finding.count]


def test_four_workers_share_the_queue_and_send_no_tool_twice(chat: ChatServer, settings: Settings) -> None:
    settings.CLASSIFY_BATCH = 3
    tools = publish(24)

    def work(_: int) -> None:
        while classify_batch():
            pass

    at_once(work)
    names = Counter(name for r in chat.requests for name in [r["messages"][1]["content"].split('"name": "')[-1][:12]])
    assert len(chat.requests) == 24
    assert max(names.values()) == 1
    assert Assignment.objects.count() == 48
    run = ClassificationRun.objects.get()
    assert (run.status, run.assigned, run.total) == ("done", 24, 24)
    assert len(tools) == 24


def test_the_same_tool_classified_by_four_at_once_has_no_duplicates(chat: ChatServer) -> None:
    [tool] = publish(1)
    index_refresh()
    answers = [("weather", "maps"), ("maps", "mail"), ("mail", "weather"), ("weather", "mail")]
    turn = iter(answers * 50)
    lock = threading.Lock()

    def answer(prompt: str) -> dict[str, object]:
        with lock:
            first, second = next(turn)
        return filed((first, 0.9), (second, 0.7))

    chat.answer = answer

    def work(number: int) -> None:
        for _ in range(4):
            tools_reclassify([tool.pk])
            classify_batch()
            if number == 0:
                skills_refresh_live()

    at_once(work)
    rows = list(tool.assignments.values_list("skill_id", "is_primary"))
    assert tuple(skill for skill, _ in rows) in answers
    assert [primary for _, primary in rows] == [True, False]
    skills_refresh_live()
    assert differences() == []


def test_a_skill_deleted_during_classification_gets_nothing(chat: ChatServer) -> None:
    [tool] = publish(1)
    index_refresh()

    def answer(prompt: str) -> dict[str, object]:
        if "weather" in prompt.split("<tool_data>", maxsplit=1)[0]:
            skill_delete(Skill.objects.get(pk="weather"))
            connections.close_all()
            return filed(("weather", 0.9))
        return filed(("maps", 0.8))

    chat.answer = answer
    classify_batch()
    assert not tool.assignments.exists()
    assert ToolClassification.objects.get(tool=tool).status == "pending"
    classify_batch()
    assert [a.skill_id for a in tool.assignments.all()] == ["maps"]
    skills_refresh_live()
    assert differences() == []


def test_a_person_who_files_it_meanwhile_wins(chat: ChatServer) -> None:
    [tool] = publish(1)

    def answer(prompt: str) -> dict[str, object]:
        tool_assign(tool, [SkillChoice("mail", 1.0)])
        connections.close_all()
        return filed(("weather", 0.9))

    chat.answer = answer
    classify_batch()
    assert [(a.skill_id, a.source) for a in tool.assignments.all()] == [("mail", "human")]
    assert ClassificationRun.objects.get().skipped == 1


def test_a_tool_that_changes_meanwhile_is_looked_at_again(chat: ChatServer) -> None:
    [tool] = publish(1)
    seen: list[str] = []

    def answer(prompt: str) -> dict[str, object]:
        seen.append(prompt)
        if len(seen) == 1:
            server_upsert(ServerSpec("sky", items=(ToolSpec("tool", tool.name, "Now about mail."),)))
            connections.close_all()
        return filed(("mail" if "Now about mail" in prompt else "weather", 0.9))

    chat.answer = answer
    while classify_batch():
        pass
    assert len(seen) == 2
    assert [a.skill_id for a in tool.assignments.all()] == ["mail"]


class TestBurst:
    def test_of_500_changes_each_skill_is_computed_once(self, settings: Settings) -> None:
        tools, space = self.catalogue(250)
        skills_refresh_live()
        asked: list[bool] = []

        def work(number: int) -> None:
            for tool in tools[number::WORKERS]:
                for skill in ("a", "b"):
                    tool_assign(tool, [SkillChoice(skill, 0.9), SkillChoice("c", 0.6)])
                    asked.append(refresh_claim())

        at_once(work)
        assert (len(asked), sum(asked)) == (500, 1)
        refresh_begin()
        computed: list[str] = []
        at_once(lambda number: computed.extend(skills_refresh_live()))
        assert sorted(computed) == ["b", "c"]  # every tool went through a and ended in b: a is as it was
        assert SkillVector.objects.get(skill_id="b", space=space).tool_count == 250
        assert differences() == []

    def test_a_change_during_a_refresh_asks_for_another(self) -> None:
        assert refresh_claim()
        assert not refresh_claim()
        refresh_begin()
        assert refresh_claim()

    @staticmethod
    def catalogue(count: int) -> tuple[list[Tool], EmbeddingSpace]:
        """Tools with made-up vectors: what is tried here is not the embedding."""
        for skill in "abc":
            make_skill(skill)
        make_tools(Entry("one", "To have an index at all.", ()))
        index_refresh()
        space = EmbeddingSpace.objects.get()
        tools = [tool for tool in publish(count) if tool.name != "one"]
        vectors = np.random.default_rng(1).normal(size=(count, space.dim)).astype(np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        ToolEmbedding.objects.bulk_create(
            ToolEmbedding(tool=t, space=space, part="text", key="k", vector=v)
            for t, v in zip(tools, vectors, strict=True)
        )
        ToolVector.objects.bulk_create(
            ToolVector(
                tool=t, space=space, server_id=t.server_id, type=t.type, is_active=True, key=t.index_key, vector=v
            )
            for t, v in zip(tools, vectors, strict=True)
        )
        return tools, space


class TestACrash:
    def test_a_killed_workers_tools_are_taken_up_again(self, chat: ChatServer) -> None:
        publish(3)
        chat.modes = ["hang"]
        process = self.start(chat)
        assert eventually(lambda: len(chat.requests) == 3, 60)
        process.kill()
        process.wait()
        assert ToolClassification.objects.filter(status="claimed").count() == 3
        assert classify_batch() == 0  # the claims still hold
        chat.modes = ["ok"]
        ToolClassification.objects.update(claimed_until="2020-01-01T00:00:00Z")
        assert classify_batch() == 3
        assert Assignment.objects.count() == 6
        assert ClassificationRun.objects.get().assigned == 3

    @staticmethod
    def start(chat: ChatServer) -> subprocess.Popen[bytes]:
        params = connection.get_connection_params()
        env = environment(
            {
                "DATABASE_URL": f"postgresql://postgres@{quote(params['host'], safe='')}/{params['dbname']}",
                "OPENAI_BASE_URL": chat.url,
                "TOOLSCRIPT_LLM_MODEL": "tiny",
            }
        )
        code = "from skills.services.pipeline import classify_batch; classify_batch()"
        return subprocess.Popen([sys.executable, "manage.py", "shell", "-c", code], cwd=ROOT, env=env)


class TestCheckIndex:
    def test_it_finds_and_mends_every_kind_of_difference(
        self, world: dict[str, Tool], capsys: pytest.CaptureFixture[str]
    ) -> None:
        call_command("check_index")
        assert "Index and truth agree." in capsys.readouterr().out
        ToolVector.objects.filter(tool=world["read_file"]).delete()
        ToolVector.objects.filter(tool=world["write_file"]).update(vector=np.eye(1, 384)[0])
        ToolVector.objects.filter(tool=world["delete_file"]).update(is_active=False)
        ToolVector.objects.filter(tool=world["show_diff"]).update(skill_ids=[], primary_skill_id=None)
        SkillVector.objects.filter(skill_id="calendar_management").update(vector=np.eye(1, 384)[0])
        Assignment.objects.filter(tool=world["create_branch"]).update(is_primary=False)
        with pytest.raises(CommandError, match="differ"):
            call_command("check_index")
        found = [int(line.split()[0]) for line in capsys.readouterr().out.splitlines()]
        assert found == [1, 1, 1, 1, 1, 1, 1]
        call_command("check_index", "--repair")
        assert "Index and truth agree." in capsys.readouterr().out
        call_command("check_index")

    def test_without_an_index_it_says_so(self, db: None) -> None:
        with pytest.raises(CommandError, match="no search index"):
            call_command("check_index")


def test_a_published_tool_is_classified_by_the_worker_within_its_chain(tmp_path: Path) -> None:
    """Refresh, then classification, then the skills: one message begins it all."""
    make_skill("version_control", "Commit changes, create branches and merge pull requests in a Git repository.")
    make_skill("weather", "Current weather, forecasts and storm warnings for a place.")
    server_upsert(ServerSpec("git", items=(ToolSpec("tool", "git_commit", "Commit changes to the Git repository."),)))
    params = connection.get_connection_params()
    env = environment(
        {
            "TOOLSCRIPT_DATA_DIR": str(tmp_path / "data"),
            "DATABASE_URL": f"postgresql://postgres@{quote(params['host'], safe='')}/{params['dbname']}",
        }
    )
    with celery_worker(env, tmp_path / "worker.log"):
        code = "from tools_catalog.tasks import request_refresh; request_refresh()"
        subprocess.run([sys.executable, "manage.py", "shell", "-c", code], cwd=ROOT, env=env, check=True, timeout=120)
        assert eventually(lambda: SkillVector.objects.filter(skill="version_control", tool_count=1).exists(), 90)
    assert [a.skill_id for a in Assignment.objects.all()] == ["version_control"]
    assert differences() == []
