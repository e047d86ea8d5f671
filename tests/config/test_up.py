"""What `make up` promises, with real processes."""

import re
import shlex
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import psutil
import pytest

from tests.cli.terminal import toolscript
from tests.config.service import Service, running
from tests.processes import cmdline, eventually, manage


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("up") / "data"


@pytest.fixture(scope="module")
def service(folder: Path) -> Iterator[Service]:
    with running(folder, first=True) as service:
        yield service


def test_the_printed_curl_returns_ranked_tools_with_schemas(service: Service) -> None:
    command = re.search(r"curl .*?\}'", service.said(), re.DOTALL)
    assert command is not None
    assert '"event"' not in service.said()  # what a person reads is not a log
    done = subprocess.run(shlex.split(command[0].replace("\\\n", " ")), capture_output=True, text=True, check=True)
    assert '"name":"create_event"' in done.stdout
    assert '"input_schema":{"type":"object"' in done.stdout


def test_the_printed_call_is_answered_by_the_demo_server(service: Service) -> None:
    command = re.search(r"curl [^\n]*/tools/demo.*?\}'", service.said(), re.DOTALL)
    assert command is not None, service.said()
    done = subprocess.run(shlex.split(command[0].replace("\\\n", " ")), capture_output=True, text=True, check=True)
    assert '"result":20.0' in done.stdout
    milk = {"title": "Milk", "text": "Two litres."}
    assert service.http.post("/tools/demo__add_note", json=milk).status_code == 401
    note = service.http.post("/tools/demo__add_note", json=milk, headers=service.credential()).json()
    assert note["structuredContent"]["title"] == "Milk"
    assert (service.folder / "demo" / "notes.json").exists()


@pytest.mark.parametrize(
    ("query", "skill", "best"),
    [
        ("schedule a meeting with John tomorrow", "calendar_management", "create_event"),
        ("commit my changes", "version_control", "commit_changes"),
    ],
)
def test_the_demo_is_searchable(service: Service, query: str, skill: str, best: str) -> None:
    result = service.search(query).json()
    assert result["matched_skills"][0]["id"] == skill
    assert result["tools"][0]["name"] == best


def test_the_printed_login_opens_the_admin(service: Service) -> None:
    page = service.http.get("/admin/login/")
    token = re.search(r'csrfmiddlewaretoken" value="(\w+)"', page.text)
    assert token is not None
    form = {"username": "admin", "password": service.password(), "csrfmiddlewaretoken": token[1]}
    headers = {"Referer": str(page.url)}
    answer = service.http.post("/admin/login/?next=/admin/", data=form, headers=headers, follow_redirects=True)
    assert "Log out" in answer.text
    for page_path in ("tools_catalog/tool/", "tools_catalog/server/", "skills/skill/", "tenants/tenant/"):
        assert service.http.get(f"/admin/{page_path}").status_code == 200


def test_the_command_finds_the_running_gateway(service: Service) -> None:
    assert eventually((service.folder / "gateway.json").exists)
    done = toolscript("search", "commit my changes", "--data-dir", str(service.folder))
    assert done.returncode == 0, done.stderr
    assert "commit_changes" in done.stdout
    done = toolscript("status", env={"TOOLSCRIPT_DATA_DIR": str(service.folder)})
    assert done.returncode == 0
    assert f"http://127.0.0.1:{service.port}  ready" in done.stdout


def test_the_worker_takes_up_what_is_new(service: Service) -> None:
    script = (
        "from tools_catalog.services.catalog import server_upsert;"
        "from tools_catalog.types import ServerSpec, ToolSpec;"
        "from tools_catalog.tasks import request_refresh;"
        "server_upsert(ServerSpec('fresh', items=(ToolSpec('tool', 'brew_tea', 'Brew a pot of green tea.'),)));"
        "request_refresh()"
    )
    done = manage("shell", "-c", script, env=service.env)
    assert done.returncode == 0, done.stderr

    def found() -> bool:
        answer = service.http.get("/api/v1/search/tools", params={"query": "brew a pot of green tea"})
        return [tool["name"] for tool in answer.json()][:1] == ["brew_tea"]

    assert eventually(found), (service.folder / "logs" / "worker.log").read_text()


def test_a_body_in_pieces_is_read_and_a_large_one_refused(service: Service) -> None:
    headers = {"Content-Type": "application/json"}
    pieces = iter([b'{"query": ', b'"commit my ', b'changes"}'])
    answer = service.http.post("/api/v1/search", content=pieces, headers=headers)
    assert answer.json()["tools"][0]["name"] == "commit_changes"
    large = (b"x" * 100_000 for _ in range(100))
    for content in (large, b"x" * 10_000_000):
        answer = service.http.post("/api/v1/search", content=content, headers=headers)
        assert (answer.status_code, answer.json()["error"]["code"]) == (413, "BAD_REQUEST")


def test_beat_has_its_schedule(service: Service) -> None:
    script = "from django_celery_beat.models import PeriodicTask as P; print(*P.objects.values_list('task', flat=True))"
    assert eventually(
        lambda: "tools_catalog.tasks.refresh_index" in manage("shell", "-c", script, env=service.env).stdout
    )


def test_a_second_one_on_the_same_folder_is_refused(service: Service) -> None:
    done = manage("up", env=service.env)
    assert done.returncode != 0
    assert "runs already" in done.stderr


def test_a_taken_port_is_said(service: Service, tmp_path: Path) -> None:
    done = manage("up", env={**service.env, "TOOLSCRIPT_DATA_DIR": str(tmp_path / "other")})
    assert done.returncode != 0
    assert str(service.port) in done.stderr


