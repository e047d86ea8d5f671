"""The BERT encoder in plain torch: small enough to read, deterministic, and open to fake quantisation."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from training.quantise import fake_quantised_input, fake_quantised_weight

if TYPE_CHECKING:
    import torch

    Weights = dict[str, torch.Tensor]

SMOOTH = ".smooth"  # suffix of the divisors that only the int8 graph uses
_LINEARS = {
    "query": "attention.self.query",
    "key": "attention.self.key",
    "value": "attention.self.value",
    "output": "attention.output.dense",
    "up": "intermediate.dense",
    "down": "output.dense",
}


@dataclass(frozen=True)
class Shape:
    layers: int
    heads: int
    hidden: int
    eps: float = 1e-12


def read_base(folder: Path) -> tuple[Weights, Shape]:
    """Weights as float32, whatever the file has, without the parts that pooling by mean never uses."""
    from safetensors.torch import load_file

    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    if config.get("hidden_act", "gelu") != "gelu":
        raise ValueError("only BERT encoders with GELU are supported")
    shape = Shape(
        config["num_hidden_layers"],
        config["num_attention_heads"],
        config["hidden_size"],
        config["layer_norm_eps"],
    )
    weights = {
        name.removeprefix("bert."): value.float()
        for name, value in load_file(folder / "model.safetensors").items()
        if "pooler" not in name and "position_ids" not in name
    }
    return weights, shape


def save_weights(weights: Weights, path: Path) -> None:
    from safetensors.torch import save_file

    path.parent.mkdir(parents=True, exist_ok=True)
    save_file({name: value.detach().cpu().contiguous() for name, value in weights.items()}, path)


def load_weights(path: Path) -> Weights:
    from safetensors.torch import load_file

    return dict(load_file(path))


@dataclass
class Encoder:
    """Functional over a dict of weights named as in the checkpoint.

    `fake_quant` imitates the int8 graph and then expects weights that went through `rounded`.
    """

    weights: Weights
    shape: Shape
    fake_quant: bool = False
    dropout: float = 0.0
    largest: Weights | None = None  # when a dict: collects the largest activation per input channel

    def __call__(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        import torch
        from torch.nn import functional as F  # noqa: N812

        state = self._embed(ids)
        additive = (1.0 - mask[:, None, None, :].to(state.dtype)) * -1e4
        for layer in range(self.shape.layers):
            prefix = f"encoder.layer.{layer}."
            attended = self._attend(prefix, state, additive, mask)
            state = self._norm(prefix + "attention.output.LayerNorm", state + attended)
            inner = F.gelu(self._linear(prefix + _LINEARS["up"], state, mask))
            state = self._norm(
                prefix + "output.LayerNorm",
                state + self._drop(self._linear(prefix + _LINEARS["down"], inner, mask)),
            )
        weight = mask[:, :, None].float()
        pooled = (state.float() * weight).sum(1) / weight.sum(1).clamp(min=1)
        return torch.nn.functional.normalize(pooled, dim=1)

    def _embed(self, ids: torch.Tensor) -> torch.Tensor:
        from torch.nn import functional as F  # noqa: N812

        words = self.weights["embeddings.word_embeddings.weight"]
        positions = self.weights["embeddings.position_embeddings.weight"][: ids.shape[1]]
        kind = self.weights["embeddings.token_type_embeddings.weight"][0]
        return self._drop(self._norm("embeddings.LayerNorm", F.embedding(ids, words) + positions + kind))

    def _attend(self, prefix: str, state: torch.Tensor, additive: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        batch, length, hidden = state.shape
        width = hidden // self.shape.heads
        given = self._given(prefix + _LINEARS["query"], state, mask)

        def heads(part: str) -> torch.Tensor:
            projected = self._product(prefix + _LINEARS[part], given)
            return projected.view(batch, length, self.shape.heads, width).transpose(1, 2)

        # Written out instead of a fused kernel, whose backward pass is not deterministic.
        logits = heads("query") @ heads("key").transpose(2, 3) * width**-0.5 + additive
        mixed = logits.float().softmax(-1).to(state.dtype) @ heads("value")
        joined = mixed.transpose(1, 2).reshape(batch, length, hidden)
        return self._drop(self._linear(prefix + _LINEARS["output"], joined, mask))

    def _linear(self, name: str, value: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return self._product(name, self._given(name, value, mask))

    def _given(self, name: str, value: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """What a product is given: the activation itself, or as the int8 graph rounds it."""
        if self.largest is not None:
            seen = (value.detach() * mask[:, :, None]).abs().amax(dim=(0, 1))
            self.largest[name] = seen.maximum(self.largest.get(name, seen))
        if not self.fake_quant:
            return value
        divisor = self.weights.get(name + SMOOTH)
        return fake_quantised_input(value if divisor is None else value / divisor, mask)

    def _product(self, name: str, value: torch.Tensor) -> torch.Tensor:
        from torch.nn import functional as F  # noqa: N812

        return F.linear(value, self.weights[name + ".weight"], self.weights[name + ".bias"])

    def _norm(self, name: str, value: torch.Tensor) -> torch.Tensor:
        from torch.nn import functional as F  # noqa: N812

        return F.layer_norm(
            value,
            (self.shape.hidden,),
            self.weights[name + ".weight"],
            self.weights[name + ".bias"],
            self.shape.eps,
        )

    def _drop(self, value: torch.Tensor) -> torch.Tensor:
        from torch.nn import functional as F  # noqa: N812

        return F.dropout(value, self.dropout) if self.dropout else value


def rounded(weights: Weights, shape: Shape) -> Weights:
    """The weights the int8 graph uses, as floats; gradients reach the unrounded ones."""
    words = "embeddings.word_embeddings.weight"
    changed = {words: fake_quantised_weight(weights[words], bits=8)}
    for layer in range(shape.layers):
        for part, linear in _LINEARS.items():
            name = f"encoder.layer.{layer}.{linear}"
            weight = weights[name + ".weight"]
            divisor = weights.get(smoothed_as(name, part) + SMOOTH)
            scaled = weight if divisor is None else weight * divisor
            changed[name + ".weight"] = fake_quantised_weight(scaled, bits=7)
    return weights | changed


def smoothed_as(name: str, part: str) -> str:
    """Key and value share the query's input, hence its divisors."""
    return name.replace(_LINEARS[part], _LINEARS["query"]) if part in ("key", "value") else name


def mixed(trained: Weights, base: Weights, share: float) -> Weights:
    return {name: share * trained[name] + (1 - share) * base[name].to(trained[name].device) for name in base}


def averaged(many: list[Weights]) -> Weights:
    import torch

    return {name: torch.stack([weights[name] for weights in many]).mean(0) for name in many[0]}


def parameters(weights: Weights, device: Any) -> Weights:
    return {name: value.detach().clone().to(device).requires_grad_(True) for name, value in weights.items()}
