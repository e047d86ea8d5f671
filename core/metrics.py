"""Prometheus metrics. With several processes, PROMETHEUS_MULTIPROC_DIR gathers them in one folder."""

import os

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    REGISTRY,
    CollectorRegistry,
    Counter,
    Histogram,
    generate_latest,
)
from prometheus_client.multiprocess import MultiProcessCollector

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)

REQUESTS = Histogram("toolscript_http_request_seconds", "HTTP requests", ["method", "route", "status"], buckets=BUCKETS)
STAGES = Histogram("toolscript_search_stage_seconds", "Stages of a search", ["stage"], buckets=BUCKETS)
SEARCHES = Counter("toolscript_searches_total", "Searches by what really ran", ["strategy", "fallback", "degraded"])
KNOWLEDGE = Histogram(
    "toolscript_knowledge_search_seconds",
    "Searches in documents",
    ["endpoint", "search_type", "degraded"],
    buckets=BUCKETS,
)

CALLS = Histogram(
    "toolscript_tool_call_seconds", "Calls through the gateway", ["outcome"], buckets=(*BUCKETS, 30, 60, 120)
)


def observe_request(method: str, route: str, status: int, elapsed: float) -> None:
    REQUESTS.labels(method, route, str(status)).observe(elapsed)


def observe_search(strategy: str, fallback: str | None, degraded: str | None, stages_ms: dict[str, float]) -> None:
    SEARCHES.labels(strategy, fallback or "none", degraded or "none").inc()
    for stage, elapsed_ms in stages_ms.items():
        STAGES.labels(stage).observe(elapsed_ms / 1000)


def observe_knowledge(endpoint: str, search_type: str, degraded: str | None, took_ms: float) -> None:
    KNOWLEDGE.labels(endpoint, search_type, degraded or "none").observe(took_ms / 1000)


def observe_call(outcome: str, elapsed: float) -> None:
    CALLS.labels(outcome).observe(elapsed)


def exposition() -> tuple[bytes, str]:
    registry = REGISTRY
    if os.environ.get("PROMETHEUS_MULTIPROC_DIR"):
        registry = CollectorRegistry()
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    return generate_latest(registry), CONTENT_TYPE_LATEST
