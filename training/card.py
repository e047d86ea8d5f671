"""Renders `results.json` as tables and as the model card."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from training.metrics import METRICS
from training.report import BASE, FIRST, FIRST_TWIN, OURS, OURS_INT8, SEEN
from training.sets import HELD_OUT

MODELS = (BASE, FIRST, FIRST_TWIN, OURS, OURS_INT8)
TITLES = {
    "metatool": "metatool (training requests of the same tools were used)",
    HELD_OUT: "requests for MCP tools of servers kept out of training",
    "documents": "documents: sections of the standard library by first line",
    SEEN: "requests for MCP tools, all servers seen in training",
}


def card(results: Mapping[str, Any]) -> str:
    return TEMPLATE.format(
        table=main_table(results),
        losses=loss_table(results),
        other=metric_tables(results),
        latency=latency_table(results),
        settings="\n".join(f"- {key}: {_shown(value)}" for key, value in results["recipe"].items()),
    )


def write_card(results: Mapping[str, Any], folder: Path) -> None:
    (folder / "model_card.md").write_text(card(results), encoding="utf-8")


def main_table(results: Mapping[str, Any], metric: str = "ndcg@10") -> str:
    lines = ["| set (documents, queries) | " + " | ".join(MODELS) + " |", "|---" * (len(MODELS) + 1) + "|"]
    for name, found in results["sets"].items():
        cells = [_cell(found["models"].get(model), metric) for model in MODELS]
        title = f"{TITLES.get(name, name)} ({found['documents']:,}, {found['queries']:,})"
        lines.append(f"| {title} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def loss_table(results: Mapping[str, Any]) -> str:
    lines = [
        "| set | fp32 minus int8 | int8 against base | against first weights | against first recipe |",
        "|---|---|---|---|---|",
    ]
    for name, loss in results["int8_loss"].items():
        against = results["against"][name]
        cells = [_signed(loss), *(_signed(against.get(model)) for model in (BASE, FIRST, FIRST_TWIN))]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def metric_tables(results: Mapping[str, Any]) -> str:
    parts = [f"**{metric}**\n\n{main_table(results, metric)}" for metric in METRICS if metric != "ndcg@10"]
    return "\n\n".join(parts)


def latency_table(results: Mapping[str, Any]) -> str:
    columns = list(next(iter(results["latency"].values())))
    lines = ["| model | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    for model, found in results["latency"].items():
        lines.append(f"| {model} | " + " | ".join(f"{found[column]:.2f}" for column in columns) + " |")
    return "\n".join(lines)


def _cell(found: Mapping[str, Mapping[str, float]] | None, metric: str) -> str:
    if found is None:
        return "-"
    value = found[metric]
    return f"{_short(value['mean'])} ({_short(value['low'])} to {_short(value['high'])})"


def _signed(found: Mapping[str, float] | None) -> str:
    if found is None:
        return "-"
    return f"{found['mean']:+.4f} ({found['low']:+.4f} to {found['high']:+.4f})"


def _short(value: float) -> str:
    return f"{value:.3f}".removeprefix("0")


def _shown(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


TEMPLATE = """# toolscript-minilm

A sentence encoder for finding tools: 6 layers, 384 dimensions, 22.6 million weights, int8, 23.5 MB. Inputs
`input_ids` and `attention_mask` (int64, at most 256 tokens), output `embedding`, mean-pooled and normalised.
Embed one text a run: activations are quantised per run, so texts that share one change each other's vectors.

A tool is embedded as `server: name in words. description parameter names in words`, a request as it is.

## Figures
Flat dense search, NDCG@10 with 95% bootstrap intervals over queries.

{table}

- "first weights" are the int8 weights this model replaces. They have seen every request of both request rows.
- "first recipe" is how those were made, trained again without the servers it is judged on.
- On servers kept out of training, "ours" are twins of this model: the same settings, each trained without the
  servers it is judged on. **The shipped weights have seen all servers**, so they have no figure of their own
  there.

Paired differences in NDCG@10 over the same queries:

{losses}

{other}

## Latency
One query of about ten tokens, models taking turns on the machine that trained them, median milliseconds:

{latency}

## Data
- Requests written for Toolscript: for the tools of public MCP servers, for tools of invented servers, and
  `training/data/requests_extra.jsonl`.
- Requests of MetaTool (MIT) for its 199 plugins; none of its test queries.
- Docstrings of numpy and torch (BSD-3-Clause), first line as request and rest as text, for general retrieval.

## Licences
Base model: all-MiniLM-L6-v2, Apache-2.0. These weights: Apache-2.0. MetaTool: MIT.

## Settings
{settings}

## Limits
- English only. A request with several needs is one vector and finds the most prominent need first.
- Tools are told apart by their text alone: two servers with the same wording get the same score.
- The requests were written for this project; users may ask differently.
- Requests it was trained on are found much better than requests for new servers: expect the kept-out row.
- Scores are for ranking. No threshold tells a request that nothing serves from one that something does.
"""
