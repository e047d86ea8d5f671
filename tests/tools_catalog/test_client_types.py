"""`GET /runtime/tools.ts`, and its module at work: Deno calls real servers through the gateway."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cli.inprocess import InProcess
from tenants.models import Tenant
from tests.conftest import Api
from tests.node import npm_package
from tests.tools_catalog.gateway_world import bin_path, stdio, test_server
from tests.tools_catalog.typescript import compile_errors
from tools_catalog.services.catalog import server_upsert, tool_set_active
from tools_catalog.services.gateway import sessions_close
from tools_catalog.types import ServerSpec, ToolSpec
from tools_catalog.typescript.module import CallableTool, render

pytestmark = pytest.mark.usefixtures("transactional_db")


@pytest.fixture(scope="module", autouse=True)
def no_sessions_left() -> Iterator[None]:
    yield
    sessions_close()


def module(api: Api, expect: int = 200, **params: Any) -> str:
    answer = api.http.get("/runtime/tools.ts", params=params)
    assert answer.status_code == expect, answer.text
    return answer.text


def catalogue() -> None:
    for name in ("github", "myserver", "otherserver"):
        items = (ToolSpec("tool", "echo", "Say it again."), ToolSpec("tool", "read_file", "Read."))
        server_upsert(ServerSpec(name, items=(*items, ToolSpec("prompt", "plan", "Plan."))))


def calls(text: str) -> list[str]:
    lines = [line for line in text.splitlines() if "await callTool<" in line]
    return [line.split('"')[1] for line in lines]


class TestFilter:
    def test_without_a_filter_all_tools_are_in_it_and_nothing_else(self, api: Api) -> None:
        catalogue()
        assert len(calls(module(api))) == 6
        assert len(calls(module(api, filter=""))) == 6
        assert "plan" not in module(api)

    def test_what_is_switched_off_or_of_another_tenant_is_not_in_it(self, api: Api) -> None:
        catalogue()
        tenant = Tenant.objects.create(name="acme")
        server_upsert(ServerSpec("secret", items=(ToolSpec("tool", "own", ""),)), tenant=tenant)
        shared, _ = server_upsert(ServerSpec("github"))
        tool_set_active(shared.tools.get(name="echo"), active=False)
        assert "github__echo" not in calls(module(api))
        assert "secret" not in module(api)
        assert "secret" in module(api, expect=404, filter="secret")

    def test_an_unknown_name_is_a_404_with_the_nearest_one(self, api: Api) -> None:
        catalogue()
        error = json.loads(module(api, expect=404, filter="github,myserver__ecko"))["error"]
        assert error["message"] == "There is no server or tool named myserver__ecko. Did you mean myserver__echo?"
        assert error["details"] == {"unknown": ["myserver__ecko"]}

    def test_a_server_without_tools_is_known_and_adds_none(self, api: Api) -> None:
        catalogue()
        server_upsert(ServerSpec("prompter", items=(ToolSpec("prompt", "plan", "Plan."),)))
        assert calls(module(api, filter="prompter,myserver__echo")) == ["myserver__echo"]
        assert "// There are no tools." in module(api, filter="prompter")

    @pytest.mark.parametrize("params", [{"compact": "maybe"}, {"filtre": "x"}, {"filter": "x" * 20_001}])
    def test_bad_parameters_are_refused(self, api: Api, params: dict[str, str]) -> None:
        assert json.loads(module(api, expect=422, **params))["error"]["code"] == "VALIDATION_ERROR"

    def test_compact(self, api: Api) -> None:
        catalogue()
        assert "/**" in module(api)
        assert "/**" not in module(api, compact="true")

    def test_it_is_typescript_and_knows_where_it_came_from(self, api: Api) -> None:
        answer = api.http.get("/runtime/tools.ts")
        assert answer.headers["Content-Type"] == "application/typescript; charset=utf-8"
        assert f'?? "{str(api.http.base_url).rstrip("/")}")' in answer.text


def deno(script: str, folder: Path, **env: str) -> Any:
    """What the script prints, read as JSON."""
    (folder / "script.ts").write_text(script)
    command = ["node", str(npm_package("deno") / "bin.cjs"), "run", "--no-check", "--no-remote", "--allow-env"]
    done = subprocess.run(
        [*command, "--allow-net", "script.ts"],
        cwd=folder,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_module_made_without_a_gateway_calls_nobody_and_takes_nothing_from_strangers(tmp_path: Path) -> None:
    catalogue()
    written = InProcess().get_text("/runtime/tools.ts", filter="github")
    assert 'fromEnvironment("TOOLSCRIPT_GATEWAY_URL") ?? "")' in written
    (tmp_path / "tools.ts").write_text(written)
    (tmp_path / "from.ts").write_text(render([CallableTool("s", "t")], base_url="http://origin"))
    said = """
