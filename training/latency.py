from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from training.evaluate import open_session, run_one
from training.tokens import TokenTable

QUERIES = (
    "list open pull requests in this repository",
    "what will the weather be in Oslo tomorrow",
    "send Maria a message that I am late",
    "convert this recording to text with speaker names",
)


def query_latency(models: Mapping[str, Path], tokenizer: Path, *, rounds: int = 200) -> dict[str, dict[str, float]]:
    """Median ms per query of about ten tokens. Models take turns, so a busy machine slows all alike."""
    tokens = TokenTable(tokenizer)
    found: dict[str, dict[str, float]] = {name: {} for name in models}
    for threads in (1, 2):
        sessions = {name: open_session(path, threads) for name, path in models.items()}
        taken: dict[str, list[float]] = {name: [] for name in models}
        for turn in range(rounds + 20):
            ids = tokens.ids(QUERIES[turn % len(QUERIES)])
            for name, session in sessions.items():
                start = time.perf_counter()
                run_one(session, ids)
                if turn >= 20:  # the first runs allocate
                    taken[name].append((time.perf_counter() - start) * 1000)
        for name, values in taken.items():
            found[name][f"p50 ms, {threads} thread{'s' if threads > 1 else ''}"] = float(np.median(values))
    return found
