"""Any sentence-transformers model, for those who have torch (extra `st`)."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import structlog

from core.errors import EmbeddingFailed
from embeddings.devices import torch_device
from embeddings.onnx_model import BGE_PREFIX
from embeddings.types import EmbeddingOptions, Kind, Vectors, in_one_piece, unit

log = structlog.get_logger("toolscript.embeddings")
CPU_BATCH = 32
GPU_BATCH = 256
"""A GPU waits for small batches."""


class SentenceTransformerEmbedder:
    remote = False

    def __init__(self, name: str, options: EmbeddingOptions) -> None:
        try:
            from sentence_transformers import SentenceTransformer
        except ImportError as exc:
            raise EmbeddingFailed("sentence-transformers is not installed: install toolscript[st].") from exc
        local = options.models_dir / name
        self._model = _load(SentenceTransformer, str(local) if local.is_dir() else name, options.device)
        self._prefix = BGE_PREFIX if "bge-" in Path(name).name.lower() else ""
        self.name = f"st:{name}"
        self.fingerprint = hashlib.sha256(self.name.encode()).hexdigest()[:16]
        self.dim = int(self._model.get_embedding_dimension())
        self._words: frozenset[str] = frozenset(self._model.tokenizer.get_vocab())
        self._batch = CPU_BATCH if self._model.device.type == "cpu" else GPU_BATCH

    def embed_batch(self, texts: list[str], *, kind: Kind) -> Vectors:
        prefix = self._prefix if kind == "query" else ""
        try:
            encoded = self._model.encode(
                [prefix + t for t in texts], batch_size=self._batch, convert_to_numpy=True, show_progress_bar=False
            )
        except RuntimeError as exc:
            raise EmbeddingFailed(f"The model {self.name} failed: {exc}") from exc
        return unit(encoded.reshape(len(texts), self.dim))

    def knows(self, word: str) -> bool:
        return any(form in self._words for form in in_one_piece(word))


def _load(model: Callable[..., Any], name: str, device: str) -> Any:
    chosen = torch_device(device)
    try:
        try:
            return model(name, device=chosen)
        except RuntimeError as exc:
            if device != "auto" or chosen == "cpu":
                raise
            log.warning("embeddings.gpu_failed", provider=chosen, error=str(exc).splitlines()[0][:200])
            return model(name, device="cpu")
    except (OSError, ValueError, RuntimeError) as exc:
        raise EmbeddingFailed(f"sentence-transformers could not load {name!r}: {exc}") from exc


def from_name(name: str, options: EmbeddingOptions) -> SentenceTransformerEmbedder:
    return SentenceTransformerEmbedder(name, options)
