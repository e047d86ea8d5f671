"""The documentation says what the code does: settings, endpoints, events, links and commands are compared both ways."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

import config.settings  # noqa: F401 - declares every setting
from config.env import DECLARED
from core import metrics
from core.openapi import ERROR, FOR_EVERYBODY
from tests.processes import ROOT

DOCS = ROOT / "docs"
PAGES = sorted([ROOT / "README.md", ROOT / "CHANGELOG.md", *DOCS.glob("*.md")])
PACKAGES = (
    "cli",
    "config",
    "core",
    "demo_server",
    "embeddings",
    "knowledge",
    "llm",
    "mcp_endpoint",
    "search",
    "skills",
    "tenants",
    "tools_catalog",
)

NOT_IN_THE_SCHEMA = {"GET /metrics", "GET /api/schema", "GET /api/docs", "POST /mcp"}
"""Text for Prometheus, and the description itself."""

CODE_BLOCK = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")

# In halves, so that this file does not name what it looks for.
REGISTRIES = ["py" + "pi.org", "python" + "hosted", "npm" + "js", "ghcr" + ".io", "quay" + ".io", "docker" + ".io"]
HUBS = ["hugging" + "face.co", "hf" + ".co/"]
HOMES = ["/ho" + "me/", "/ro" + "ot/", "/Us" + "ers/"]
FOREIGN = re.compile("|".join(re.escape(part) for part in [*REGISTRIES, *HUBS, *HOMES]))


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def prose_of(path: Path) -> str:
    return CODE_BLOCK.sub("", text_of(path))


def code_of(path: Path) -> str:
    """Code blocks, and what stands in backticks on a line of its own."""
    return "\n".join([*CODE_BLOCK.findall(text_of(path)), *re.findall(r"`([^`]+)`", prose_of(path))])


def table_rows(text: str) -> Iterator[list[str]]:
    for line in text.splitlines():
        if line.startswith("|") and not line.startswith("|---"):
            yield [cell.strip() for cell in re.split(r" \|(?= )", line.strip("|"))]


def first_words(text: str) -> set[str]:
    """What stands in backticks in the first column of the tables."""
    return {word for row in table_rows(text) for word in re.findall(r"`([^`]+)`", row[0])}


def sections(path: Path) -> dict[str, str]:
    """The text under each heading of the second and third level."""
    parts = re.split(r"^##+ (.+)$", text_of(path), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


class TestSettings:
    def test_every_setting_has_a_row_and_every_row_is_a_setting(self) -> None:
        rows = [row for row in table_rows(text_of(DOCS / "configuration.md")) if len(row) == 4]
        names = [row[0].strip("`") for row in rows if row[0] != "Variable"]
        assert sorted(names) == sorted(DECLARED)

    @pytest.mark.parametrize("name", sorted(DECLARED))
    def test_the_row_gives_the_default(self, name: str) -> None:
        [row] = [row for row in table_rows(text_of(DOCS / "configuration.md")) if row[0] == f"`{name}`"]
        default = DECLARED[name].default
        if isinstance(default, Path):
            assert Path(row[1].strip("`")).expanduser() == default
        else:
            assert row[1] == written(default)
        assert len(row[3]) > 10

    @pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
    def test_no_page_names_a_setting_that_does_not_exist(self, page: Path) -> None:
        named = set(re.findall(r"\bTOOLSCRIPT_[A-Z_]+|\bOPENAI_[A-Z_]+|\b(?:DATABASE|REDIS)_URL\b", text_of(page)))
        assert named <= set(DECLARED)


def written(default: object) -> str:
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    if isinstance(default, float):
        return f"`{default:g}`"
    if isinstance(default, list):
        default = ",".join(default)
    return f"`{default}`" if default != "" else "empty"


@pytest.fixture(scope="module")
def operations() -> dict[str, Any]:
    schema = Client().get("/api/schema", headers={"Accept": "application/json"}).json()
    inputs = schema["components"]["schemas"]
    found = {}
    for address, methods in schema["paths"].items():
        for method, operation in methods.items():
            fields = [p["name"] for p in operation.get("parameters", [])]
            for name in re.findall(r"schemas/(\w+)", str(operation.get("requestBody"))):
                fields += inputs[name]["properties"]
            found[f"{method.upper()} {address}"] = {"fields": set(fields), "statuses": set(operation["responses"])}
    return found


class TestTheApi:
    def test_every_endpoint_has_a_section_and_every_section_is_an_endpoint(self, operations: dict[str, Any]) -> None:
        described = {name for name in sections(DOCS / "api.md") if re.match(r"[A-Z]+ /", name)}
        assert described == set(operations) | NOT_IN_THE_SCHEMA

    def test_every_parameter_has_a_row_and_every_row_is_a_parameter(self, operations: dict[str, Any]) -> None:
        for name, section in sections(DOCS / "api.md").items():
            if operations.get(name, {}).get("fields"):
                rows = {row[0].strip("`") for row in table_rows(section) if len(row) == 5}
                assert rows - {"Field", "Parameter"} == operations[name]["fields"], name

    def test_every_status_is_in_its_section(self, operations: dict[str, Any]) -> None:
        for name, operation in operations.items():
            own = operation["statuses"] - {"200"} - FOR_EVERYBODY
            missing = [s for s in own if s not in sections(DOCS / "api.md")[name]]
            assert missing == [], name

    def test_what_every_endpoint_can_answer_is_said_once(self) -> None:
        rules = sections(DOCS / "api.md")["Rules for every request"]
        assert {status for status in FOR_EVERYBODY if status in rules} == FOR_EVERYBODY

    def test_every_error_code_is_described(self) -> None:
        codes = set(ERROR["properties"]["error"]["properties"]["code"]["enum"])
        assert codes == set(re.findall(r"`([A-Z]+_[A-Z]+|[A-Z]{8,})`", sections(DOCS / "api.md")["Errors"]))


class TestLogsAndMetrics:
    def test_every_event_has_a_row_and_every_row_is_an_event(self) -> None:
        call = re.compile(r"\blog\.(?:debug|info|warning|error)\(\s*\"([a-z_.]+)\"")
        files = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
        logged = {event for path in files for event in call.findall(text_of(path))}
        rows = first_words(sections(DOCS / "operations.md")["Logs"])
        assert rows == logged

    def test_every_metric_has_a_row_and_every_row_is_a_metric(self) -> None:
        kept = (metrics.REQUESTS, metrics.STAGES, metrics.SEARCHES, metrics.CALLS, metrics.KNOWLEDGE)
        names = {name for metric in kept for name in {sample.name for sample in metric.collect()}}
        rows = first_words(sections(DOCS / "operations.md")["Metrics"])
        assert {name.removesuffix("_total") for name in rows} == names


class TestLinks:
    @pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
    def test_every_link_leads_somewhere(self, page: Path) -> None:
        broken = [target for target in LINK.findall(prose_of(page)) if not reachable(page, target)]
        assert broken == []

    def test_every_page_is_linked_from_the_readme(self) -> None:
        linked = {(ROOT / target.partition("#")[0]).resolve() for target in LINK.findall(text_of(ROOT / "README.md"))}
        assert set(DOCS.glob("*.md")) <= linked


def reachable(page: Path, target: str) -> bool:
    if target.startswith(("http://", "https://")):
        return True
    name, _, anchor = target.partition("#")
    file = page.parent / name if name else page
    return file.exists() and (not anchor or anchor in {slug(line) for line in headings(file)})


def headings(file: Path) -> list[str]:
    return re.findall(r"^#+ (.+)$", prose_of(file), re.MULTILINE)


def slug(heading: str) -> str:
    """The anchor that a heading gets where Markdown is shown."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


