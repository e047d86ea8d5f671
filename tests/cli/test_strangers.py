"""Addresses where no gateway is, or something else, or one that is gone."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.gateway_stand_in import StandIn, stand_in
from tests.cli.terminal import invoked


@pytest.fixture
def gateway() -> Iterator[StandIn]:
    with stand_in() as server:
        server.finds(("files__read_file", 0.92, "Fuzzy match", ""))
        yield server


def against(gateway: StandIn) -> dict[str, str]:
    return {"TOOLSCRIPT_GATEWAY_URL": gateway.url}


class TestGatewaysThatAreNot:
    def test_nobody_listens(self) -> None:
        done = invoked("search", "read", "--gateway", "http://127.0.0.1:9")
        assert done.returncode == 3
        assert done.stdout == ""
        assert "http://127.0.0.1:9 cannot be reached: nothing listens there." in done.stderr
        assert "toolscript up" in done.stderr

    @pytest.mark.parametrize("url", ["localhost:8000", "ftp://x", "http://", "http://h:99999", "nonsense"])
    def test_an_address_that_is_none(self, url: str) -> None:
        done = invoked("search", "read", "--gateway", url)
        assert done.returncode == 2
        assert f"Error: {url!r} is no address of a gateway." in done.stderr

    @pytest.mark.parametrize(
        ("answer", "code", "says"),
        [
            ((200, "text/html", "<h1>It works!</h1>"), 1, "not as Toolscript does: HTTP 200, text/html: <h1>It works!"),
            ((404, "application/json", {"detail": "no"}), 1, "not as Toolscript does: HTTP 404"),
            ((200, "application/json", []), 1, "answered without results"),
            ((200, "application/json", {"results": [{"title": "Cats", "url": "…"}]}), 1, "answered without results"),
            ((200, "application/json", {"results": ["a", None]}), 1, "answered without results"),
            ((503, "application/json", {"error": {"code": "NOT_READY", "message": "Soon."}}), 3, "Error: Soon."),
            (
                (401, "application/json", {"error": {"code": "UNAUTHORIZED", "message": "Who?"}}),
                1,
                "TOOLSCRIPT_API_KEY",
            ),
            ((500, "text/plain", "\x1b[31moops"), 1, "HTTP 500, text/plain: [31moops"),
        ],
    )
    def test_answers_that_are_none(
        self, gateway: StandIn, answer: tuple[int, str, object], code: int, says: str
    ) -> None:
        gateway.answers["/search"] = answer
        done = invoked("search", "read", env=against(gateway))
        assert done.returncode == code
        assert says in done.stderr
        assert "Traceback" not in done.stderr

    def test_a_page_is_no_typescript(self, gateway: StandIn) -> None:
        gateway.answers["/runtime/tools.ts"] = (200, "text/html", "<h1>It works!</h1>")
        done = invoked("types", env=against(gateway))
        assert (done.returncode, done.stdout) == (1, "")
        assert "not as Toolscript does: HTTP 200, text/html: <h1>It works!" in done.stderr

    def test_a_call_that_something_else_answers(self, gateway: StandIn) -> None:
        gateway.answers["/tools/a__b"] = (200, "application/json", {"content": ["x", {"data": 5}]})
        assert json.loads(invoked("call", "a__b", env=against(gateway)).stdout) == {"content": ["x", {"data": 5}]}

    @pytest.mark.parametrize("answer", [{"status": "ok"}, ["ok"], "ready", None])
    def test_another_service_that_is_ready_is_no_gateway(self, gateway: StandIn, answer: object) -> None:
        gateway.answers["/ready"] = (200, "application/json", json.dumps(answer))
        for args, code in ((["status"], 3), (["search", "read", "--model", "some-model"], 1)):
            done = invoked(*args, env=against(gateway))
            assert done.returncode == code
            assert "/ready answered, but not as Toolscript does" in done.stderr

    def test_a_gateway_that_is_gone_is_not_asked(self, gateway: StandIn, tmp_path: Path) -> None:
        """The file of a gateway that was killed: its process is no more, or its port is closed."""
        dead = subprocess.Popen(["true"])
        dead.wait()
        for pid, url in ((dead.pid, gateway.url), (1, "http://127.0.0.1:9")):
            (tmp_path / "gateway.json").write_text(json.dumps({"url": url, "pid": pid}))
            done = invoked("status", "--data-dir", str(tmp_path))
            assert done.returncode == 3
            assert "No gateway runs with this data folder." in done.stderr
        assert gateway.asked == []

    def test_the_running_gateway_of_the_data_folder_is_found(self, gateway: StandIn, tmp_path: Path) -> None:
        (tmp_path / "gateway.json").write_text(json.dumps({"url": gateway.url, "pid": 1}))
        (tmp_path / "api_key").write_text("local-key\n")
        assert invoked("search", "read", "--data-dir", str(tmp_path)).returncode == 0
        assert gateway.headers[0]["Authorization"] == "Bearer local-key"
        done = invoked("search", "read", env={"TOOLSCRIPT_DATA_DIR": str(tmp_path), "TOOLSCRIPT_API_KEY": "own"})
        assert done.returncode == 0
        assert gateway.headers[1]["Authorization"] == "Bearer own"

    def test_the_key_of_the_data_folder_goes_nowhere_else(self, gateway: StandIn, tmp_path: Path) -> None:
        (tmp_path / "api_key").write_text("local-key")
        invoked("search", "read", "--data-dir", str(tmp_path), env=against(gateway))
        assert "Authorization" not in gateway.headers[0]
