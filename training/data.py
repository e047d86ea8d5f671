"""Readers for the catalogue, the requests and the public sets. Nothing they read belongs to the project."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from training.texts import Tool

EXTRA = Path(__file__).parent / "data" / "requests_extra.jsonl"
PUBLIC_SETS = ("metatool", "seal_tools", "bfcl")


@dataclass(frozen=True)
class Served:
    """A tool and requests it serves."""

    tool: Tool
    requests: tuple[str, ...]
    source: str  # mcp, fictional, extra, metatool

    @property
    def group(self) -> str:
        """What must stay on one side of a split. MetaTool's plugins have no server: each stands alone."""
        return self.tool.server or f"{self.source}:{self.tool.id}"


@dataclass(frozen=True)
class RetrievalSet:
    name: str
    documents: tuple[str, ...]
    queries: tuple[str, ...]
    golds: tuple[frozenset[int], ...]
    groups: tuple[str, ...] = ()  # per query: the server it asks for, where folds matter


def read_jsonl(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            if line.strip():
                yield json.loads(line)


def read_catalog(folder: Path) -> dict[str, Tool]:
    tools: dict[str, Tool] = {}
    for path in sorted(folder.glob("*.json")):
        server = json.loads(path.read_text(encoding="utf-8"))
        for raw in server["tools"]:
            tool_id = f"{path.stem}__{raw['name']}"
            schema = raw.get("inputSchema") or {}
            tools[tool_id] = Tool(
                tool_id, server["server"], raw["name"], raw.get("description") or "", _parameters(schema)
            )
    return tools


def read_served(data: Path, bench: Path, catalog: Path, *, extra: bool = True) -> list[Served]:
    served = list(_served_mcp(data / "requests_mcp.jsonl", read_catalog(catalog)))
    served += _served_written(data / "tools_fictional.jsonl", "fictional")
    if extra:
        served += _served_written(EXTRA, "extra")
    served += _served_metatool(data / "metatool_train.jsonl", bench / "metatool" / "tools.jsonl")
    return served


def read_public_set(bench: Path, name: str) -> tuple[list[Tool], list[tuple[str, list[str]]]]:
    tools = [_bench_tool(row) for row in read_jsonl(bench / name / "tools.jsonl")]
    queries = [(row["query"], row["gold"]) for row in read_jsonl(bench / name / "queries.jsonl")]
    return tools, queries


def _served_mcp(path: Path, tools: Mapping[str, Tool]) -> Iterator[Served]:
    for row in read_jsonl(path):
        if row["id"] in tools:
            yield Served(tools[row["id"]], tuple(row["requests"]), "mcp")


def _served_written(path: Path, source: str) -> Iterator[Served]:
    for row in read_jsonl(path):
        tool_id = f"{row['server']}__{row['name']}"
        tool = Tool(tool_id, row["server"], row["name"], row["description"], tuple(row["params"]))
        yield Served(tool, tuple(row["requests"]), source)


def _served_metatool(path: Path, tools_path: Path) -> list[Served]:
    requests: dict[str, list[str]] = {}
    for row in read_jsonl(path):
        requests.setdefault(row["id"], []).append(row["request"])
    tools = {tool.id: tool for tool in map(_bench_tool, read_jsonl(tools_path))}
    return [Served(tools[key], tuple(texts), "metatool") for key, texts in requests.items() if key in tools]


def _bench_tool(row: Mapping[str, Any]) -> Tool:
    return Tool(
        row["id"],
        row["server"] or "",
        row["name"],
        row["description"] or "",
        _parameters(row["input_schema"] or {}),
    )


def _parameters(schema: Mapping[str, Any]) -> tuple[str, ...]:
    properties = schema.get("properties")
    return tuple(properties) if isinstance(properties, Mapping) else ()


def check_served(served: Sequence[Served]) -> None:
    """Fails on rows that would silently teach nothing."""
    for item in served:
        if not item.requests or not all(text.strip() for text in item.requests):
            raise ValueError(f"{item.tool.id} has an empty request")
        if not item.tool.name.strip():
            raise ValueError(f"a tool of {item.tool.server!r} has no name")
