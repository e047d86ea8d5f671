"""Wrong input ends with one line and code 2, whoever would have choked on it."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.gateway_stand_in import StandIn, stand_in
from tests.cli.terminal import Done, invoked, toolscript

NOT_UTF8 = os.fsdecode(b"\xff\xfe")


@pytest.fixture
def gateway() -> Iterator[StandIn]:
    with stand_in() as server:
        server.finds()
        server.answers["/tools/demo__note"] = (200, "application/json", {"content": [], "isError": False})
        server.answers["/runtime/tools.ts"] = (200, "application/typescript", "export {}")
        yield server


def said(done: Done) -> str:
    """The one line; a hint may follow."""
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    [line, *hints] = done.stderr.splitlines()
    assert line.startswith("Error: ")
    assert len(hints) <= 1
    return line


@pytest.mark.parametrize("command", [["search", "x"], ["status"], ["types"], ["call", "demo__note"]])
@pytest.mark.parametrize(
    "url",
    [
        "http://[::1",
        "http://a..b:80",
        "http://127.0.0.1:8351/ü",
        "http://127.0.0.1:8351/a b",
        f"http://h/{NOT_UTF8}",
        f"http://{'a' * 64}.org",
    ],
)
def test_addresses_that_are_none(command: list[str], url: str) -> None:
    assert "is no address of a gateway." in said(invoked(*command, "--gateway", url))


@pytest.mark.parametrize("key", ["schlüssel-鍵", "two\nlines", NOT_UTF8])
def test_keys_that_are_none(gateway: StandIn, key: str) -> None:
    done = invoked("search", "x", env={"TOOLSCRIPT_GATEWAY_URL": gateway.url, "TOOLSCRIPT_API_KEY": key})
    assert "TOOLSCRIPT_API_KEY holds no key" in said(done)
    assert gateway.asked == []


def test_a_key_that_is_none_stops_a_command_before_the_database_starts(tmp_path: Path) -> None:
    data = tmp_path / "data"
    done = toolscript("skills", "list", env={"TOOLSCRIPT_DATA_DIR": str(data), "TOOLSCRIPT_API_KEY": "鍵"})
    assert "TOOLSCRIPT_API_KEY holds no key" in said(Done(done.returncode, done.stdout, done.stderr))
    assert not data.exists()


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["search", NOT_UTF8], "is not text in UTF-8"),
        (["search", ""], "it is empty"),
        (["search", "  "], "it is empty"),
        (["search", "x" * 1001], "it has 1001 characters; 1000 are allowed"),
        (["search", "x", "-t", "nan"], "nan is not in the range"),
        (["search", "x", "--alpha", "NaN"], "NaN is not in the range"),
        (["search", "x", "--data-dir", ""], "'--data-dir': it is empty"),
        (["types", ""], "one of them is empty"),
        (["types", "demo", " "], "one of them is empty"),
        (["types", NOT_UTF8], "is not text in UTF-8"),
        (["types", "demo", "-f", "/no/such/dir/x.ts"], "/no/such/dir/x.ts cannot be written: No such file"),
        (["call", NOT_UTF8], "is not text in UTF-8"),
        (["call", "demo__note", "-a", f"text={NOT_UTF8}"], "The arguments are not text in UTF-8"),
        (["call", "demo__note", "-a", "n=1e999"], "The arguments cannot be sent as JSON"),
        (["call", "demo__note", '{"n": NaN}'], "NaN is no JSON"),
        (["call", "demo__note", '{"n": ' + "[" * 100_000], "nested too deeply"),
    ],
)
def test_values_that_cannot_be_used(gateway: StandIn, args: list[str], says: str) -> None:
    assert says in said(invoked(*args, "--gateway", gateway.url))
    assert not any(method == "POST" for method, *_ in gateway.asked)


def test_a_file_of_arguments_that_is_no_text(gateway: StandIn, tmp_path: Path) -> None:
    bad = tmp_path / "bad.bin"
    bad.write_bytes(b"\xff\xfe\x00")
    line = said(invoked("call", "demo__note", f"@{bad}", "--gateway", gateway.url))
    assert f"{bad} cannot be read: it is not text in UTF-8." in line


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity"])
def test_what_is_no_json_is_text(gateway: StandIn, value: str) -> None:
    done = invoked("call", "demo__note", "-a", f"expression={value}", "--gateway", gateway.url)
    assert done.returncode == 0, done.stderr
    assert json.loads(gateway.asked[0][3]) == {"expression": value}


@pytest.mark.parametrize("command", [["search", "x"], ["skills", "list"], ["up"]])
def test_a_data_folder_that_cannot_be(command: list[str]) -> None:
    done = toolscript(*command, env={"TOOLSCRIPT_DATA_DIR": "/proc/nope"})
    line = said(Done(done.returncode, done.stdout, done.stderr))
    assert line == "Error: The data folder /proc/nope cannot be used: No such file or directory."
