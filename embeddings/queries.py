"""Query vectors: a bounded cache, and a deadline for models that live elsewhere."""

import threading
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout

from core.errors import EmbeddingFailed
from embeddings.types import Embedder, Vectors

REMOTE_CALLS = 16

_executor: ThreadPoolExecutor | None = None
_executor_lock = threading.Lock()


class QueryVectors:
    """The most recently used query vectors. Two requests may compute the same one; both get the same result."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._vectors: OrderedDict[tuple[str, str], Vectors] = OrderedDict()
        self._lock = threading.Lock()

    def embed(self, embedder: Embedder, text: str, timeout: float) -> Vectors:
        key = (embedder.fingerprint, text)
        with self._lock:
            if key in self._vectors:
                self._vectors.move_to_end(key)
                return self._vectors[key]
        vector = embed_query(embedder, text, timeout)
        with self._lock:
            self._vectors[key] = vector
            while len(self._vectors) > self._size:
                self._vectors.popitem(last=False)
        return vector


def embed_query(embedder: Embedder, text: str, timeout: float) -> Vectors:
    if not embedder.remote:
        vector: Vectors = embedder.embed_batch([text], kind="query")[0]
        return vector
    # A service that drips bytes outlasts every socket time-out; only a deadline from outside ends the wait.
    future = _remote_calls().submit(embedder.embed_batch, [text], kind="query")
    try:
        vector = future.result(timeout)[0]
    except FutureTimeout:
        future.cancel()
        raise EmbeddingFailed(f"The embedding service did not answer within {timeout:g} s.") from None
    return vector


def _remote_calls() -> ThreadPoolExecutor:
    global _executor  # noqa: PLW0603 - made after the fork, once a process
    with _executor_lock:
        if _executor is None:
            _executor = ThreadPoolExecutor(REMOTE_CALLS, thread_name_prefix="embedding")
        return _executor