import { configure, tools } from "./tools.ts";
import { tools as others } from "./from.ts";
const code = () => tools.github.echo().catch((error) => [error.status, error.code]);
const codes = [await code()];
configure({ url: "http://stranger" });
for (const body of ["null", "[]", "5", '{"status": "ok"}', "<h1>It works!</h1>"]) {
  globalThis.fetch = () => Promise.resolve(new Response(body));
  codes.push(await code());
}
globalThis.fetch = (url) => Promise.resolve(new Response(JSON.stringify({ content: [], url })));
codes.push((await others.s.t()).url);
console.log(JSON.stringify(codes));
"""
    said_by = deno(said, tmp_path, TOOLSCRIPT_API_KEY="secret", TOOLSCRIPT_GATEWAY_URL="")
    assert said_by == [[0, "NO_GATEWAY"], *[[200, "UNKNOWN"]] * 5, "http://origin/tools/s__t"]


SCRIPT = """
import { configure, tools, ToolscriptError } from "./tools.ts";
const said: unknown[] = [];
const caught = async (call: () => Promise<unknown>): Promise<void> => {
  try { said.push(await call()); } catch (error) {
    if (!(error instanceof ToolscriptError)) throw error;
    said.push([error.status, error.code, error.tool, error.message]);
  }
};
const echoed = await tools.madeUp.echo({ text: "hi ", times: 2, note: null });
said.push(echoed.text);
const plain = await tools.madeUp.everything();
said.push(plain.content.map((part) => part.type));
said.push(
  await tools.time.convert_time({ source_timezone: "UTC", time: "16:30", target_timezone: "Asia/Tokyo" }),
);
await caught(() => tools.madeUp.fail());
await caught(() => tools.madeUp.echo({ times: 1 } as never));
configure({ url: "http://127.0.0.1:9" });
await caught(() => tools.madeUp.fail());
console.log(JSON.stringify(said));
"""


def test_deno_runs_the_client_against_the_gateway_and_real_servers(api: Api, tmp_path: Path) -> None:
    test_server("made_up", pk=777_777)
    stdio("time", bin_path("mcp-server-time"), pk=777_778)
    written = module(api, filter="made_up,time")
    (tmp_path / "tools.ts").write_text(written)
    key = api.http.headers.get("Authorization", "").removeprefix("Bearer ")
    answers = deno(SCRIPT, tmp_path, TOOLSCRIPT_GATEWAY_URL=str(api.http.base_url), TOOLSCRIPT_API_KEY=key)
    text, kinds, answer, failed, refused, away = answers
    assert text == "hi hi "
    assert kinds == ["text", "image", "audio", "resource", "resource_link"]
    assert "01:30:00+09:00" in json.dumps(answer)
    assert failed[:3] == [200, "TOOL_ERROR", "made_up__fail"]
    assert "the printer is on fire" in failed[3]
    assert refused[:2] == [422, "VALIDATION_ERROR"]
    assert "text" in refused[3]
    assert away[:2] == [0, "UNREACHABLE"]
    files = {"tools.ts": written, "script.ts": f"{SCRIPT}declare const console: {{ log(text: string): void }};"}
    options = ("--allowImportingTsExtensions", "--module", "esnext", "--lib", "es2022")
    assert compile_errors(tmp_path, files, *options) == ""
