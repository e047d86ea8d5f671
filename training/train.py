"""Contrastive training, averaging over seeds, mixing with the base, and settling into int8."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from training.anchors import general_prose
from training.encoder import SMOOTH, Encoder, Shape, averaged, mixed, parameters, rounded
from training.pairs import Embed, Row, twin_mask
from training.plan import Batch, Bools, Ints, Pairs, epoch_batches, false_negatives
from training.quantise import smoothing
from training.recipe import Recipe
from training.tokens import TokenTable

if TYPE_CHECKING:
    import torch

    from training.encoder import Weights

Say = Callable[[str], None]


@dataclass(frozen=True)
class Bench:
    """What every training run shares: base weights, tokens, device."""

    base: Weights
    shape: Shape
    tokens: TokenTable
    device: str

    def encoder(self, weights: Weights, *, fake_quant: bool = False) -> Encoder:
        moved = {name: value.to(self.device) for name, value in weights.items()}
        return Encoder(rounded(moved, self.shape) if fake_quant else moved, self.shape, fake_quant=fake_quant)

    def embed_with(self, weights: Weights, *, fake_quant: bool = False, half: bool = False) -> Embed:
        encoder = self.encoder(weights, fake_quant=fake_quant)
        return lambda texts: encode(encoder, self.tokens, texts, self.device, half=half)


def pick_device(wanted: str) -> str:
    import torch

    # Must be set before the first product on the GPU, or the same seed gives other weights.
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.use_deterministic_algorithms(True)
    if wanted != "auto":
        return wanted
    return "cuda" if torch.cuda.is_available() else "cpu"


def encode(encoder: Encoder, tokens: TokenTable, texts: Sequence[str], device: str, *, half: bool = False) -> Any:
    import torch

    out = np.zeros((len(texts), encoder.shape.hidden), dtype=np.float32)
    with torch.no_grad(), torch.autocast(device, dtype=torch.bfloat16, enabled=half and device == "cuda"):
        for places in tokens.by_length(texts, tokens_per_batch=65536 if device == "cuda" else 4096):
            ids, mask = tokens.batch([texts[place] for place in places], device)
            out[places] = encoder(ids, mask).float().cpu().numpy()
    return out


def encode_sorted(encoder: Encoder, bench: Bench, texts: Sequence[str], size: int = 256) -> torch.Tensor:
    """With gradients, in parts of similar length: one long text no longer pads a thousand short ones."""
    import torch

    order = sorted(range(len(texts)), key=lambda place: len(bench.tokens.ids(texts[place])))
    vectors = [
        encoder(*bench.tokens.batch([texts[place] for place in order[start : start + size]], bench.device))
        for start in range(0, len(order), size)
    ]
    back = torch.from_numpy(np.argsort(order)).to(bench.device)
    return torch.cat(vectors)[back]


def train_mixed(bench: Bench, rows: Sequence[Row], recipe: Recipe, say: Say) -> Weights:
    """All seeds, averaged, then mixed with the base weights."""
    material = prepare(bench, rows, recipe)
    runs = [train_seed(bench, material, recipe, seed, say) for seed in recipe.seeds]
    return mixed(averaged(runs), bench.base, recipe.mix)


@dataclass(frozen=True)
class Anchor:
    """Keeps the vectors of general prose where the base model puts them."""

    texts: list[str]
    targets: Any

    @classmethod
    def of(cls, bench: Bench, recipe: Recipe) -> Anchor:
        texts = general_prose(recipe.prose)
        return cls(texts, bench.embed_with(bench.base)(texts))

    def loss(self, bench: Bench, encoder: Encoder, draw: np.random.Generator, size: int) -> torch.Tensor:
        import torch

        places = draw.integers(0, len(self.texts), size=size)
        target = torch.from_numpy(self.targets[places]).to(bench.device)
        with torch.autocast(bench.device, dtype=torch.bfloat16, enabled=bench.device == "cuda"):
            vectors = encode_sorted(encoder, bench, [self.texts[place] for place in places])
        return (1 - (vectors.float() * target).sum(1)).mean()


@dataclass(frozen=True)
class Material:
    """What all seeds of a recipe share."""

    pairs: Pairs
    twins: Bools
    anchor: Anchor | None


def prepare(bench: Bench, rows: Sequence[Row], recipe: Recipe) -> Material:
    for row in rows:
        bench.tokens.add([row.text, *row.shorter])
    twins = twin_mask(rows, bench.embed_with(bench.base), recipe.twin_similarity)
    return Material(Pairs.of(rows), twins, Anchor.of(bench, recipe) if recipe.anchor_weight else None)


def train_seed(bench: Bench, material: Material, recipe: Recipe, seed: int, say: Say) -> Weights:
    import torch

    torch.manual_seed(seed)
    draw = np.random.default_rng(seed)
    pairs, twins, anchor = material.pairs, material.twins, material.anchor
    weights = parameters(bench.base, bench.device)
    steps = recipe.epochs * math.ceil(len(pairs) / recipe.batch)
    optimiser, schedule = _optimiser(weights, recipe, steps)
    encoder = Encoder(weights, bench.shape, dropout=recipe.dropout)
    for epoch in range(recipe.epochs):
        mined = None
        if recipe.hard_negatives and epoch >= recipe.hard_from_epoch:
            mined = mine(bench, pairs, weights, twins, recipe.hard_ceiling)
        losses = []
        for batch in epoch_batches(pairs, recipe, mined, draw):
            loss = _step_loss(bench, encoder, batch, twins, recipe)
            if anchor:
                loss = loss + recipe.anchor_weight * anchor.loss(bench, encoder, draw, recipe.anchor_batch)
            optimiser.zero_grad()
            torch.autograd.backward([loss])
            optimiser.step()
            schedule.step()
            losses.append(loss.detach())
        say(f"seed {seed} epoch {epoch + 1}/{recipe.epochs} loss {torch.stack(losses).mean().item():.4f}")
    return {name: value.detach() for name, value in weights.items()}


def mine(bench: Bench, pairs: Pairs, weights: Weights, twins: Bools, ceiling: float) -> Ints:
    """The wrong tools that the current weights like best for each request."""
    import torch

    embed = bench.embed_with(weights, half=True)
    requests = torch.from_numpy(embed(pairs.requests)).to(bench.device)
    tools = torch.from_numpy(embed([row.text for row in pairs.rows])).to(bench.device)
    excluded, own = torch.from_numpy(twins).to(bench.device), torch.from_numpy(pairs.tools).to(bench.device)
    parts = [
        pick_mined(requests[start : start + 4096] @ tools.T, own[start : start + 4096], excluded, ceiling=ceiling)
        for start in range(0, len(pairs), 4096)
    ]
    return np.asarray(torch.cat(parts).cpu().numpy())


def pick_mined(
    scores: torch.Tensor, own: torch.Tensor, twins: torch.Tensor, *, ceiling: float, keep: int = 10
) -> torch.Tensor:
    """Best-scoring wrong tools per request; -1 where too few are left under the ceiling."""
    right = scores.gather(1, own[:, None])
    banned = twins[own] | (scores > ceiling * right)
    best = scores.masked_fill(banned, float("-inf")).topk(min(keep, scores.shape[1]), dim=1)
    return best.indices.masked_fill(best.values.isinf(), -1)


def _step_loss(bench: Bench, encoder: Encoder, batch: Batch, twins: Bools, recipe: Recipe) -> torch.Tensor:
    import torch
    from torch.nn import functional as F  # noqa: N812

    with torch.autocast(bench.device, dtype=torch.bfloat16, enabled=bench.device == "cuda"):
        requests = encode_sorted(encoder, bench, batch.requests)
        tools = encode_sorted(encoder, bench, batch.texts)
    masked = torch.from_numpy(false_negatives(batch, twins)).to(bench.device)
    logits = (recipe.scale * requests.float() @ tools.float().T).masked_fill(masked, -1e4)
    right = torch.arange(len(batch.requests), device=bench.device)
    square = logits[:, : len(batch.requests)].T
    return F.cross_entropy(logits, right) + recipe.reverse_weight * F.cross_entropy(square, right)


def _optimiser(weights: Weights, recipe: Recipe, steps: int) -> tuple[Any, Any]:
    import torch

    groups: dict[tuple[int, bool], list[torch.Tensor]] = {}
    for name, value in weights.items():
        if not (recipe.freeze_words and "word_embeddings" in name):
            groups.setdefault((depth(name), value.ndim > 1), []).append(value)
    top = max(level for level, _ in groups)
    optimiser = torch.optim.AdamW(
        [
            {
                "params": values,
                "weight_decay": recipe.weight_decay if matrix else 0.0,
                "lr": recipe.learning_rate * recipe.layer_decay ** (top - level),
            }
            for (level, matrix), values in groups.items()
        ]
    )
    warm = max(1, round(recipe.warmup * steps))

    def pace(step: int) -> float:
        return (step + 1) / warm if step < warm else max(0.0, (steps - step) / max(1, steps - warm))

    return optimiser, torch.optim.lr_scheduler.LambdaLR(optimiser, pace)


def depth(name: str) -> int:
    """0 for the embeddings, then the layers from the first on."""
    parts = name.split(".")
    return int(parts[2]) + 1 if parts[0] == "encoder" else 0


def settle_into_int8(bench: Bench, weights: Weights, rows: Sequence[Row], recipe: Recipe, say: Say) -> Weights:
    """Nudges weights until rounded they give the vectors they gave unrounded: the model teaches itself."""
    import torch

    if not recipe.rounding_steps:
        return weights
    draw = np.random.default_rng(recipe.seeds[0])
    texts = [*Pairs.of(rows).requests, *(row.text for row in rows), *general_prose(recipe.prose)]
    targets = bench.embed_with(weights)(texts)
    divisors = smoothing_divisors(bench, weights, texts[:: max(1, len(texts) // 2000)])
    student = parameters(weights, bench.device)
    settings = replace(
        recipe, learning_rate=recipe.rounding_rate, weight_decay=0.0, freeze_words=False, layer_decay=1.0
    )
    optimiser, schedule = _optimiser(student, settings, recipe.rounding_steps)
    far = []
    for step in range(recipe.rounding_steps):
        places = draw.integers(0, len(texts), size=recipe.rounding_batch)
        target = torch.from_numpy(targets[places]).to(bench.device)
        encoder = Encoder(rounded(student | divisors, bench.shape), bench.shape, fake_quant=True)
        vectors = encode_sorted(encoder, bench, [texts[place] for place in places])
        loss = (1 - (vectors * target).sum(1)).mean()
        optimiser.zero_grad()
        torch.autograd.backward([loss])
        optimiser.step()
        schedule.step()
        far.append(loss.detach())
        if step in (0, recipe.rounding_steps - 1):
            distance = torch.stack(far[-10:]).mean().item()
            say(f"int8 step {step + 1}/{recipe.rounding_steps} distance {distance:.5f}")
    return {name: value.detach() for name, value in (student | divisors).items()}


def smoothing_divisors(bench: Bench, weights: Weights, texts: Sequence[str]) -> Weights:
    """For query, key, value and both feed-forward products; attention's own output has no loud channel."""
    encoder = bench.encoder(weights)
    encoder.largest = {}
    encode(encoder, bench.tokens, texts, bench.device)
    return {
        name + SMOOTH: smoothing(largest) for name, largest in encoder.largest.items() if "attention.output" not in name
    }
