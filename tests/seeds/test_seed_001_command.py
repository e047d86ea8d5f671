"""Seed 001, the requirement Search CLI Command: against the gateway of the tests."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.cli.gateway_stand_in import stand_in
from tests.cli.terminal import Done, invoked
from tests.conftest import Api
from tests.seeds.world_001 import make_world_001
from tests.tools_catalog.typescript import compile_errors

pytestmark = pytest.mark.usefixtures("seed_world")


@pytest.fixture
def seed_world(transactional_db: None) -> None:
    make_world_001()


def search(api: Api, *args: str, **env: str) -> Done:
    done = invoked("search", *args, env={"TOOLSCRIPT_GATEWAY_URL": str(api.http.base_url), **env})
    assert done.returncode == 0, done.stderr
    return done


def results(api: Api, *args: str, **env: str) -> Any:
    return json.loads(search(api, *args, "--output", "json", **env).stdout)


class TestSearchCommand:
    def test_basic_search_invocation_with_default_output(self, api: Api) -> None:
        lines = search(api, "read file contents").stdout.splitlines()
        assert re.fullmatch(r"Tool +Confidence +Reason", lines[0])
        assert 1 <= len(lines) - 1 <= 3
        assert re.fullmatch(r"desktop-commander__read_file +\d\.\d\d +\S.*", lines[1])
        at = lines[0].index("Confidence")
        assert all(re.match(r"\d\.\d\d\b", line[at:]) for line in lines[1:])

    def test_limit_results_via_cli_flag(self, api: Api) -> None:
        five = results(api, "database query", "--limit", "5", "--threshold", "0")["results"]
        assert len(five) == 5
        everything = results(api, "database query", "--limit", "50", "--threshold", "0")["results"]
        assert [hit["toolId"] for hit in five] == [hit["toolId"] for hit in everything[:5]]

    def test_limit_results_via_environment_variable(self, api: Api) -> None:
        found = results(api, "query", "--threshold", "0", TOOLSCRIPT_SEARCH_LIMIT="10")["results"]
        assert 3 < len(found) <= 10

    def test_confidence_threshold_filtering_via_cli(self, api: Api) -> None:
        found = results(api, "read a file", "--threshold", "0.5")
        assert found["threshold"] == 0.5
        assert all(hit["confidence"] >= 0.5 for hit in found["results"])
        assert results(api, "knit a green scarf", "--threshold", "0.95")["results"] == []

    def test_confidence_threshold_via_environment_variable(self, api: Api) -> None:
        assert results(api, "read", TOOLSCRIPT_SEARCH_THRESHOLD="0.4")["threshold"] == 0.4

    def test_default_threshold_and_limit_values(self, api: Api) -> None:
        found = results(api, "read a file from disk")
        assert found["threshold"] == 0.35
        assert len(found["results"]) <= 3
        with stand_in() as gateway:
            gateway.finds()
            invoked("search", "query", env={"TOOLSCRIPT_GATEWAY_URL": gateway.url})
            assert gateway.asked[0][2] == {"q": "query", "limit": "3", "threshold": "0.35"}

    def test_typescript_types_output_format(self, api: Api, tmp_path: Path) -> None:
        page = search(api, "read file", "--limit", "2", "--output", "types").stdout
        found = results(api, "read file", "--limit", "2")["results"]
        rows = [f"| {hit['toolId']} | {hit['confidence']:.2f} | {hit['reason']} |" for hit in found]
        assert page.startswith(
            "\n".join(
                ["## Search Results", "", "| Tool | Confidence | Reason |", "|------|-----------|--------|", *rows, ""]
            )
        )
        module, usage = re.findall(r"```typescript\n(.*?)```", page, re.DOTALL)
        assert module.startswith("// Auto-generated TypeScript client for MCP tools\n// DO NOT EDIT")
        assert "export interface DesktopCommanderReadFileParams {" in module
        assert "/** Read file contents from disk */" in module
        assert sorted(re.findall(r'callTool<\w+>\("([^"]+)"', module)) == sorted(hit["toolId"] for hit in found)
        assert 'import { tools } from "toolscript";' in usage
        assert re.search(r"const result = await tools\.\w+\.\w+\(.*\);", usage)
        files = {"toolscript.ts": module, "usage.ts": usage.replace('"toolscript"', '"./toolscript"')}
        assert compile_errors(tmp_path, files, "--module", "esnext", "--target", "es2022") == ""

    def test_the_two_gateway_calls_of_the_types_format(self) -> None:
        with stand_in() as gateway:
            gateway.finds(("desktop-commander__read_file", 0.92, "x", ""), ("filesystem__read", 0.85, "y", ""))
            gateway.answers["/runtime/tools.ts"] = (200, "application/typescript", "// Example: f();\n")
            env = {"TOOLSCRIPT_GATEWAY_URL": gateway.url}
            assert invoked("search", "read file", "--output", "types", env=env).returncode == 0
            assert [(path, params) for _, path, params, _ in gateway.asked] == [
                ("/search", {"q": "read file", "limit": "3", "threshold": "0.35"}),
                ("/runtime/tools.ts", {"filter": "desktop-commander__read_file,filesystem__read"}),
            ]

    def test_no_results_found(self, api: Api) -> None:
        done = search(api, "knit a green scarf", "--threshold", "0.95")
        assert done.stdout == "No tools found matching query\n"
        assert "Try different keywords" in done.stderr
        assert "--threshold" in done.stderr
