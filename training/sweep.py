"""Tries recipes on the validation fold of servers. The reported sets are never looked at here."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from training.data import RetrievalSet
from training.encoder import averaged, mixed
from training.evaluate import score
from training.folds import VALIDATION_FOLD
from training.pairs import Row, read_rows
from training.pipeline import Paths, open_bench, say, training_rows
from training.recipe import Recipe
from training.sets import validation_sets
from training.train import Bench, prepare, settle_into_int8, train_seed

if TYPE_CHECKING:
    from training.encoder import Weights

MIXES = (0.65, 0.75, 0.85)


@dataclass(frozen=True)
class Judge:
    bench: Bench
    sets: Sequence[RetrievalSet]
    log: Path

    def note(self, name: str, weights: Weights, *, fake_quant: bool = False) -> None:
        self.write(name, self.ndcg(weights, fake_quant=fake_quant))

    def ndcg(self, weights: Weights, *, fake_quant: bool = False) -> dict[str, float]:
        embed = self.bench.embed_with(weights, fake_quant=fake_quant)
        found = {part.name: float(score(embed, part)["ndcg@10"].mean()) for part in self.sets}
        found["tools"] = float(np.mean([value for key, value in found.items() if key != "documents"]))
        return found

    def write(self, name: str, found: Mapping[str, float]) -> None:
        with self.log.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps({"run": name, **found}) + "\n")
        print(f"{name:44s} " + "  ".join(f"{key} {value:.4f}" for key, value in found.items()), flush=True)


def sweep(paths: Paths, grid: Mapping[str, Mapping[str, Any]], device: str, *, minutes: float) -> None:
    """One line per recipe and mix: each seed alone (mean) and all seeds averaged into one model."""
    bench = open_bench(paths, device)
    rows = read_rows(paths.pairs)
    judge = Judge(bench, validation_sets(rows, paths.documents), paths.out / "sweep.jsonl")
    deadline = time.monotonic() + minutes * 60
    judge.note("base", bench.base)
    for name, changes in grid.items():
        if time.monotonic() > deadline:
            say(f"out of time before {name}")
            return
        recipe = Recipe().changed(**_typed(changes))
        kept = training_rows(rows, recipe, (VALIDATION_FOLD,))
        material = prepare(bench, kept, recipe)
        runs = [train_seed(bench, material, recipe, seed, lambda _: None) for seed in recipe.seeds]
        for mix in MIXES:
            _try_mix(judge, runs, mix, name)
        if changes.get("rounding_steps"):
            _try_rounding(judge, mixed(averaged(runs), bench.base, recipe.mix), kept, recipe, name=name)


def _try_mix(judge: Judge, runs: list[Weights], mix: float, name: str) -> None:
    base = judge.bench.base
    alone = [judge.ndcg(mixed(run, base, mix)) for run in runs]
    mean = {key: float(np.mean([found[key] for found in alone])) for key in alone[0]}
    judge.write(f"{name} mix={mix} alone", mean)
    if len(runs) > 1:
        judge.note(f"{name} mix={mix} soup", mixed(averaged(runs), base, mix))


def _try_rounding(judge: Judge, weights: Weights, rows: Sequence[Row], recipe: Recipe, *, name: str) -> None:
    """Fake quantisation computes what the int8 graph computes, so no export is needed to compare."""
    judge.note(f"{name} fp32", weights)
    judge.note(f"{name} int8 plain", weights, fake_quant=True)
    settled = settle_into_int8(judge.bench, weights, rows, recipe, say)
    judge.note(f"{name} int8 settled", settled, fake_quant=True)


def _typed(changes: Mapping[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in changes.items()}
