"""The command as scripts and people use it: processes, pipes, terminals, good and bad gateways."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.main import COMMANDS
from cli.output import width_of
from tests.cli.gateway_stand_in import StandIn, stand_in
from tests.cli.terminal import Terminal, invoked, toolscript
from tests.processes import ROOT, environment

READ = ("desktop-commander__read_file", 0.92, "Semantic similarity (file operations)", "Read a file from disk. " * 9)
LIST = ("文件__列出", 0.81, "Fuzzy match", "列出文件夹中的文件。" * 20)


@pytest.fixture
def gateway() -> Iterator[StandIn]:
    with stand_in() as server:
        server.finds(READ, LIST)
        yield server


def against(gateway: StandIn, **more: str) -> dict[str, str]:
    return {"TOOLSCRIPT_GATEWAY_URL": gateway.url, **more}


class TestInATerminal:
    @pytest.mark.parametrize("columns", [40, 80, 200])
    def test_the_table_fits(self, gateway: StandIn, columns: int) -> None:
        screen = Terminal("search", "read a file", columns=columns, env=against(gateway)).finish()
        assert screen.code == 0, screen.text
        assert len(screen.lines) == 3
        assert all(width_of(line) <= columns for line in screen.lines), screen.text
        assert "ead_file" in screen.lines[1]  # the end of an id stays
        assert "0.92" in screen.lines[1]
        assert ("Description" in screen.lines[0]) is (columns >= 120)

    def test_colours_and_how_to_have_none(self, gateway: StandIn) -> None:
        assert "\x1b[" in Terminal("search", "x", env=against(gateway)).finish().raw
        for off in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
            assert "\x1b[" not in Terminal("search", "x", env=against(gateway, **off)).finish().raw

    def test_ctrl_c_while_waiting_ends_it_at_once_without_a_trace(self, gateway: StandIn) -> None:
        gateway.hangs = True
        terminal = Terminal("search", "read", env=against(gateway))
        while not gateway.asked:
            assert terminal.process.poll() is None
        terminal.press(b"\x03")
        screen = terminal.finish()
        assert screen.code == 130
        assert "Interrupted." in screen.text
        assert "Traceback" not in screen.text


class TestInAPipe:
    def test_the_form_of_the_seed_without_colours_and_uncut(self, gateway: StandIn) -> None:
        done = toolscript("search", "read a file", env=against(gateway))
        assert done.stdout.splitlines()[:2] == [
            "Tool                          Confidence  Reason",
            "desktop-commander__read_file  0.92        Semantic similarity (file operations)",
        ]
        assert done.stderr == ""

    def test_json_is_what_the_gateway_said(self, gateway: StandIn) -> None:
        done = toolscript("search", "read", "--output", "json", env=against(gateway))
        assert json.loads(done.stdout) == gateway.answers["/search"][2]

    def test_a_reader_that_goes_away_is_no_error(self, gateway: StandIn) -> None:
        gateway.finds(*[(f"server__tool_{i}", 0.9, "x" * 200, "") for i in range(3000)])
        shell = f"{sys.executable} -m cli search read | head -1; echo ${{PIPESTATUS[0]}}"
        done = subprocess.run(
            ["bash", "-c", shell],
            cwd=ROOT,
            env=environment(against(gateway)),
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.splitlines()[-1] == "141"
        assert done.stderr == ""

    @pytest.mark.parametrize(
        ("reason", "said"),
        [
            ("Fuzzy match", "matches by words only"),
            ("Semantic similarity", "matches by meaning only"),
            (None, "only one of them was asked"),
        ],
    )
    def test_what_is_missing_is_said_on_stderr(self, gateway: StandIn, reason: str | None, said: str) -> None:
        gateway.finds(*([("files__read_file", 0.9, reason, "")] if reason else []), degraded=True)
        done = invoked("search", "read", "--gateway", gateway.url)
        assert said in done.stderr
        assert ("read_file" in done.stdout) is (reason is not None)


class TestFlagsAndVariables:
    def test_what_stands_around_a_query_does_not_count(self, gateway: StandIn) -> None:
        assert invoked("search", f" {'x' * 1000}\n", env=against(gateway)).returncode == 0

    @pytest.mark.parametrize(
        ("flags", "env", "limit", "threshold"),
        [
            ([], {}, "3", "0.35"),
            (["--limit", "5"], {}, "5", "0.35"),
            ([], {"TOOLSCRIPT_SEARCH_LIMIT": "10", "TOOLSCRIPT_SEARCH_THRESHOLD": "0.4"}, "10", "0.4"),
            (
                ["-n", "2", "-t", "0.9"],
                {"TOOLSCRIPT_SEARCH_LIMIT": "10", "TOOLSCRIPT_SEARCH_THRESHOLD": "0.4"},
                "2",
                "0.9",
            ),
            ([], {"TOOLSCRIPT_SEARCH_LIMIT": ""}, "3", "0.35"),
        ],
    )
    def test_flags_win_over_variables(
        self, gateway: StandIn, flags: list[str], env: dict[str, str], limit: str, threshold: str
    ) -> None:
        assert invoked("search", "read", *flags, env=against(gateway, **env)).returncode == 0
        assert gateway.asked[0][2] == {"q": "read", "limit": limit, "threshold": threshold}

    @pytest.mark.parametrize(
        ("flags", "env"),
        [
            (["--limit", "0"], {}),
            (["--limit", "51"], {}),
            (["--threshold", "2"], {}),
            (["--output", "xml"], {}),
            (["--limt", "3"], {}),
            ([], {"TOOLSCRIPT_SEARCH_LIMIT": "many"}),
        ],
    )
    def test_wrong_use_is_code_2(self, gateway: StandIn, flags: list[str], env: dict[str, str]) -> None:
        done = invoked("search", "read", *flags, env=against(gateway, **env))
        assert done.returncode == 2
        assert gateway.asked == []
        assert "Error: " in done.stderr


class TestNothingFound:
    def test_it_says_so_and_what_to_try(self, gateway: StandIn) -> None:
        gateway.finds()
        done = invoked("search", "read", env=against(gateway))
        assert done.returncode == 0
        assert done.stdout == "No tools found matching query\n"
        assert done.stderr == "Try different keywords, or lower the threshold: --threshold 0.2.\n"


class TestCall:
    def call(self, gateway: StandIn, *args: str, text: str | None = None) -> subprocess.CompletedProcess[str]:
        answer = {
            "content": [{"type": "text", "text": "done"}, {"type": "image", "mimeType": "image/png", "data": "AA"}]
        }
        gateway.answers.setdefault("/tools/files__read", (200, "application/json", {**answer, "isError": False}))
        return toolscript("call", "files__read", *args, env=against(gateway), text=text)

    @pytest.mark.parametrize(
        ("args", "text", "sent"),
        [
            ([], None, {}),
            (['{"path": "a"}'], None, {"path": "a"}),
            (["-"], '{"path": "b"}', {"path": "b"}),
            (
                ["-a", "path=c", "-a", "n=5", "-a", "on=true", "-a", "eq=a=b"],
                None,
                {"path": "c", "n": 5, "on": True, "eq": "a=b"},
            ),
            (['{"path": "a", "n": 1}', "--arg", "n=2"], None, {"path": "a", "n": 2}),
        ],
    )
    def test_arguments(self, gateway: StandIn, args: list[str], text: str | None, sent: object) -> None:
        done = self.call(gateway, *args, text=text)
        assert done.returncode == 0, done.stderr
        assert json.loads(gateway.asked[0][3]) == sent
        assert done.stdout == "done\n[image, image/png, 2 characters of base64]\n"

    @pytest.mark.parametrize("args", [["{"], ["[1]"], ["@/no/such/file"], ["--arg", "novalue"]])
    def test_arguments_that_are_none(self, gateway: StandIn, args: list[str]) -> None:
        assert self.call(gateway, *args).returncode == 2
        assert gateway.asked == []

    def test_an_error_of_the_tool_is_code_1(self, gateway: StandIn) -> None:
        answer = {"content": [{"type": "text", "text": "on fire"}], "isError": True}
        gateway.answers["/tools/files__read"] = (200, "application/json", answer)
        done = self.call(gateway)
        assert (done.returncode, done.stdout) == (1, "on fire\n")
        assert "The tool reported an error." in done.stderr


class TestStatusAndConfig:
    def test_status_of_a_gateway_that_is_ready(self, gateway: StandIn) -> None:
        checks = {"database": "ok", "index": "ok", "model": "ok"}
        gateway.answers["/ready"] = (200, "application/json", {"status": "ok", "checks": checks, "model": "some-model"})
        done = invoked("status", "--output", "json", env=against(gateway))
        assert done.returncode == 0
        found = json.loads(done.stdout)
        assert (found["ready"], found["model"], found["checks"]) == (True, "some-model", checks)
        assert "some-model" in invoked("status", env=against(gateway)).stdout

    def test_config_shows_sources_and_hides_secrets(self, tmp_path: Path) -> None:
        env = {
            "TOOLSCRIPT_DATA_DIR": str(tmp_path),
            "TOOLSCRIPT_ADMIN_PASSWORD": "hush-hush",
            "DATABASE_URL": "postgresql://me:secret@db/x",
            "TOOLSCRIPT_WEB_THREADS": "7",
        }
        done = toolscript("config", "--output", "json", env=env)
        assert done.returncode == 0, done.stderr
        rows = {row["name"]: row for row in json.loads(done.stdout)}
        assert (
            rows["TOOLSCRIPT_WEB_THREADS"] | {"value": "7", "default": "4", "source": "environment"}
            == rows["TOOLSCRIPT_WEB_THREADS"]
        )
        assert rows["PORT"]["source"] == "default"
        assert rows["DATABASE_URL"]["value"] == "postgresql://me:…@db/x"
        assert "hush" not in done.stdout
        assert "secret" not in done.stdout

    def test_config_names_every_setting_that_cannot_be_used(self, tmp_path: Path) -> None:
        env = {"TOOLSCRIPT_DATA_DIR": str(tmp_path), "PORT": "x", "TOOLSCRIPT_WEB_THREADS": "0"}
        done = toolscript("config", "--check", env=env)
        assert done.returncode == 1
        assert "PORT='x' is not valid" in done.stderr
        assert "TOOLSCRIPT_WEB_THREADS='0' is not valid" in done.stderr


class TestHelp:
    @pytest.mark.parametrize("name", sorted(COMMANDS))
    def test_every_command_has_help_with_examples(self, name: str) -> None:
        done = invoked(name, "--help")
        assert done.returncode == 0
        assert "Examples:" in done.stdout

    def test_a_misspelt_command_is_named(self) -> None:
        done = invoked("serch", "x")
        assert done.returncode == 2
        assert "There is no command 'serch'. Did you mean 'search'?" in done.stderr

    @pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
    def test_completion(self, shell: str) -> None:
        assert "_TOOLSCRIPT_COMPLETE" in invoked("completion", shell).stdout

    def test_the_shell_is_given_commands_and_options(self) -> None:
        env = {"_TOOLSCRIPT_COMPLETE": "bash_complete", "COMP_WORDS": "toolscript se", "COMP_CWORD": "1"}
        assert toolscript(env=env).stdout.split() == ["plain,search", "plain,serve"]
        env |= {"COMP_WORDS": "toolscript search --out", "COMP_CWORD": "2"}
        assert toolscript(env=env).stdout.split() == ["plain,--output"]


HEAVY = {"celery", "django", "httpx2", "numpy", "onnxruntime", "openai", "psycopg", "rest_framework", "rich", "torch"}


def test_nothing_heavy_is_imported_on_the_way_of_a_search(gateway: StandIn) -> None:
    script = (
        "import sys; from cli.main import run; sys.argv = ['toolscript', 'search', 'read'];"
        f"code = run(); heavy = set({sorted(HEAVY)!r}) & set(sys.modules);"
        "sys.exit(f'imported: {heavy}' if heavy else code)"
    )
    command = [sys.executable, "-c", script]
    done = subprocess.run(
        command, cwd=ROOT, env=environment(against(gateway)), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_no_command_imports_anything_heavy_before_it_runs() -> None:
    """The shell asks for all of them when it completes, and so does --help."""
    script = (
        "import sys; from cli.main import COMMANDS, toolscript; import click; context = click.Context(toolscript);"
        "[toolscript.get_command(context, name) for name in COMMANDS];"
        f"heavy = set({sorted(HEAVY - {'rich'})!r}) & set(sys.modules);"
        "sys.exit(f'imported: {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
