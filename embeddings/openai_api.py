"""Embeddings from any OpenAI-compatible endpoint."""

import hashlib

import numpy as np

from core.errors import EmbeddingFailed
from embeddings.types import EmbeddingOptions, Kind, Vectors, unit

BATCH = 64
MAX_CHARACTERS = 8000
"""Services refuse a text over their limit of tokens (8,192 with OpenAI) instead of cutting it."""
DOCUMENT_TIMEOUT = 60.0


class OpenAIEmbedder:
    remote = True

    def __init__(self, model: str, options: EmbeddingOptions) -> None:
        import openai

        # Local endpoints want no key, and the SDK wants one.
        self._client = openai.OpenAI(
            base_url=options.openai_base_url or None,
            api_key=options.openai_api_key or "none",
            max_retries=0,
        )
        self._timeout = options.timeout
        self._model = model
        self.name = f"openai:{model}"
        self.fingerprint = hashlib.sha256(f"{self._client.base_url}|{model}".encode()).hexdigest()[:16]
        self._dim: int | None = None

    @property
    def dim(self) -> int:
        """Asked of the service when first needed: loading a model must not wait for a network."""
        if self._dim is None:
            self._dim = int(self._request(["dimension"], self._timeout).shape[1])
        return self._dim

    def embed_batch(self, texts: list[str], *, kind: Kind) -> Vectors:
        timeout = self._timeout if kind == "query" else max(self._timeout, DOCUMENT_TIMEOUT)
        parts = [self._request(texts[i : i + BATCH], timeout) for i in range(0, len(texts), BATCH)]
        return np.concatenate(parts) if parts else np.empty((0, self.dim), dtype=np.float32)

    def knows(self, word: str) -> bool:
        return True  # nobody says

    def _request(self, texts: list[str], timeout: float) -> Vectors:
        import openai

        try:
            cut = [text[:MAX_CHARACTERS] for text in texts]
            answer = self._client.embeddings.create(
                model=self._model, input=cut, encoding_format="float", timeout=timeout
            )
            rows = [item.embedding for item in sorted(answer.data, key=lambda item: item.index)]
            vectors = np.array(rows, dtype=np.float32)
        except openai.OpenAIError as exc:
            raise EmbeddingFailed(f"The embedding service failed: {type(exc).__name__}.") from exc
        except (AttributeError, TypeError, ValueError) as exc:
            raise EmbeddingFailed("The embedding service sent an answer of the wrong form.") from exc
        if vectors.ndim != 2 or len(vectors) != len(texts) or self._dim not in {None, vectors.shape[1]}:
            raise EmbeddingFailed("The embedding service sent vectors of the wrong number or size.")
        return unit(vectors)


def from_model(model: str, options: EmbeddingOptions) -> OpenAIEmbedder:
    return OpenAIEmbedder(model, options)