class TestCommands:
    @pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
    def test_every_make_target_exists(self, page: Path) -> None:
        targets = set(re.findall(r"^([a-z]+):", text_of(ROOT / "Makefile"), re.MULTILINE))
        assert set(re.findall(r"^ *make ([a-z]+)", code_of(page), re.MULTILINE)) <= targets

    def test_every_make_target_is_in_the_readme(self) -> None:
        declared = re.search(r"^\.PHONY: (.+)$", text_of(ROOT / "Makefile"), re.MULTILINE)
        assert declared is not None
        assert set(declared[1].split()) == set(
            re.findall(r"^\| `make (\w+)`", text_of(ROOT / "README.md"), re.MULTILINE)
        )

    @pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
    def test_every_management_command_exists(self, page: Path) -> None:
        ours = {path.stem for path in ROOT.glob("*/management/commands/*.py")} - {"__init__"}
        assert set(re.findall(r"manage\.py ([a-z_]+)", text_of(page))) <= ours | {"shell", "changepassword"}

    def test_every_folder_is_on_the_map(self) -> None:
        mapped = set(re.findall(r"\b[a-z_]+\b", sections(ROOT / "README.md")["Folders"]))
        folders = {path.relative_to(ROOT).parts[0] for path in tracked() if len(path.relative_to(ROOT).parts) > 1}
        assert {folder for folder in folders if not folder.startswith(".")} <= mapped


def tracked() -> list[Path]:
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("this is no checkout")
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout.decode().split("\0")
    return [ROOT / name for name in names if name and (ROOT / name).is_file()]


def test_no_file_names_a_registry_or_a_folder_of_one_machine() -> None:
    wrong = []
    for path in tracked():
        content = path.read_bytes()
        if b"\0" in content:
            continue
        lines = content.decode("utf-8", "replace").splitlines()
        wrong += [f"{path.relative_to(ROOT)}:{n}" for n, line in enumerate(lines, 1) if FOREIGN.search(line)]
    assert wrong == []
