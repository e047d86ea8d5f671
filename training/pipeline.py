"""The steps between the data and the artefact. Each leaves its result in the output folder for the next."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from training.anchors import prose_rows
from training.data import read_served
from training.encoder import load_weights, read_base, save_weights
from training.folds import check_disjoint
from training.onnx_graph import write_onnx
from training.pairs import Row, make_rows, read_rows, summary, without_folds, write_rows
from training.recipe import FIRST_RECIPE, Recipe
from training.tokens import TokenTable
from training.train import Bench, pick_device, settle_into_int8, train_mixed

SHIPPED = "shipped"
# Each twin misses two folds, so two trainings judge every server outside the validation fold.
JUDGED = ((1, 2), (3, 4))


@dataclass(frozen=True)
class Paths:
    data: Path
    bench: Path
    catalog: Path
    base: Path
    first: Path
    out: Path
    documents: Path | None = None  # sources whose docstrings are searched; the standard library's unless told

    @property
    def pairs(self) -> Path:
        return self.out / "pairs.jsonl"

    def weights(self, name: str, *, settled: bool = False) -> Path:
        return self.out / "weights" / f"{name}{'-settled' if settled else ''}.safetensors"

    def onnx(self, name: str) -> Path:
        return self.out / "onnx" / name


def say(line: str) -> None:
    print(f"[{time.strftime('%H:%M:%S')}] {line}", file=sys.stderr, flush=True)


def twin(folds: Sequence[int]) -> str:
    return "without-" + "-".join(map(str, folds))


def build_pairs(paths: Paths) -> list[Row]:
    rows = make_rows(read_served(paths.data, paths.bench, paths.catalog))
    write_rows(rows, paths.pairs)
    say(summary(rows))
    return rows


def open_bench(paths: Paths, device: str) -> Bench:
    base, shape = read_base(paths.base)
    picked = pick_device(device)
    return Bench(
        {name: value.to(picked) for name, value in base.items()},
        shape,
        TokenTable(paths.base / "tokenizer.json"),
        picked,
    )


def training_rows(rows: Sequence[Row], recipe: Recipe, leave_out: Sequence[int]) -> list[Row]:
    """Every source but the extra requests where the recipe says so, without the servers of some folds."""
    used = [row for row in rows if recipe.extra or row.served.source != "extra"]
    used += prose_rows(recipe.prose_pairs)
    kept = without_folds(used, leave_out)
    judged = [row.served.group for row in used if row.fold in leave_out]
    check_disjoint([row.served.group for row in kept], judged)
    return kept


def train_one(paths: Paths, bench: Bench, recipe: Recipe, name: str, leave_out: Sequence[int]) -> None:
    rows = training_rows(read_rows(paths.pairs), recipe, leave_out)
    say(f"{name}: {summary(rows)}")
    weights = train_mixed(bench, rows, recipe, say)
    save_weights(weights, paths.weights(name))
    save_weights(settle_into_int8(bench, weights, rows, recipe, say), paths.weights(name, settled=True))


def train_all(paths: Paths, recipe: Recipe, device: str, *, twins: bool = True) -> None:
    """The shipped weights see every server; each twin misses the servers it is then judged on."""
    bench = open_bench(paths, device)
    train_one(paths, bench, recipe, SHIPPED, ())
    for folds in JUDGED if twins else ():
        train_one(paths, bench, recipe, twin(folds), folds)
        train_one(paths, bench, FIRST_RECIPE.changed(prose=recipe.prose), f"first-{twin(folds)}", folds)


def export_all(paths: Paths) -> None:
    _, shape = read_base(paths.base)
    for name in [SHIPPED, *map(twin, JUDGED)]:
        if paths.weights(name, settled=True).exists():
            folder = paths.onnx(name)
            write_onnx(load_weights(paths.weights(name, settled=True)), shape, folder / "model.onnx", int8=True)
            shutil.copyfile(paths.base / "tokenizer.json", folder / "tokenizer.json")
            size = (folder / "model.onnx").stat().st_size / 1e6
            say(f"exported {folder / 'model.onnx'}: {size:.1f} MB")
    write_onnx(load_weights(paths.weights(SHIPPED)), shape, paths.onnx("fp32") / "model.onnx", int8=False)