@pytest.mark.parametrize("word", ["worker", "beat", "granian"])
def test_a_killed_program_is_noticed_said_and_started_again(service: Service, word: str) -> None:
    name = "web" if word == "granian" else word
    before = service.said().count(f"{name} started again")
    victim = service.program(word)
    victim.kill()
    assert eventually(lambda: service.said().count(f"{name} started again") > before, 20), service.said()
    assert f"{name} was killed by signal 9" in service.said()
    assert eventually(lambda: answers(service), 30)


def test_a_killed_web_worker_is_replaced(service: Service) -> None:
    web = service.program("granian")
    assert eventually(lambda: len(web.children()) >= 2, 30)
    victim = web.children()[0]
    victim.kill()  # it ends a moment later, and until then it takes requests
    assert eventually(lambda: victim not in web.children() and len(web.children()) >= 2, 30)
    assert eventually(lambda: answers(service), 30)


def answers(service: Service) -> bool:
    try:
        return bool(service.search("commit my changes").status_code == 200)
    except httpx2.TransportError:
        return False


def test_postgres_killed_under_load_is_started_again(service: Service) -> None:
    """Clear 503s while it is away, right answers again when it is back, and no restart of the service."""
    assert eventually(lambda: answers(service), 30)
    web = service.program("granian").pid

    def postmaster() -> psutil.Process:
        return psutil.Process(int((service.postgres.pgdata / "postmaster.pid").read_text().split()[0]))

    seen: list[tuple[float, int, Any]] = []
    done = threading.Event()

    def client() -> None:
        with httpx2.Client(base_url=service.http.base_url, timeout=15, headers={"X-API-Key": service.key()}) as http:
            while not done.is_set():
                answer = http.post("/api/v1/search", json={"query": "commit my changes"})
                seen.append((time.monotonic(), answer.status_code, answer.json()))

    threads = [threading.Thread(target=client) for _ in range(6)]
    for thread in threads:
        thread.start()
    time.sleep(0.5)
    before = service.said().count("Postgres started again")
    postmaster().kill()
    assert eventually(lambda: service.said().count("Postgres started again") > before, 20), service.said()
    back = time.monotonic()
    assert eventually(lambda: any(at > back and status == 200 for at, status, _ in seen), 10)
    time.sleep(0.5)
    done.set()
    for thread in threads:
        thread.join()
    assert {status for _, status, _ in seen} == {200, 503}
    for _, status, body in seen:
        if status == 503:
            assert body["error"]["code"] == "NOT_READY"
            assert body["detail"] == body["error"]["message"]
        else:
            assert body["tools"][0]["name"] == "commit_changes"
            assert body["metadata"]["degraded"] is None
    last_failure = max(at for at, status, _ in seen if status == 503)
    print(f"\nrecovered {max(0.0, last_failure - back):.2f} s after Postgres was back ({len(seen)} requests)")
    assert service.program("granian").pid == web
    assert postmaster().pid not in {child.pid for child in service.children()}  # or it would count as an orphan


def test_metrics_gather_all_web_processes(service: Service) -> None:
    for _ in range(20):
        service.http.get("/health")
    text = service.http.get("/metrics").text
    counts = re.findall(
        r'toolscript_http_request_seconds_count\{method="GET",route="health",status="200"\} (\S+)', text
    )
    assert len(counts) == 1
    assert float(counts[0]) >= 20


def test_when_it_is_killed_its_programs_end_too_and_the_next_start_works(service: Service) -> None:
    password = service.password()
    family = [p for p in service.children() if not any("postgres" in word for word in cmdline(p)[:1])]
    service.stop(signal.SIGKILL)
    _, alive = psutil.wait_procs(family, timeout=60)
    assert alive == []
    service.start(ignoring=(signal.SIGHUP, signal.SIGQUIT))  # as after `nohup make up &` in a script
    assert service.password() == password
    assert service.search("commit my changes").json()["tools"][0]["name"] == "commit_changes"
    assert "Demo catalogue" not in service.said()


def test_what_it_was_started_to_ignore_is_ignored(service: Service) -> None:
    assert service.process is not None
    service.process.send_signal(signal.SIGHUP)
    time.sleep(1)
    assert answers(service)
    assert not ignores(service.process.pid, signal.SIGTERM)
    assert ignores(service.process.pid, signal.SIGQUIT)
    assert not ignores(service.program("celery").pid, signal.SIGQUIT)  # it ends its own processes with that


def test_sigterm_stops_everything(service: Service) -> None:
    family = service.children()
    assert service.stop(signal.SIGTERM) == 0
    assert "Stopped." in service.said()
    _, alive = psutil.wait_procs(family, timeout=5)
    assert alive == []
    assert not service.postgres.is_running()
    assert not (service.folder / "gateway.json").exists()


def ignores(pid: int, number: signal.Signals) -> bool:
    mask = re.search(r"^SigIgn:\s*(\w+)$", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    assert mask is not None
    return bool(int(mask[1], 16) >> (number - 1) & 1)


def test_ctrl_c_while_it_prepares_leaves_nothing_running(tmp_path: Path) -> None:
    service = Service(tmp_path / "data")
    try:
        service.launch()
        assert eventually(lambda: "Starter skills" in service.said(), 60), service.said()
        assert service.stop(signal.SIGINT) == 0
        assert "Stopped." in service.said()
        assert not service.postgres.is_running()
    finally:
        service.http.close()
        service.postgres.stop("immediate")
