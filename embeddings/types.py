from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

from core.errors import EmbeddingFailed

Kind = Literal["query", "document"]
Vectors = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class EmbeddingOptions:
    models_dir: Path
    threads: int = 1
    timeout: float = 5.0
    openai_base_url: str = ""
    openai_api_key: str = ""
    device: str = "auto"


class Embedder(Protocol):
    """The port. `embed_batch` returns one unit vector a text, and no vector depends on its batch mates."""

    name: str
    fingerprint: str
    """Changes whenever the same text would get another vector."""
    remote: bool
    """True if a call leaves the process, and so may hang."""

    @property
    def dim(self) -> int: ...

    def embed_batch(self, texts: list[str], *, kind: Kind) -> Vectors: ...

    def knows(self, word: str) -> bool:
        """Whether it reads the word in one piece, as it has learned it. True where that cannot be told."""
        ...


def in_one_piece(word: str) -> tuple[str, ...]:
    """How the vocabularies of the common kinds of tokenizers write a whole word."""
    return word, f"\u2581{word}", f"\u0120{word}"


def unit(vectors: Vectors) -> Vectors:
    """Normalised rows. A row that is zero or not finite has no direction: that is a broken model, not a result."""
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not np.all(np.isfinite(norms)) or np.any(norms == 0):
        raise EmbeddingFailed("The embedding model returned a vector that is zero or not finite.")
    return np.ascontiguousarray(vectors / norms, dtype=np.float32)
