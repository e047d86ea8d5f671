"""`.toolscript.json`: what is read, what is refused and how, and what becomes of servers that come and go."""

import json
from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from core.errors import ValidationFailed
from tests.world import Entry, make_tools
from tools_catalog import config_file
from tools_catalog.models import ConfigFile, Server
from tools_catalog.selectors import tools_served
from tools_catalog.services.configuration import configuration_apply


def write(path: Path, servers: Any, **root: Any) -> Path:
    path.write_text(json.dumps({"mcpServers": servers, **root}))
    return path


def problem(tmp_path: Path, servers: Any, **root: Any) -> str:
    path = write(tmp_path / "bad.json", servers, **root)
    with pytest.raises(ValidationFailed) as caught:
        config_file.read(path)
    assert caught.value.message.startswith(f"{path}: ")
    return caught.value.message.removeprefix(f"{path}: ")


class TestReading:
    def test_all_keys(self, tmp_path: Path) -> None:
        servers = config_file.read(
            write(
                tmp_path / "f.json",
                {
                    "local": {
                        "type": "stdio",
                        "command": "run",
                        "args": ["--token", "${TOKEN}"],
                        "env": {"API_KEY": "${KEY:-}"},
                        "cwd": "/tmp",
                        "includeTools": ["a"],
                        "excludeTools": ["b*"],
                        "timeout": 5,
                    },
                    "remote": {"url": "https://x.test/mcp", "headers": {"Authorization": "Bearer ${T}"}},
                    "old": {"type": "sse", "url": "https://x.test/sse"},
                },
            )
        )
        local, remote, old = servers["local"], servers["remote"], servers["old"]
        assert (local.transport, local.command, local.args, local.cwd) == (
            "stdio",
            "run",
            ("--token", "${TOKEN}"),
            "/tmp",
        )
        assert (local.include_tools, local.exclude_tools, local.timeout_seconds) == (("a",), ("b*",), 5.0)
        assert (remote.transport, remote.headers) == ("http", {"Authorization": "Bearer ${T}"})
        assert old.transport == "sse"

    def test_the_later_file_wins_server_by_server(self, tmp_path: Path) -> None:
        user = write(tmp_path / "user.json", {"a": {"command": "user"}, "b": {"command": "user"}})
        project = write(tmp_path / "project.json", {"b": {"url": "http://project/"}})
        merged = config_file.read_all([user, project, tmp_path / "missing.json"])
        assert merged.servers["a"].command == "user"
        assert (merged.servers["b"].command, merged.servers["b"].url) == ("", "http://project/")
        assert merged.per_file == {str(user): 2, str(project): 1, str(tmp_path / "missing.json"): 0}

    def test_the_user_level_and_the_project_level(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HOME", str(tmp_path / "me"))
        (tmp_path / "work").mkdir()
        monkeypatch.chdir(tmp_path / "work")
        assert config_file.files([]) == [tmp_path / "me/.toolscript.json", tmp_path / "work/.toolscript.json"]
        assert config_file.files(["~/x.json"]) == [tmp_path / "me/x.json"]


class TestErrorsNameFileKeyAndFix:
    @pytest.mark.parametrize(
        ("entry", "message"),
        [
            ({}, "mcpServers.s: a command (for stdio) or a url (for http and sse) is missing."),
            ({"command": "a", "url": "b"}, "mcpServers.s: it has both a command and a url."),
            ({"command": ["a"]}, "mcpServers.s.command: a text is expected"),
            ({"command": ""}, "mcpServers.s.command: a text is expected, and it must not be empty."),
            ({"comand": "a", "url": "http://x"}, "mcpServers.s.comand: this key is not known."),
            ({"command": "a", "arg": []}, "mcpServers.s.arg: this key is not known. Did you mean args?"),
            ({"command": "a", "args": "b"}, 'mcpServers.s.args: a list of texts is expected, such as ["a", "b"].'),
            ({"command": "a", "env": {"N": 1}}, 'mcpServers.s.env.N: a text is expected; write "1".'),
            ({"command": "a", "type": "pipe"}, "mcpServers.s.type: 'pipe' is not known. Use stdio, http or sse."),
            ({"command": "a", "type": ["stdio"]}, "mcpServers.s.type: ['stdio'] is not known. Use stdio, http or sse."),
            ({"command": "a\ud800"}, "mcpServers.s.command: a text is expected"),
            ({"command": "a", "args": ["\ud800"]}, "mcpServers.s.args: a list of texts is expected"),
            ({"command": "a", "env": {"\ud800": "b"}}, "mcpServers.s.env.\\ud800: a text is expected"),
            ({"command": "a", "\ud800\0": "b"}, "mcpServers.s.\\ud800\\0: this key is not known."),
            ({"command": "a", "type": "http"}, 'mcpServers.s.url: it is missing: type "http" needs it.'),
            ({"url": "x.test"}, "mcpServers.s.url: it must start with http:// or https://."),
            ({"url": "http://x/sse"}, "mcpServers.s.type: http or sse? This url could be either."),
            ({"command": "a", "timeout": 0}, "mcpServers.s.timeout: seconds from 1 to 600 are expected."),
            ({"command": "a", "disabled": "no"}, "mcpServers.s.disabled: true or false is expected."),
            ("text", "mcpServers.s: an object is expected."),
        ],
    )
    def test_of_one_server(self, tmp_path: Path, entry: Any, message: str) -> None:
        assert problem(tmp_path, {"s": entry}).startswith(message)

    def test_of_a_name_that_ends_in_a_line_break(self, tmp_path: Path) -> None:
        assert problem(tmp_path, {"a\n": {"command": "a"}}).startswith("mcpServers.a\n: this name cannot be used")

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ('{"mcpServers": ' + "[" * 100_000 + "]" * 100_000 + "}", "it is nested too deeply."),
            ('{"mcpServers": {"s": {"timeout": ' + "1" * 5000 + "}}}", "it cannot be read: Exceeds the limit"),
        ],
    )
    def test_of_a_file_that_python_cannot_hold(self, tmp_path: Path, text: str, message: str) -> None:
        path = tmp_path / "bad.json"
        path.write_text(text)
        with pytest.raises(ValidationFailed, match=message) as caught:
            config_file.read(path)
        assert caught.value.details["file"] == str(path)

    @pytest.mark.parametrize(
        ("entry", "key"),
        [
            ({"url": "https://x", "headers": {"Authorization": "Bearer abcdef123456"}}, "headers.Authorization"),
            ({"url": "https://x", "headers": {"X-Api-Key": "0123456789abcdef"}}, "headers.X-Api-Key"),
            ({"url": "https://x", "headers": {"X-Other": "ghp_0123456789abcdefghij"}}, "headers.X-Other"),
            ({"url": "https://me:secretword@x"}, "url"),
            ({"url": "https://x?api_key=0123456789"}, "url"),
            ({"command": "a", "env": {"GITHUB_TOKEN": "abcdefghijkl"}}, "env.GITHUB_TOKEN"),
            ({"command": "a", "env": {"PASSWORD": "${P:-hunter2hunter2}"}}, "env.PASSWORD"),
            ({"command": "a", "args": ["--api-key", "abcdefghijkl"]}, "args[1]"),
            ({"command": "a", "args": ["--token=abcdefghijkl"]}, "args[0]"),
        ],
    )
    def test_of_a_credential_written_out(self, tmp_path: Path, entry: Any, key: str) -> None:
        message = problem(tmp_path, {"s": entry})
        assert message.startswith(f"mcpServers.s.{key}: this looks like a credential written out.")
        assert "${" in message

    @pytest.mark.parametrize(
        "entry",
        [
            {"command": "a", "env": {"MAX_TOKENS": "4096", "TOKEN_CACHE": "true", "API_KEY": "${K}", "PASSWORD": ""}},
            {"command": "a", "args": ["--token", "${T}", "--key=${K}", "--verbose", "name"]},
            {"url": "https://x/${T}?api_key=${K}", "headers": {"Authorization": "Bearer ${T}", "Accept": "a/b"}},
        ],
    )
    def test_but_references_and_harmless_values_pass(self, tmp_path: Path, entry: Any) -> None:
        assert "s" in config_file.read(write(tmp_path / "f.json", {"s": entry}))

    def test_of_the_file(self, tmp_path: Path) -> None:
        assert problem(tmp_path, {}, mcpServer={}) == "mcpServer: this key is not known. Did you mean mcpServers?"
        assert problem(tmp_path, []).startswith("mcpServers: an object is expected")
        assert problem(tmp_path, {"bad name": {"command": "a"}}).startswith("mcpServers.bad name: this name cannot")
        path = tmp_path / "f.json"
        for text, message in [
            ('{"mcpServers": {\n "a": }}', "line 2, column 7: this is no JSON"),
            ('{"mcpServers": {"a": {"command": "x"}, "a": {"command": "y"}}}', "a: it is there twice"),
            ("[]", "an object is expected"),
        ]:
            path.write_text(text)
            with pytest.raises(ValidationFailed, match=message):
                config_file.read(path)


