"""A training world in miniature: a BERT of a few thousand weights, a catalogue, requests, one public set."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

HIDDEN, LAYERS, HEADS, INNER = 32, 2, 4, 64
THINGS = ("invoice", "branch", "photo", "ticket", "meeting", "recipe", "sensor", "song")
DEEDS = ("create", "list", "delete", "search")


def write_world(folder: Path) -> dict[str, Path]:
    paths = {name: folder / name for name in ("data", "bench", "catalog", "base")}
    for path in paths.values():
        path.mkdir(parents=True)
    write_base(paths["base"])
    _write_catalog(paths["catalog"])
    _write_requests(paths["data"])
    _write_public_set(paths["bench"] / "metatool")
    return paths


def write_base(folder: Path) -> None:
    import torch
    from safetensors.torch import save_file
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *"abcdefghijklmnopqrstuvwxyz0123456789.:,'?-"]
    words += ["##" + letter for letter in "abcdefghijklmnopqrstuvwxyz0123456789"]
    words += [*THINGS, *DEEDS, "please", "the", "my", "of", "a", "id", "server", "name"]
    vocabulary = {word: place for place, word in enumerate(dict.fromkeys(words))}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    tokenizer.save(str(folder / "tokenizer.json"))
    config = {"num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "hidden_size": HIDDEN}
    (folder / "config.json").write_text(json.dumps(config | {"layer_norm_eps": 1e-12, "hidden_act": "gelu"}))
    torch.manual_seed(5)
    save_file(_random_weights(len(vocabulary)), folder / "model.safetensors")


def _random_weights(words: int) -> dict[str, Any]:
    import torch

    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (words, HIDDEN),
        "embeddings.position_embeddings.weight": (256, HIDDEN),
        "embeddings.token_type_embeddings.weight": (2, HIDDEN),
    }
    for layer in range(LAYERS):
        prefix = f"encoder.layer.{layer}."
        for part in (
            "attention.self.query",
            "attention.self.key",
            "attention.self.value",
            "attention.output.dense",
        ):
            shapes[prefix + part + ".weight"] = (HIDDEN, HIDDEN)
        shapes[prefix + "intermediate.dense.weight"] = (INNER, HIDDEN)
        shapes[prefix + "output.dense.weight"] = (HIDDEN, INNER)
    weights = {name: torch.randn(shape) * 0.2 for name, shape in shapes.items()}
    for name, shape in shapes.items():
        if "dense" in name or "self" in name:
            weights[name.replace(".weight", ".bias")] = torch.randn(shape[0]) * 0.02
    norms = [f"encoder.layer.{layer}.{part}" for layer in range(LAYERS) for part in ("attention.output", "output")]
    for norm in ["embeddings", *norms]:
        weights[norm + ".LayerNorm.weight"] = torch.ones(HIDDEN)
        weights[norm + ".LayerNorm.bias"] = torch.zeros(HIDDEN)
    return weights


def _write_catalog(folder: Path) -> None:
    for thing in THINGS:
        tools = [
            {
                "name": f"{deed}_{thing}",
                "description": f"{deed.title()} the {thing} of a server.",
                "inputSchema": {"type": "object", "properties": {f"{thing}Id": {"type": "string"}}},
            }
            for deed in DEEDS
        ]
        (folder / f"npm-{thing}.json").write_text(json.dumps({"server": f"npm-{thing}", "tools": tools}))


def _write_requests(folder: Path) -> None:
    requests = [
        {"id": f"npm-{thing}__{deed}_{thing}", "requests": [f"{deed} my {thing}", f"please {deed} a {thing}"]}
        for thing in THINGS
        for deed in DEEDS
    ]
    _write_jsonl(folder / "requests_mcp.jsonl", requests)
    invented = [
        {
            "server": f"{thing}hub",
            "name": f"{deed}{thing.title()}",
            "description": f"{deed} {thing}",
            "params": ["name"],
            "requests": [f"{deed} the {thing}"],
        }
        for thing in THINGS
        for deed in DEEDS
    ]
    _write_jsonl(folder / "tools_fictional.jsonl", invented)
    _write_jsonl(folder / "metatool_train.jsonl", [{"id": thing, "request": f"a {thing} please"} for thing in THINGS])


def _write_public_set(folder: Path) -> None:
    folder.mkdir()
    tools = [
        {"id": thing, "server": "", "name": thing, "description": f"the {thing}", "input_schema": None}
        for thing in THINGS
    ]
    _write_jsonl(folder / "tools.jsonl", tools)
    queries = [{"id": thing, "query": f"my {thing}", "gold": [thing]} for thing in THINGS]
    _write_jsonl(folder / "queries.jsonl", queries)


def _write_jsonl(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
