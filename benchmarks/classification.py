"""How well `nearest` files the tools of real servers, and what the hierarchy costs with its skills.

python -m benchmarks.classification ../shared

`../shared/mcp/catalog` holds what public servers publish, `../shared/training/requests_mcp.jsonl` requests for their
tools. Neither is part of the project. The labels in `benchmarks/data` were made by hand, by reading each tool, before
any classifier had seen it; where two skills are equally right, both are listed.
"""

import argparse
import json
import math
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.service import database

LABELS = Path(__file__).parent / "data" / "classification_labels.jsonl"
BINS = ((0.5, 0.65), (0.65, 0.8), (0.8, 1.01))
LIMIT = 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shared", type=Path, help="the folder with mcp/ and training/")
    parser.add_argument("--every", type=int, default=1, help="use every n-th request only (default: all)")
    parser.add_argument("--no-search", action="store_true", help="classify only")
    arguments = parser.parse_args()
    with database():
        print(f"{load(arguments.shared)} tools, {skills_count()} skills")
        classify()
        report_classes()
        if not arguments.no_search:
            report_hierarchy(arguments.shared, arguments.every)


def load(shared: Path) -> int:
    from skills.services.starter import starter_skills_create
    from tools_catalog.published import tool_spec
    from tools_catalog.services.catalog import server_upsert
    from tools_catalog.services.reindex import index_refresh
    from tools_catalog.types import ServerSpec

    starter_skills_create()
    count = 0
    for path in sorted((shared / "mcp" / "catalog").glob("*.json")):
        entry = json.loads(path.read_text(encoding="utf-8"))
        items = tuple(tool_spec(item) for item in entry["tools"])
        server_upsert(ServerSpec(entry["server"], items=items))
        count += len(items)
    started = time.perf_counter()
    index_refresh()
    print(f"embedded in {time.perf_counter() - started:.0f} s")
    return count


def skills_count() -> int:
    from skills.models import Skill

    return Skill.objects.count()


def classify() -> None:
    from skills.services.freshness import skills_refresh_live
    from skills.services.pipeline import classify_batch

    started = time.perf_counter()
    while classify_batch():
        skills_refresh_live()
    print(f"classified in {time.perf_counter() - started:.0f} s")


def report_classes() -> None:
    from skills.models import Assignment, ToolClassification
    from tools_catalog.models import Tool

    total = Tool.objects.count()
    states = Counter(ToolClassification.objects.values_list("status", flat=True))
    print(f"assigned {states['assigned'] / total:.1%}, suggested {states['suggested'] / total:.1%}")
    print(f"assignments a tool {Assignment.objects.count() / total:.2f}")
    sizes = Counter(Assignment.objects.filter(is_primary=True).values_list("skill_id", flat=True))
    print("primary: " + ", ".join(f"{skill} {count}" for skill, count in sizes.most_common()))
    labels = {(row["server"], row["tool"]): row["skills"] for row in map(json.loads, LABELS.read_text().splitlines())}
    primary = {
        (a.tool.server.name, a.tool.name): a
        for a in Assignment.objects.filter(is_primary=True).select_related("tool__server")
    }
    judged = [(primary[key], wanted) for key, wanted in labels.items() if key in primary]
    right = sum(a.skill_id in wanted for a, wanted in judged)
    print(f"hand-labelled: {len(judged)} of {len(labels)} assigned, primary right {right / len(judged):.1%}")
    for low, high in BINS:
        inside = [a.skill_id in wanted for a, wanted in judged if low <= a.confidence < high]
        if inside:
            print(f"  confidence {low} to {min(high, 1)}: {sum(inside)} of {len(inside)} right")
    for a, wanted in judged:
        if a.skill_id not in wanted:
            print(f"  wrong: {a.tool.server.name} {a.tool.name}: {a.skill_id} ({a.confidence}), not {wanted}")


@dataclass
class Tally:
    gain: float = 0.0
    searches: int = 0
    fallbacks: int = 0
    looked_at: int = 0


def requests(shared: Path, every: int) -> Iterator[tuple[str, str]]:
    lines = (shared / "training" / "requests_mcp.jsonl").read_text(encoding="utf-8").splitlines()
    pairs = [(row["id"], text) for row in map(json.loads, lines) for text in row["requests"]]
    yield from pairs[::every]


def report_hierarchy(shared: Path, every: int) -> None:
    """`limit` is 10 because NDCG@10 needs ten; everything else is as it is by default."""
    from search.services import search_tools
    from search.types import SearchRequest
    from tools_catalog.models import ToolVector

    filed = [set(skill_ids) for (skill_ids,) in ToolVector.objects.values_list("skill_ids")]
    sizes: dict[frozenset[str], int] = {}
    tallies = {"direct": Tally(), "hierarchical": Tally()}
    for gold, text in requests(shared, every):
        for strategy, tally in tallies.items():
            found = search_tools(SearchRequest(text, limit=LIMIT, include_schemas=False, strategy=strategy)).found
            names = [f"{hit.server}__{hit.name}" for hit in found.tools]
            tally.gain += 1 / math.log2(names.index(gold) + 2) if gold in names else 0.0
            tally.searches += 1
            tally.fallbacks += found.fallback is not None
            tally.looked_at += _looked_at(found.skill_ids_used, filed, sizes)
    for strategy, tally in tallies.items():
        print(
            f"{strategy}: NDCG@10 {tally.gain / tally.searches:.4f}, fallback {tally.fallbacks / tally.searches:.1%}, "
            f"looked at {tally.looked_at / tally.searches / len(filed):.1%} of the catalogue"
        )


def _looked_at(skill_ids: list[str] | None, filed: list[set[str]], sizes: dict[frozenset[str], int]) -> int:
    if skill_ids is None:
        return len(filed)
    key: Any = frozenset(skill_ids)
    if key not in sizes:
        sizes[key] = sum(1 for skills in filed if skills & key)
    return sizes[key]


if __name__ == "__main__":
    main()
