"""Judges base, first weights and ours on every reported set and writes `results.json`."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from training.data import RetrievalSet
from training.encoder import load_weights
from training.evaluate import Scores, difference, onnx_embed, score, score_by_twin, summary
from training.latency import query_latency
from training.metrics import METRICS
from training.pairs import Embed, read_rows
from training.pipeline import JUDGED, SHIPPED, Paths, open_bench, say, twin
from training.recipe import Recipe
from training.sets import HELD_OUT, reported_sets, requests_set
from training.train import Bench

SEEN = "requests, seen in training"
BASE, FIRST, FIRST_TWIN, OURS, OURS_INT8 = "base", "first weights", "first recipe", "ours fp32", "ours int8"


def evaluate_all(paths: Paths, recipe: Recipe, device: str, *, rounds: int = 200) -> dict[str, Any]:
    bench = open_bench(paths, device)
    rows = read_rows(paths.pairs)
    results: dict[str, Any] = {"recipe": asdict(recipe), "sets": {}, "int8_loss": {}, "against": {}}
    seen = requests_set(rows, "mcp", lambda _: True)
    sets = [
        *reported_sets(paths.bench, rows, paths.documents),
        RetrievalSet(SEEN, seen.documents, seen.queries, seen.golds),
    ]
    models = _models(paths, bench)
    for retrieval in sets:
        if retrieval.name == HELD_OUT and not all(paths.onnx(twin(folds)).is_dir() for folds in JUDGED):
            say("no twins were trained, so no figure for servers kept out")
            continue
        scores = {name: score(embed, retrieval) for name, embed in models.items()}
        if retrieval.name == HELD_OUT:
            scores |= _held_out(paths, bench, retrieval)
        results["sets"][retrieval.name] = {
            "documents": len(retrieval.documents),
            "queries": len(retrieval.queries),
            "models": {name: _plain(values) for name, values in summary(scores).items()},
        }
        _compare(results, retrieval.name, scores)
        say(_line(retrieval.name, scores))
    results["latency"] = _latency(paths, rounds)
    results["machine"] = {
        "python": platform.python_version(),
        "chip": platform.machine(),
        "device": bench.device,
    }
    (paths.out / "results.json").write_text(json.dumps(results, indent=1), encoding="utf-8")
    return results


def _workers() -> int:
    return int(os.environ.get("TRAINING_WORKERS", os.cpu_count() or 1))


def _models(paths: Paths, bench: Bench) -> dict[str, Embed]:
    models = {BASE: bench.embed_with(bench.base)}
    if (paths.first / "model.onnx").exists():
        models[FIRST] = onnx_embed(paths.first, workers=_workers())
    models[OURS] = bench.embed_with(load_weights(paths.weights(SHIPPED)))
    models[OURS_INT8] = onnx_embed(paths.onnx(SHIPPED), workers=_workers())
    return models


def _held_out(paths: Paths, bench: Bench, retrieval: RetrievalSet) -> dict[str, Scores]:
    """Replaces our rows by the twins' and adds the first recipe, trained on the same servers as the twins."""

    def by_fold(embed: Callable[[str], Embed]) -> dict[str, Embed]:
        return {str(fold): found for folds in JUDGED for found in [embed(twin(folds))] for fold in folds}

    def fp32(prefix: str) -> dict[str, Embed]:
        return by_fold(lambda name: bench.embed_with(load_weights(paths.weights(prefix + name))))

    int8 = by_fold(lambda name: onnx_embed(paths.onnx(name), workers=_workers()))
    return {
        FIRST_TWIN: score_by_twin(fp32("first-"), retrieval),
        OURS: score_by_twin(fp32(""), retrieval),
        OURS_INT8: score_by_twin(int8, retrieval),
    }


def _compare(results: dict[str, Any], name: str, scores: Mapping[str, Scores]) -> None:
    results["int8_loss"][name] = asdict(difference(scores[OURS], scores[OURS_INT8]))
    results["against"][name] = {
        other: asdict(difference(scores[OURS_INT8], scores[other]))
        for other in (BASE, FIRST, FIRST_TWIN)
        if other in scores
    }


def _latency(paths: Paths, rounds: int) -> dict[str, dict[str, float]]:
    models = {"ours int8": paths.onnx(SHIPPED) / "model.onnx", "ours fp32": paths.onnx("fp32") / "model.onnx"}
    if (paths.first / "model.onnx").exists():
        models["first weights"] = paths.first / "model.onnx"
    return query_latency(models, paths.base / "tokenizer.json", rounds=rounds)


def _plain(intervals: Mapping[str, Any]) -> dict[str, Any]:
    return {metric: asdict(intervals[metric]) for metric in METRICS}


def _line(name: str, scores: Mapping[str, Scores]) -> str:
    parts = [f"{model} {values['ndcg@10'].mean():.4f}" for model, values in scores.items()]
    return f"{name}: NDCG@10 " + ", ".join(parts)


def read_results(out: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((out / "results.json").read_text(encoding="utf-8"))
    return loaded
