"""How fast documents are found, through HTTP: both endpoints, each kind of search, by a tenant with its own key.

`--documents` generated Markdown documents, half of them shared, are taken in as `toolscript ingest` does. Every load is
run in every round, one after the other, with new queries: read the ratios first.
"""

import argparse
import json
import os
import random
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import load, service
from benchmarks.ingest import NOUNS, VERBS, make_markdown

KINDS: dict[str, dict[str, Any]] = {
    "semantic": {"search_type": "semantic"},
    "keyword": {"search_type": "keyword"},
    "hybrid": {"search_type": "hybrid"},
    "hybrid, filtered": {
        "search_type": "hybrid",
        "filters": {"must": [{"field": "path", "op": "contains", "value": "part3"}]},
    },
}


def fill(count: int) -> str:
    """The key of a tenant that owns half of the documents."""
    from knowledge.services.ingest_files import files_ingest
    from skills.services.starter import starter_skills_create
    from tenants.models import Tenant
    from tenants.services.keys import key_create
    from tools_catalog.services.reindex import index_refresh

    starter_skills_create()
    index_refresh()
    tenant = Tenant.objects.create(slug="bench", name="Bench")
    with tempfile.TemporaryDirectory() as name:
        for number, owner in enumerate((None, tenant)):
            folder = Path(name) / str(number)
            make_markdown(folder, count // 2)
            for _ in files_ingest(sorted(folder.rglob("*.md")), root=folder, tenant=owner):
                pass
    index_refresh()
    return key_create(name="bench", tenant=tenant)[1]


def queries(count: int, seed: int) -> list[str]:
    dice = random.Random(seed)
    return [
        f"who {dice.choice(VERBS)} the {dice.choice(NOUNS)} before number {dice.randrange(1000)}" for _ in range(count)
    ]


def loads(asked: list[str]) -> dict[str, list[load.Request]]:
    made = {"search_knowledge": [("/search_knowledge", {"query": query, "limit": 10}) for query in asked]}
    for label, options in KINDS.items():
        made[f"search, {label}"] = [("/search", {"query": query, "top_k": 10, **options}) for query in asked]
    return {
        label: [("POST", path, json.dumps(content).encode()) for path, content in requests]
        for label, requests in made.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.knowledge", description=__doc__)
    parser.add_argument("--documents", type=int, default=1500)
    parser.add_argument("--requests", type=int, default=100, help="a load and round")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    os.environ["TOOLSCRIPT_PLANS"] = '{"standard": {"searches_per_minute": 0}}'
    with service.database():
        print(f"Taking in {options.documents} documents …", flush=True)
        key = fill(options.documents)
        taken: dict[str, list[float]] = {}
        with service.web() as port:
            load.HEADERS["X-API-Key"] = key
            for number in range(options.rounds + 1):
                for label, requests in loads(queries(options.requests, number)).items():
                    ran = load.run(label, port, 1, requests)
                    if number:  # the first round warms up
                        taken.setdefault(label, []).extend(ran.latencies_ms)
    for label, ms in taken.items():
        print(f"{label:28} p50 {np.percentile(ms, 50):7.1f} ms   p95 {np.percentile(ms, 95):7.1f} ms")


if __name__ == "__main__":
    main()
