"""How much words should count beside meaning: `hybrid` set on one half of the queries, tried on the other.

    python -m benchmarks.fusion ../shared/bench/*

Each folder is a set as `toolscript eval` reads it. The model and the keyword index run in this process, without skills.
Every setting is scored on the first half of the queries. The one that loses least to similarity alone on any set,
and gains most in all, is then scored on the second half, beside the setting that ships and similarity alone.
At the end every set is left out once: the setting comes from the others, and is scored on a set that it never saw.
"""

import argparse
import itertools
import json
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import service

HALVES = (3.0, 3.5, 4.0, 5.0, 6.0)
STEEPNESS = (1.0, 2.0, 4.0, 6.0)
WEIGHTS = (0.5, 0.7, 0.9)
COVERAGES = (0.0, 0.25, 0.5, 1.0)
POOL = 100
DEEPEST = 10


@dataclass(frozen=True, slots=True)
class Setting:
    half: float
    steepness: float
    weight: float
    coverage: float


@dataclass(frozen=True, slots=True)
class Case:
    """A query, with what is known about the tools that either side puts forward."""

    tuning: bool
    semantic: Any
    words: Any
    covered: Any
    """the share of the query's words"""
    names: Any
    gain: Any
    """1 for each right tool"""
    gold: int


def cases(folder: Path) -> list[Case]:
    from embeddings import registry
    from embeddings.types import EmbeddingOptions
    from search.lexical.documents import Source, document
    from search.lexical.index import build
    from search.lexical.query import search
    from search.ranking import name_strength
    from search.services.evaluation import read_set, server_name
    from tools_catalog.text import parameter_names, tool_text

    given = read_set(folder)
    embedder = registry.load("toolscript-minilm", EmbeddingOptions(folder, threads=2, device="cpu"))
    sources, texts = [], []
    for number, tool in enumerate(given.tools):
        server, name = server_name(str(tool.get("server") or "")), str(tool["name"])
        schema, description = tool.get("input_schema"), str(tool.get("description") or "")
        sources.append(Source(number, None, "tool", "", server, name, description, json.dumps(schema)))
        texts.append(tool_text(server, name, description, parameter_names(schema)))
    index = build(document(source) for source in sources)
    documents = embedder.embed_batch(texts, kind="document")
    queries = embedder.embed_batch([question.query for question in given.questions], kind="query")
    place = {str(tool["id"]): number for number, tool in enumerate(given.tools)}
    made = []
    for question, vector in zip(given.questions, queries, strict=True):
        similar = documents @ vector
        found = search(index, question.query, tenant_id=None, item_type=None, limit=POOL)
        pool = np.union1d(np.argsort(-similar)[:POOL], np.array(found.best, dtype=np.int64)).astype(int)
        gold = {place[tool_id] for tool_id in question.gold}
        words = np.array([found.scores.get(int(i), 0.0) for i in pool])
        made.append(
            Case(
                tuning=zlib.crc32(question.query.encode()) % 2 == 0,
                semantic=np.maximum(similar[pool], 0),
                words=words,
                covered=np.minimum(1, words / max(found.possible, 1e-9)),
                names=np.array([name_strength(found, int(i)) for i in pool]),
                gain=np.array([int(i) in gold for i in pool], dtype=float),
                gold=len(gold),
            )
        )
    return made


def ndcg(case: Case, setting: Setting | None) -> float:
    score = case.semantic
    if setting is not None:
        times = (case.words / setting.half) ** setting.steepness
        lexical = setting.weight * times / (1 + times) * case.covered**setting.coverage
        score = 1 - (1 - score) * (1 - lexical) * (1 - case.names)
    best = np.argsort(-score, kind="stable")[:DEEPEST]
    discounts = 1 / np.log2(np.arange(DEEPEST) + 2)
    return float((case.gain[best] * discounts[: len(best)]).sum() / discounts[: min(case.gold, DEEPEST)].sum())


def mean(chosen: list[Case], setting: Setting | None) -> float:
    return float(np.mean([ndcg(case, setting) for case in chosen]))


def shipped() -> Setting:
    from search.lexical.query import COVERAGE, HALF, STEEPNESS
    from search.ranking import LEXICAL_WEIGHT

    return Setting(HALF, STEEPNESS, LEXICAL_WEIGHT, COVERAGE)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--all", action="store_true", help="print every setting")
    options = parser.parse_args()
    with service.database():
        sets = {folder.name: cases(folder) for folder in options.folders if folder.is_dir()}
        report(sets, everything=options.all)


def settings() -> list[Setting]:
    return list(itertools.starmap(Setting, itertools.product(HALVES, STEEPNESS, WEIGHTS, COVERAGES)))


def chosen(sets: dict[str, list[Case]], *, everything: bool = False) -> Setting:
    """The setting that loses least to similarity alone on any of these sets, and gains most in all."""
    alone = {name: mean(found, None) for name, found in sets.items()}
    gains: dict[Setting, list[float]] = {}
    for setting in settings():
        gains[setting] = [mean(found, setting) - alone[name] for name, found in sets.items()]
        if everything:
            print(setting, [round(gain, 4) for gain in gains[setting]], flush=True)
    return max(gains, key=lambda setting: (min(0.0, *gains[setting]), sum(gains[setting])))


def report(sets: dict[str, list[Case]], *, everything: bool) -> None:
    tuning = {name: [case for case in found if case.tuning] for name, found in sets.items()}
    held_out = {name: [case for case in found if not case.tuning] for name, found in sets.items()}
    best = chosen(tuning, everything=everything)
    tried: dict[str, Setting | None] = {"similarity alone": None, "shipped": shipped(), "chosen": best}
    for label, one in tried.items():
        print(label, one or "")
        for name, found in held_out.items():
            print(f"  {name}: {mean(found, one):.4f} of {len(found)} queries")
    if len(sets) > 1:
        report_left_out(sets)


def report_left_out(sets: dict[str, list[Case]]) -> None:
    print("chosen on the other sets")
    for name, found in sets.items():
        others = chosen({other: cases for other, cases in sets.items() if other != name})
        figures = [f"{mean(found, one):.4f}" for one in (others, shipped(), None)]
        print(f"  {name}: {figures[0]} ({others}); shipped {figures[1]}, similarity alone {figures[2]}", flush=True)


if __name__ == "__main__":
    main()
