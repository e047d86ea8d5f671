"""What servers write does not steer a terminal, and what failed is said on stderr."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from pytest_django import Settings

from cli.main import toolscript as command
from tests.cli.gateway_stand_in import StandIn, stand_in
from tests.cli.terminal import Terminal, invoked, toolscript

OSC = "\x1b]0;owned\x07"
LOUD = f"""
import sys
sys.stderr.write("first line\\n{OSC}second line\\n\x9b31m")
sys.exit(3)
"""
SAID = f"one\n\ttwo {OSC}\x9b31m\x1b[31mred\x1b[0m \U0001f469\u200d\U0001f680"


@pytest.fixture
def gateway() -> Iterator[StandIn]:
    with stand_in() as server:
        answer = {"content": [{"type": "text", "text": SAID}], "isError": False}
        server.answers["/tools/files__read"] = (200, "application/json", answer)
        yield server


class TestCall:
    def test_a_terminal_gets_the_text_without_control_characters(self, gateway: StandIn) -> None:
        screen = Terminal("call", "files__read", "--gateway", gateway.url, env={"NO_COLOR": "1"}).finish()
        plain = "one\r\n\ttwo ]0;owned31m[31mred[0m \U0001f469\u200d\U0001f680\r\n"
        assert screen.raw == plain

    def test_a_pipe_gets_it_as_it_is(self, gateway: StandIn) -> None:
        assert toolscript("call", "files__read", "--gateway", gateway.url).stdout == SAID + "\n"

    def test_json_holds_no_control_character_and_loses_none(self, gateway: StandIn) -> None:
        done = invoked("call", "files__read", "--output", "json", "--gateway", gateway.url)
        assert not set(done.stdout) & set("\x07\x1b\x9b")
        assert json.loads(done.stdout)["content"][0]["text"] == SAID

    @pytest.mark.parametrize("form", ["text", "json"])
    def test_half_a_character_can_be_printed(self, gateway: StandIn, form: str) -> None:
        answer = {"content": [{"type": "text", "text": "half \ud83d"}], "isError": False}
        gateway.answers["/tools/files__read"] = (200, "application/json", answer)
        done = toolscript("call", "files__read", "--output", form, "--gateway", gateway.url)
        assert (done.returncode, done.stderr) == (0, "")
        assert "half " in done.stdout


@pytest.mark.django_db(transaction=True)
class TestWorkOnTheCatalogue:
    def test_the_last_words_of_a_server_are_one_clean_line_on_stderr(self, tmp_path: Path, settings: Settings) -> None:
        config = tmp_path / "servers.json"
        config.write_text(json.dumps({"mcpServers": {"loud": {"command": sys.executable, "args": ["-c", LOUD]}}}))
        settings.CONFIG_FILES = [str(config)]
        done = CliRunner().invoke(command, ["sync", "--no-index"])
        assert done.exit_code == 1
        assert done.stdout == ""
        [line] = done.stderr.splitlines()
        assert line.startswith("loud: failed: ")
        assert "first line ]0;owned second line" in line
        assert not set(line) & set("\x07\x1b\x9b")

    def test_a_file_that_cannot_be_imported_is_said_on_stderr(self, tmp_path: Path) -> None:
        done = CliRunner().invoke(command, ["import", str(tmp_path / "nosuch.json")])
        assert done.exit_code == 1
        assert done.stderr == f"{tmp_path / 'nosuch.json'}: No such file or directory\n"
        assert "nosuch" not in done.stdout
