from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from training import card, pipeline, report, sweep
from training.recipe import Recipe

DESCRIPTION = """\
Trains toolscript-minilm, the model that finds tools, from pairs of request and tool.

  python -m training all --base ../minilm        everything: pairs, training, export, figures, model card

needs a folder with all-MiniLM-L6-v2 (config.json, model.safetensors, tokenizer.json); minutes on a GPU.
The steps can be run one by one in the order below; each reads what the one before left in --out:

  build-pairs   join requests and tools, deal servers into folds             OUT/pairs.jsonl
  train         shipped weights, and twins that each miss some servers      OUT/weights/
  export        ONNX with pooling inside, int8                               OUT/onnx/shipped/
  evaluate      base, first weights and ours on every set                    OUT/results.json
  card          tables and model card                                        OUT/onnx/shipped/model_card.md

  sweep         compare recipes on the validation servers only               OUT/sweep.jsonl
"""


def main(argv: Sequence[str] | None = None) -> int:
    arguments = _parser().parse_args(argv)
    paths = pipeline.Paths(
        arguments.data,
        arguments.bench,
        arguments.catalog,
        arguments.base,
        arguments.first or arguments.data / "toolscript-minilm-v0",
        arguments.out,
        arguments.documents,
    )
    missing = [str(path) for path in (paths.data, paths.bench, paths.catalog, paths.base) if not path.is_dir()]
    if missing:
        print(f"no such folder: {', '.join(missing)}", file=sys.stderr)
        return 2
    try:
        recipe = Recipe().changed(**_changes(arguments.set))
    except ValueError as error:
        print(f"--set: {error}", file=sys.stderr)
        return 2
    paths.out.mkdir(parents=True, exist_ok=True)
    _run(arguments, paths, recipe)
    return 0


def _run(arguments: argparse.Namespace, paths: pipeline.Paths, recipe: Recipe) -> None:
    if arguments.command == "sweep":
        pipeline.build_pairs(paths)
        grid = json.loads(arguments.grid.read_text(encoding="utf-8"))
        sweep.sweep(paths, grid, arguments.device, minutes=arguments.minutes)
        return
    wanted = STEPS if arguments.command == "all" else [arguments.command]
    for step in wanted:
        pipeline.say(step)
        if step == "build-pairs":
            pipeline.build_pairs(paths)
        elif step == "train":
            pipeline.train_all(paths, recipe, arguments.device, twins=not arguments.no_twins)
        elif step == "export":
            pipeline.export_all(paths)
        elif step == "evaluate":
            report.evaluate_all(paths, recipe, arguments.device, rounds=arguments.rounds)
        else:
            results = report.read_results(paths.out)
            card.write_card(results, paths.onnx(pipeline.SHIPPED))
            print(card.main_table(results))
            print(card.loss_table(results))


STEPS = ["build-pairs", "train", "export", "evaluate", "card"]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m training",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    shared = Path("../shared")
    parser.add_argument("command", choices=[*STEPS, "all", "sweep"])
    parser.add_argument("--data", type=Path, default=shared / "training", help="requests and invented tools")
    parser.add_argument("--bench", type=Path, default=shared / "bench", help="public retrieval sets")
    parser.add_argument("--catalog", type=Path, default=shared / "mcp/catalog", help="definitions of MCP servers")
    parser.add_argument("--base", type=Path, required=True, help="folder of the base model, any precision")
    parser.add_argument("--first", type=Path, help="folder of earlier ONNX weights to compare with")
    parser.add_argument("--out", type=Path, default=Path("training/out"), help="where results go")
    parser.add_argument("--documents", type=Path, help="Python sources to search instead of the standard library")
    parser.add_argument("--rounds", type=int, default=200, help="timed runs per model for the latency table")
    parser.add_argument("--device", default="auto", help="auto, cpu or cuda")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="change the recipe, e.g. --set epochs=2",
    )
    parser.add_argument(
        "--no-twins", action="store_true", help="train the shipped weights only, judge no kept-out servers"
    )
    parser.add_argument("--grid", type=Path, help="sweep: a JSON object of name → changes to the recipe")
    parser.add_argument("--minutes", type=float, default=60, help="sweep: start no further recipe after this")
    return parser


def _changes(pairs: Sequence[str]) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals:
            raise ValueError(f"{pair!r} is not NAME=VALUE")
        changes[name] = json.loads(value)
        if isinstance(changes[name], list):
            changes[name] = tuple(changes[name])
    return changes
