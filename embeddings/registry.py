"""Finds the embedder that a name stands for. Each is loaded on first use and kept for the process.

toolscript-minilm        ships with the package
NAME                     an ONNX model in <data dir>/models/NAME, or in an installed package that carries it
onnx:FOLDER              an ONNX model anywhere
openai:MODEL             any OpenAI-compatible endpoint
st:NAME                  sentence-transformers (extra `st`)
"""

import threading
from importlib import import_module

from core.errors import EmbeddingFailed
from embeddings.types import Embedder, EmbeddingOptions

EMBEDDERS = {
    "toolscript-minilm": "embeddings.onnx_model:shipped",
    "onnx": "embeddings.onnx_model:from_folder",
    "named": "embeddings.onnx_model:from_name",
    "openai": "embeddings.openai_api:from_model",
    "st": "embeddings.sentence_transformer:from_name",
}

_loaded: dict[tuple[str, EmbeddingOptions], Embedder] = {}
_lock = threading.Lock()


def load(spec: str, options: EmbeddingOptions) -> Embedder:
    key = (spec, options)
    if key not in _loaded:
        with _lock:
            if key not in _loaded:
                _loaded[key] = _build(spec, options)
    return _loaded[key]


def _build(spec: str, options: EmbeddingOptions) -> Embedder:
    scheme, _, rest = spec.partition(":")
    if not rest:
        scheme, rest = (spec if spec in EMBEDDERS else "named"), spec
    if scheme not in EMBEDDERS:
        raise EmbeddingFailed(f"{spec!r} names no embedding model: {', '.join(sorted(EMBEDDERS))} are known.")
    module, _, factory = EMBEDDERS[scheme].partition(":")
    embedder: Embedder = getattr(import_module(module), factory)(rest, options)
    return embedder
