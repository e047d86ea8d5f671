"""Tries an embedding model on each device: how long it takes to load, how fast it embeds, how far vectors differ.

    python -m benchmarks.device                              the shipped model
    python -m benchmarks.device onnx:/models/bge-small st:all-MiniLM-L6-v2
    python -m benchmarks.device all-MiniLM-L6-v2             fp32, from the extra `minilm`
    python -m benchmarks.device --made                       also a sentence-transformers model of MiniLM's size with
                                                             random weights, made here

Needs no Django and no database: numpy, structlog, onnxruntime, tokenizers, and for `st:` sentence-transformers.
Prints one JSON object a line.
"""

import argparse
import json
import platform
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from core.errors import EmbeddingFailed
from embeddings import registry
from embeddings.devices import DEVICES
from embeddings.types import EmbeddingOptions, Vectors

WORDS = ["read", "write", "file", "calendar", "event", "meeting", "commit", "branch", "search", "send", "table", "map"]


def texts(count: int) -> list[str]:
    random = np.random.default_rng(7)
    return [" ".join(random.choice(WORDS, size=int(random.integers(5, 40)))) for _ in range(count)]


def measure(model: str, options: EmbeddingOptions, documents: list[str]) -> tuple[dict[str, Any], Vectors | None]:
    started = time.perf_counter()
    try:
        embedder = registry.load(model, options)
    except EmbeddingFailed as exc:
        return {"error": exc.message}, None
    load_s = time.perf_counter() - started
    embedder.embed_batch(documents[:64], kind="document")  # the first runs choose kernels
    started = time.perf_counter()
    vectors = embedder.embed_batch(documents, kind="document")
    document_s = time.perf_counter() - started
    queries = []
    for text in documents[:50]:
        started = time.perf_counter()
        embedder.embed_batch([text], kind="query")
        queries.append((time.perf_counter() - started) * 1000)
    figures = {
        "load_s": round(load_s, 2),
        "documents_per_s": round(len(documents) / document_s, 1),
        "query_p50_ms": round(float(np.median(queries)), 2),
        "on": _where(embedder),
    }
    return figures, vectors


def _where(embedder: Any) -> str:
    if hasattr(embedder, "_session"):
        return str(embedder._session.get_providers()[0])
    return str(getattr(getattr(embedder, "_model", None), "device", "elsewhere"))


def compare(model: str, folder: Path, documents: list[str]) -> None:
    reference: Vectors | None = None
    for device in ("cpu", *(d for d in DEVICES if d != "cpu")):
        figures, vectors = measure(model, EmbeddingOptions(folder, threads=2, device=device), documents)
        if reference is None:
            reference = vectors
        elif vectors is not None:
            figures["lowest_cosine_to_cpu"] = round(float((reference * vectors).sum(axis=1).min()), 7)
        print(json.dumps({"model": model, "device": device, **figures}), flush=True)


def made_model(folder: Path) -> str:
    """A transformer of MiniLM's size. Random weights cost as much as good ones."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import Pooling, Transformer
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    torch.manual_seed(1)
    vocabulary = {word: i for i, word in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    sizes = {"hidden_size": 384, "num_hidden_layers": 6, "num_attention_heads": 12, "intermediate_size": 1536}
    bert = BertModel(BertConfig(vocab_size=len(vocabulary), **sizes)).eval()
    bert.save_pretrained(folder / "base")
    special = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=256, **special)
    fast.save_pretrained(folder / "base")
    SentenceTransformer(modules=[Transformer(str(folder / "base")), Pooling(384)]).save(str(folder / "made-st"))
    return "st:made-st"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=["toolscript-minilm"])
    parser.add_argument("--made", action="store_true", help="also a sentence-transformers model, made here")
    parser.add_argument("--documents", type=int, default=1000)
    args = parser.parse_args()
    print(json.dumps({"machine": platform.machine(), "python": platform.python_version(), **versions()}), flush=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        models = [*args.models, *([made_model(folder)] if args.made else [])]
        for model in models:
            compare(model, folder, texts(args.documents))


def versions() -> dict[str, Any]:
    found: dict[str, Any] = {}
    try:
        import onnxruntime

        found |= {"onnxruntime": onnxruntime.__version__, "providers": onnxruntime.get_available_providers()}
    except ImportError:
        found["onnxruntime"] = None
    try:
        import torch

        gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else None
        found |= {"torch": torch.__version__, "gpu": gpu}
    except ImportError:
        found["torch"] = None
    return found


if __name__ == "__main__":
    main()
