"""A session with the MCP endpoint as an agent has it, and what it costs in tokens beside loading every tool.

`python -m benchmarks.mcp_session` starts a service of its own (`manage.py up`, demo catalogue and demo server), takes a
document in, and prints the transcript as Markdown: it stands in docs/mcp.md.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path
from typing import Any

import anyio
import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from tokenizers import Tokenizer

from benchmarks.service import free_port

ROOT = Path(__file__).resolve().parent.parent
WEIGHTS = ROOT / "embeddings" / "weights" / "toolscript-minilm" / "tokenizer.json"
START_SECONDS = 180
TASK = "evaluate an arithmetic expression"
DOCUMENT = """# Prices

## Rounding

Prices are rounded to two decimals after tax is added, never before. The tax rate is 19 percent.

## Discounts

A discount is taken off the price before tax. Two discounts are never added up: the larger one counts.
"""


def tokens(text: str) -> int:
    counter = Tokenizer.from_file(str(WEIGHTS))
    counter.no_truncation()
    counter.no_padding()
    return len(counter.encode(text, add_special_tokens=False).ids)


def words(result: Any) -> str:
    return "\n".join(block.text for block in result.content if block.type == "text")


def shown(text: str, lines: int = 8) -> str:
    cut = [textwrap.shorten(line, 220, placeholder=" …") if line.strip() else "" for line in text.splitlines()]
    return "\n".join([*cut[:lines], *(["…"] if len(cut) > lines else [])])


async def session(url: str, key: str) -> list[tuple[str, str]]:
    """What the model sends, and what it reads."""
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=60) as http,
        Client(streamable_http_client(f"{url}/mcp", http_client=http)) as client,
    ):
        listed = [tool.model_dump(by_alias=True, exclude_none=True) for tool in (await client.list_tools()).tools]
        steps = [("tools/list", json.dumps(listed, ensure_ascii=False))]

        async def call(name: str, **arguments: Any) -> Any:
            answer = await client.call_tool(name, arguments)
            steps.append((f"{name} {json.dumps(arguments, ensure_ascii=False)}", words(answer)))
            return answer

        await call("list_skills")
        found = await call("search_tools", query=TASK, limit=3)
        best = next(t["id"] for t in found.structured_content["tools"] if t["id"].startswith("demo__"))
        await call("get_tool", id=best)
        await call("search_knowledge", query="how are prices rounded and taxed", limit=1)
        await call("call_tool", id=best, arguments={"expression": "round(84.5 * 1.19, 2)"})
        return steps


def all_tools(url: str) -> tuple[int, int]:
    """How many tools the catalogue serves, and the tokens of all their definitions."""
    found: list[Any] = []
    while True:
        params: dict[str, str | int] = {"include_schemas": "true", "limit": 100, "offset": len(found)}
        page = httpx2.get(f"{url}/tools", params=params, timeout=60).json()
        found += [{"name": t["id"], "description": t["description"], "inputSchema": t["input_schema"]} for t in page]
        if len(page) < 100:
            return len(found), tokens(json.dumps(found, ensure_ascii=False))


def started(folder: Path, port: int) -> subprocess.Popen[str]:
    env = {**os.environ, "TOOLSCRIPT_DATA_DIR": str(folder), "PORT": str(port), "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(
        [sys.executable, "manage.py", "up"],
        cwd=ROOT,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    for line in process.stdout:
        if "Ctrl-C stops everything" in line:
            return process
    raise SystemExit("The service did not start.")


def main() -> None:
    folder = Path(tempfile.mkdtemp(prefix="toolscript-mcp-"))
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    process = started(folder, port)
    try:
        key = (folder / "api_key").read_text()
        body = {"path": "prices.md", "format": "markdown", "content": DOCUMENT, "title": "Price rules"}
        answer = httpx2.post(f"{url}/api/v1/knowledge/sources", json=body, headers={"X-API-Key": key}, timeout=60)
        answer.raise_for_status()
        deadline = time.monotonic() + START_SECONDS
        while '"server":"demo"' not in httpx2.post(f"{url}/api/v1/search", json={"query": TASK, "limit": 3}).text:
            assert time.monotonic() < deadline, "the tools of the demo server were not filed under a skill"
            time.sleep(1)
        steps = anyio.run(session, url, key)
        count, everything = all_tools(url)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)
        shutil.rmtree(folder, ignore_errors=True)
    print(report(steps, count, everything))


def report(steps: list[tuple[str, str]], count: int, everything: int) -> str:
    parts = []
    total = 0
    for number, (sent, read) in enumerate(steps, 1):
        cost = tokens(sent) + tokens(read)
        total += cost
        parts.append(f"**{number}. `{sent}`** ({cost:,} tokens)\n\n```\n{shown(read)}\n```\n")
    parts.append(
        f"The whole session: {total:,} tokens. The definitions of all {count:,} tools alone: {everything:,} tokens."
    )
    return "\n".join(parts)


if __name__ == "__main__":
    main()
