"""`make bench`: 10,000 generated tools in 50 skills, searched through HTTP.

Everything is measured in one run and interleaved, so that a busy machine slows all of it alike: read the
ratios first. `--tools`, `--requests` and `--rounds` make it smaller or larger; `--json` writes the figures to a file.
"""

import argparse
import json
import os
import platform
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np

from benchmarks import catalogue, load, service

STAGES = {
    "query embedding": "query_embedding_time_ms",
    "skill stage": "skill_search_time_ms",
    "tool stage": "tool_search_time_ms",
    "schema stage": "schema_load_time_ms",
    "whole search": "total_time_ms",
}
BUDGET = {"query embedding": 60, "skill stage": 15, "tool stage": 30, "schema stage": 20, "whole search": 100}


def fill(count: int) -> None:
    from skills.models import Assignment, Capability, Skill
    from tools_catalog.management.commands.reembed import index_progress
    from tools_catalog.models import Tool
    from tools_catalog.services.catalog import server_upsert
    from tools_catalog.services.reindex import index_refresh
    from tools_catalog.types import ServerSpec, ToolSpec

    generated = list(catalogue.tools(count))
    Skill.objects.bulk_create(
        Skill(id=catalogue.skill_id(d), name=d.title(), description=f"All about a {d}: find, make and change it.")
        for d in catalogue.DOMAINS
    )
    provider, *needs = [catalogue.skill_id(d) for d in catalogue.DOMAINS]
    Capability.objects.bulk_create(Capability(provider_id=provider, need_id=need, weight=0.5) for need in needs)
    for number in range(20):
        items = [ToolSpec("tool", t.name, t.description, input_schema=t.schema) for t in generated[number::20]]
        server_upsert(ServerSpec(f"generated-{number}", items=tuple(items)))
    skill_of = {t.name: t.skill for t in generated}
    Assignment.objects.bulk_create(
        Assignment(tool=tool, skill_id=skill_of[tool.name], confidence=0.9, is_primary=True, source="human")
        for tool in Tool.objects.all()
    )
    with index_progress() as report:
        index_refresh(progress=report)


def embedding_alone(queries: list[str]) -> list[float]:
    from django.conf import settings

    from embeddings.registry import load as load_model
    from tools_catalog.services.spaces import model_wanted

    embedder = load_model(model_wanted(), settings.EMBEDDING_OPTIONS)
    timings = []
    for query in queries:
        started = time.perf_counter()
        embedder.embed_batch([query], kind="query")
        timings.append((time.perf_counter() - started) * 1000)
    return timings


def requests_for(queries: list[str], **fields: Any) -> list[load.Request]:
    return [("POST", "/api/v1/search", json.dumps({"query": q, **fields}).encode()) for q in queries]


def gateway_requests(queries: list[str]) -> list[load.Request]:
    return [("GET", f"/search?{urlencode({'q': q})}", None) for q in queries]


def measure(port: int, count: int, rounds: int) -> dict[str, Any]:
    """Runs every load in every round, one after the other, and gathers them by label."""
    fresh = iter(catalogue.queries(count * rounds * 8))
    hot = catalogue.queries(20, seed=1)
    gathered: dict[tuple[str, int], list[load.Load]] = {}
    alone: list[float] = []
    empty: list[load.Request] = [("GET", "/health", None)]
    for number in range(rounds):
        print(f"round {number + 1} of {rounds}", flush=True)
        alone += embedding_alone([next(fresh) for _ in range(count // 4)])
        for clients in (1, 8):
            size = count if clients == 1 else count * 2
            for label, requests in (
                ("empty DRF view", empty * size),
                ("search, new query", requests_for([next(fresh) for _ in range(size)])),
                ("search, repeated query", requests_for([hot[i % 20] for i in range(size)])),
                ("search, direct, new query", requests_for([next(fresh) for _ in range(size // 4)], strategy="direct")),
                ("search, hybrid, new query", requests_for([next(fresh) for _ in range(size // 4)], strategy="hybrid")),
                ("GET /search, new query", gateway_requests([next(fresh) for _ in range(size // 4)])),
            ):
                gathered.setdefault((label, clients), []).append(load.run(label, port, clients, requests))
    return {"loads": gathered, "embedding alone": alone}


def summary(measured: dict[str, Any]) -> dict[str, Any]:
    loads: dict[tuple[str, int], list[load.Load]] = measured["loads"]
    rows = []
    for (label, clients), runs in loads.items():
        latencies = [ms for run in runs for ms in run.latencies_ms]
        rows.append(
            {
                "what": label,
                "clients": clients,
                "p50": percentile(latencies, 50),
                "p95": percentile(latencies, 95),
                "per_second": round(sum(len(r.latencies_ms) for r in runs) / sum(r.seconds for r in runs), 1),
            }
        )
    answers = [a["metadata"] for run in loads["search, new query", 1] for a in run.answers]
    stages = [
        {"stage": name, "p50": percentile(values, 50), "p95": percentile(values, 95), "budget_p95": BUDGET[name]}
        for name, key in STAGES.items()
        for values in [[meta[key] for meta in answers]]
    ]
    alone = measured["embedding alone"]
    return {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}",
        "loads": rows,
        "stages": stages,
        "embedding_alone": {"p50": percentile(alone, 50), "p95": percentile(alone, 95)},
        "hierarchical_share": round(float(np.mean([m["strategy_used"] == "hierarchical" for m in answers])), 3),
        "candidates_p50": percentile([m["stage2_candidate_count"] for m in answers], 50),
    }


def percentile(values: list[float], q: float) -> float:
    return round(float(np.percentile(values, q)), 3)


def show(result: dict[str, Any]) -> None:
    print(f"\n{result['machine']}\n\n{'':32}{'clients':>8}{'p50 ms':>9}{'p95 ms':>9}{'req/s':>9}")
    for row in result["loads"]:
        print(f"{row['what']:32}{row['clients']:>8}{row['p50']:>9.2f}{row['p95']:>9.2f}{row['per_second']:>9.0f}")
    alone = result["embedding_alone"]
    print(f"{'embedding alone, in process':32}{1:>8}{alone['p50']:>9.2f}{alone['p95']:>9.2f}")
    print(f"\n{'stage (new query, 1 client)':32}{'p50 ms':>9}{'p95 ms':>9}{'budget':>9}")
    for row in result["stages"]:
        print(f"{row['stage']:32}{row['p50']:>9.2f}{row['p95']:>9.2f}{row['budget_p95']:>9}")
    print(f"\nhierarchical: {result['hierarchical_share']:.1%}; candidates p50: {result['candidates_p50']:.0f}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.search", description=__doc__)
    parser.add_argument("--tools", type=int, default=10_000)
    parser.add_argument("--requests", type=int, default=400, help="a load and round, with one client")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with service.database():
        print(f"Filling a catalogue with {options.tools} tools …", flush=True)
        fill(options.tools)
        with service.web() as port:
            load.run("warm up", port, 4, requests_for(catalogue.queries(200, seed=3)))
            result = summary(measure(port, options.requests, options.rounds))
    show(result)
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
