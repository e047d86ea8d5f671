"""Builds small ONNX models, so that the paths for models that are not on this machine run for real."""

import json
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "read", "write", "file", "calendar", "event", "meeting", "commit"]
DIM = 8


def build(folder: Path, *, pooled: bool = False, token_types: bool = True) -> Path:
    """A model that looks each token up in a table: last_hidden_state, or its mean if `pooled`."""
    folder.mkdir(parents=True)
    tokenizer().save(str(folder / "tokenizer.json"))
    table = np.random.default_rng(1).normal(size=(len(WORDS), DIM)).astype(np.float32)
    nodes = [helper.make_node("Gather", ["table", "input_ids"], ["hidden"])]
    shape: list[str | int] = ["batch", "length", DIM]
    if pooled:
        nodes.append(helper.make_node("ReduceMean", ["hidden", "axes"], ["out"], keepdims=0))
        shape = ["batch", DIM]
    else:
        nodes.append(helper.make_node("Identity", ["hidden"], ["out"]))
    names = ["input_ids", "attention_mask", *(["token_type_ids"] if token_types else [])]
    graph = helper.make_graph(
        nodes,
        "tiny",
        [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "length"]) for name in names],
        [helper.make_tensor_value_info("out", TensorProto.FLOAT, shape)],
        [numpy_helper.from_array(table, "table"), numpy_helper.from_array(np.array([1], dtype=np.int64), "axes")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    onnx.save(model, folder / "model.onnx")
    return folder


def add_pooling(folder: Path, *, cls: bool) -> None:
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode_cls_token": cls}))


def tokenizer() -> Tokenizer:
    made = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]"))
    made.normalizer = normalizers.Lowercase()
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return made
