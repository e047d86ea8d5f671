"""Flat dense search over each set: every query against every document, by cosine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from training.data import RetrievalSet
from training.metrics import Floats, Interval, bootstrap, score_rankings, summarise
from training.pairs import Embed
from training.texts import MAX_TOKENS

Scores = dict[str, Floats]


def search(embed: Embed, retrieval: RetrievalSet, k: int = 10) -> list[list[int]]:
    documents, queries = embed(retrieval.documents), embed(retrieval.queries)
    ranked: list[list[int]] = []
    for start in range(0, len(queries), 1024):
        scores = queries[start : start + 1024] @ documents.T
        ranked += np.argsort(-scores, axis=1, kind="stable")[:, :k].tolist()
    return ranked


def score(embed: Embed, retrieval: RetrievalSet) -> Scores:
    return score_rankings(search(embed, retrieval), [set(gold) for gold in retrieval.golds])


def score_by_twin(twins: Mapping[str, Embed], retrieval: RetrievalSet) -> Scores:
    """Each query is answered by the twin that was trained without the query's server."""
    golds = [set(gold) for gold in retrieval.golds]
    ranked: list[list[int]] = [[] for _ in retrieval.queries]
    for fold, embed in twins.items():
        places = [place for place, group in enumerate(retrieval.groups) if group == fold]
        part = RetrievalSet(
            retrieval.name,
            retrieval.documents,
            tuple(retrieval.queries[place] for place in places),
            tuple(retrieval.golds[place] for place in places),
        )
        for place, ranking in zip(places, search(embed, part), strict=True):
            ranked[place] = ranking
    if not all(ranked):
        raise ValueError("a query's server was seen by every twin")
    return score_rankings(ranked, golds)


def summary(scores: Mapping[str, Scores]) -> dict[str, dict[str, Interval]]:
    return {name: summarise(values) for name, values in scores.items()}


def difference(ours: Scores, theirs: Scores, metric: str = "ndcg@10") -> Interval:
    """Paired: the same queries are resampled for both."""
    return bootstrap(ours[metric] - theirs[metric])


def onnx_embed(folder: Path, *, model: str = "model.onnx", workers: int = 2) -> Embed:
    """As the service does it: one text a run, so a vector never depends on its neighbours."""
    from tokenizers import Tokenizer

    session = open_session(folder / model, threads=1)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_TOKENS)

    def one(text: str) -> npt.NDArray[np.float32]:
        return run_one(session, tokenizer.encode(text).ids)

    known: dict[str, npt.NDArray[np.float32]] = {}  # sets share catalogues

    def embed(texts: Sequence[str]) -> npt.NDArray[np.float32]:
        fresh = [text for text in dict.fromkeys(texts) if text not in known]
        with ThreadPoolExecutor(workers) as pool:
            known.update(zip(fresh, pool.map(one, fresh), strict=True))
        return np.stack([known[text] for text in texts])

    return embed


def open_session(path: Path, threads: int) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def run_one(session: Any, ids: Sequence[int]) -> npt.NDArray[np.float32]:
    tokens = np.array([ids], dtype=np.int64)
    vector = session.run(["embedding"], {"input_ids": tokens, "attention_mask": np.ones_like(tokens)})[0][0]
    return np.asarray(vector, dtype=np.float32)