@pytest.fixture
def file(tmp_path: Path, settings: Settings) -> Path:
    settings.CONFIG_FILES = [str(tmp_path / "servers.json")]
    return tmp_path / "servers.json"


@pytest.mark.django_db
class TestIntoTheCatalogue:
    def test_a_new_server_keeps_its_references_and_is_due(self, file: Path) -> None:
        write(file, {"remote": {"url": "https://x.test", "headers": {"Authorization": "Bearer ${T}"}}})
        report = configuration_apply()
        server = Server.objects.get()
        assert report.added == ["remote"]
        assert (server.source, server.config_path) == ("file", str(file))
        assert server.headers == {"Authorization": "Bearer ${T}"}
        assert server.due_at is not None

    def test_the_same_file_writes_nothing(self, file: Path) -> None:
        write(file, {"a": {"command": "run", "args": ["x"], "env": {"A": "b"}}})
        configuration_apply()
        Server.objects.update(due_at=None)
        before = Server.objects.get().updated_at
        report = configuration_apply()
        assert (report.added, report.changed, report.removed) == ([], [], [])
        assert Server.objects.get().updated_at == before
        assert Server.objects.get().due_at is None

    def test_a_changed_definition_forgets_what_was_learnt(self, file: Path) -> None:
        write(file, {"a": {"command": "run"}})
        configuration_apply()
        Server.objects.update(due_at=None, protocol="2024-11-05", failures=3)
        write(file, {"a": {"command": "run", "args": ["--fast"]}})
        assert configuration_apply().changed == ["a"]
        server = Server.objects.get()
        assert (server.args, server.protocol, server.failures) == (["--fast"], "", 0)
        assert server.due_at is not None

    def test_a_server_that_is_gone_is_not_served_and_comes_back(self, file: Path) -> None:
        make_tools(Entry("one", "The first.", (), server="a"))
        write(file, {"a": {"command": "run"}})
        assert configuration_apply().changed == ["a"]
        write(file, {})
        assert configuration_apply().removed == ["a"]
        assert not tools_served().exists()
        assert Server.objects.get().is_active
        write(file, {"a": {"command": "run", "disabled": True}})
        assert configuration_apply().returned == []
        write(file, {"a": {"command": "run"}})
        assert configuration_apply().returned == ["a"]
        assert tools_served().count() == 1

    def test_what_a_curator_switched_off_stays_off(self, file: Path) -> None:
        write(file, {"a": {"command": "run"}})
        configuration_apply()
        Server.objects.update(is_active=False)
        write(file, {"a": {"command": "other"}})
        configuration_apply()
        assert not Server.objects.get().is_active

    def test_a_broken_file_changes_nothing_and_is_seen(self, file: Path) -> None:
        write(file, {"a": {"command": "run"}})
        configuration_apply()
        write(file, {"b": {"command": "run"}, "c": {"comand": "run"}})
        with pytest.raises(ValidationFailed):
            configuration_apply()
        assert [s.name for s in Server.objects.filter(removed_at=None)] == ["a"]
        assert ConfigFile.objects.get().error.startswith(f"{file}: mcpServers.c")
        write(file, {"b": {"command": "run"}})
        configuration_apply()
        assert ConfigFile.objects.get().error == ""

    def test_a_deleted_file_takes_its_servers_along(self, file: Path) -> None:
        write(file, {"a": {"command": "run"}})
        configuration_apply()
        file.unlink()
        assert configuration_apply().removed == ["a"]
        assert not ConfigFile.objects.get().exists

    def test_reading_in_another_folder_leaves_the_servers_of_this_one(
        self, file: Path, tmp_path: Path, settings: Settings
    ) -> None:
        write(file, {"a": {"command": "run"}})
        configuration_apply()
        settings.CONFIG_FILES = [str(write(tmp_path / "other.json", {"b": {"command": "run"}}))]
        assert configuration_apply().removed == []
        assert configuration_apply(authoritative=True).removed == ["a"]

    def test_a_name_that_the_admin_uses_already(self, file: Path) -> None:
        Server.objects.create(name="a", source="admin", transport="http", url="http://x")
        write(file, {"a": {"command": "run"}})
        with pytest.raises(ValidationFailed, match="was made in the admin"):
            configuration_apply()
        assert Server.objects.get().transport == "http"
