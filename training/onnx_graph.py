"""Writes the encoder as an ONNX graph by hand: pooling and normalisation inside, float32 or int8 weights.

By hand because an exporter's graph hides where rounding happens, and because one projection for query, key
and value means each activation is quantised once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from training.encoder import SMOOTH, Shape
from training.quantise import quantised_rows

OPSET = 20
Array = npt.NDArray[Any]


@dataclass
class GraphWriter:
    weights: dict[str, npt.NDArray[np.float32]]
    shape: Shape
    int8: bool
    nodes: list[Any] = field(default_factory=list)
    constants: dict[str, Array] = field(default_factory=dict)

    def op(self, kind: str, inputs: list[str], outputs: int = 1, **attributes: Any) -> list[str]:
        from onnx import helper

        names = [f"{kind}_{len(self.nodes)}_{place}" for place in range(outputs)]
        self.nodes.append(helper.make_node(kind, inputs, names, name=names[0], **attributes))
        return names

    def one(self, kind: str, *inputs: str, **attributes: Any) -> str:
        return self.op(kind, list(inputs), **attributes)[0]

    def constant(self, name: str, value: Array) -> str:
        self.constants.setdefault(name, value)
        return name

    def number(self, value: float) -> str:
        return self.constant(f"number_{value}", np.array(value, dtype=np.float32))

    def ints(self, *values: int) -> str:
        return self.constant("ints_" + "_".join(map(str, values)), np.array(values, dtype=np.int64))

    def lookup(self, ids: str) -> str:
        table = self.weights["embeddings.word_embeddings.weight"]
        if not self.int8:
            return self.one("Gather", self.constant("words", table), ids)
        rounded, scale = quantised_rows(table, bits=8)
        words = self.one("Cast", self.one("Gather", self.constant("words", rounded), ids), to=1)
        scales = self.one("Gather", self.constant("word_scales", scale[:, None]), ids)
        return self.one("Mul", words, scales)

    def linear(
        self,
        name: str,
        weight: npt.NDArray[np.float32],
        bias: npt.NDArray[np.float32],
        value: str,
        *,
        smoothed_as: str | None = None,
    ) -> str:
        if self.int8:
            divisor = self.weights.get((smoothed_as or name) + SMOOTH)
            if divisor is not None:
                weight = weight * divisor
                value = self.one("Mul", value, self.constant(name + ".undo", 1 / divisor))
            product = self._integer_product(name, weight, value)
        else:
            product = self.one("MatMul", value, self.constant(name, np.ascontiguousarray(weight.T)))
        return self.one("Add", product, self.constant(name + ".bias", bias))

    def _integer_product(self, name: str, weight: npt.NDArray[np.float32], value: str) -> str:
        rounded, scale = quantised_rows(weight, bits=7)
        integers, step, zero = self.op("DynamicQuantizeLinear", [value], outputs=3)
        matrix = self.constant(name, np.ascontiguousarray(rounded.T))
        no_shift = self.constant("no_shift", np.array(0, dtype=np.int8))
        summed = self.one("Cast", self.one("MatMulInteger", integers, matrix, zero, no_shift), to=1)
        return self.one("Mul", summed, self.one("Mul", step, self.constant(name + ".scale", scale)))

    def norm(self, name: str, value: str) -> str:
        scale = self.constant(name + ".weight", self.weights[name + ".weight"])
        bias = self.constant(name + ".bias", self.weights[name + ".bias"])
        return self.one("LayerNormalization", value, scale, bias, axis=-1, epsilon=self.shape.eps)

    def layer(self, prefix: str, state: str, additive: str) -> str:
        attended = self._attention(prefix, state, additive)
        dense = prefix + "attention.output.dense"
        projected = self.linear(dense, self.weights[dense + ".weight"], self.weights[dense + ".bias"], attended)
        state = self.norm(prefix + "attention.output.LayerNorm", self.one("Add", projected, state))
        up, down = prefix + "intermediate.dense", prefix + "output.dense"
        inner = self.one("Gelu", self.linear(up, self.weights[up + ".weight"], self.weights[up + ".bias"], state))
        outer = self.linear(down, self.weights[down + ".weight"], self.weights[down + ".bias"], inner)
        return self.norm(prefix + "output.LayerNorm", self.one("Add", outer, state))

    def _attention(self, prefix: str, state: str, additive: str) -> str:
        hidden, heads = self.shape.hidden, self.shape.heads
        width = hidden // heads
        parts = [prefix + f"attention.self.{part}" for part in ("query", "key", "value")]
        weight = np.concatenate([self.weights[part + ".weight"] for part in parts])
        bias = np.concatenate([self.weights[part + ".bias"] for part in parts])
        joint = self.linear(prefix + "attention.self.joint", weight, bias, state, smoothed_as=parts[0])
        split = self.op("Split", [joint, self.ints(hidden, hidden, hidden)], outputs=3, axis=-1)
        by_head = [self.one("Reshape", part, self.ints(0, 0, heads, width)) for part in split]
        query = self.one("Transpose", by_head[0], perm=[0, 2, 1, 3])
        key = self.one("Transpose", by_head[1], perm=[0, 2, 3, 1])
        value = self.one("Transpose", by_head[2], perm=[0, 2, 1, 3])
        logits = self.one("Mul", self.one("MatMul", query, key), self.number(width**-0.5))
        shares = self.one("Softmax", self.one("Add", logits, additive), axis=-1)
        joined = self.one("Transpose", self.one("MatMul", shares, value), perm=[0, 2, 1, 3])
        return self.one("Reshape", joined, self.ints(0, 0, hidden))

    def embed(self) -> str:
        length = self.one("Shape", "input_ids", start=1, end=2)
        positions = self.one(
            "Slice",
            self.constant("positions", self._positions()),
            self.ints(0),
            length,
            self.ints(0),
        )
        return self.norm("embeddings.LayerNorm", self.one("Add", self.lookup("input_ids"), positions))

    def _positions(self) -> npt.NDArray[np.float32]:
        kinds = self.weights["embeddings.token_type_embeddings.weight"]
        positions = self.weights["embeddings.position_embeddings.weight"]
        return np.asarray(positions + kinds[0], dtype=np.float32)

    def pool(self, state: str, mask: str) -> None:
        weight = self.one("Unsqueeze", mask, self.ints(2))
        summed = self.one("ReduceSum", self.one("Mul", state, weight), self.ints(1), keepdims=0)
        count = self.one("Max", self.one("ReduceSum", mask, self.ints(1), keepdims=1), self.number(1.0))
        mean = self.one("Div", summed, count)
        length = self.one("Max", self.one("ReduceL2", mean, self.ints(1), keepdims=1), self.number(1e-12))
        self.one("Div", mean, length)
        self.nodes[-1].output[0] = "embedding"

    def build(self) -> Any:
        mask = self.one("Cast", "attention_mask", to=1)
        missing = self.one("Sub", self.number(1.0), self.one("Unsqueeze", mask, self.ints(1, 2)))
        additive = self.one("Mul", missing, self.number(-1e4))
        state = self.embed()
        for layer in range(self.shape.layers):
            state = self.layer(f"encoder.layer.{layer}.", state, additive)
        self.pool(state, mask)
        return self._model()

    def _model(self) -> Any:
        from onnx import TensorProto, checker, helper, numpy_helper

        inputs = [
            helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "length"])
            for name in ("input_ids", "attention_mask")
        ]
        output = helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ["batch", self.shape.hidden])
        stored = [numpy_helper.from_array(value, name) for name, value in self.constants.items()]
        graph = helper.make_graph(self.nodes, "toolscript-minilm", inputs, [output], stored)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=9)
        model.producer_name = "toolscript"
        checker.check_model(model)
        return model


def write_onnx(weights: Any, shape: Shape, path: Path, *, int8: bool) -> None:
    import onnx

    arrays = {name: value.detach().float().cpu().numpy() for name, value in weights.items()}
    path.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(GraphWriter(arrays, shape, int8).build(), path)
