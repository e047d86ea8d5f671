from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from training.texts import MAX_TOKENS

if TYPE_CHECKING:
    import torch


class TokenTable:
    """Every text tokenised once; batches are padded to their own longest text."""

    def __init__(self, tokenizer_file: Path, max_tokens: int = MAX_TOKENS) -> None:
        from tokenizers import Tokenizer

        self._tokenizer = Tokenizer.from_file(str(tokenizer_file))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(max_tokens)
        self._rows: dict[str, list[int]] = {}

    def ids(self, text: str) -> list[int]:
        if text not in self._rows:
            self.add([text])
        return self._rows[text]

    def add(self, texts: Sequence[str]) -> None:
        fresh = [text for text in dict.fromkeys(texts) if text not in self._rows]
        for text, encoding in zip(fresh, self._tokenizer.encode_batch(fresh), strict=True):
            self._rows[text] = encoding.ids

    def batch(self, texts: Sequence[str], device: Any) -> tuple[torch.Tensor, torch.Tensor]:
        import torch

        rows = [self.ids(text) for text in texts]
        ids = np.zeros((len(rows), max(map(len, rows))), dtype=np.int64)
        mask = np.zeros_like(ids)
        for place, row in enumerate(rows):
            ids[place, : len(row)] = row
            mask[place, : len(row)] = 1
        return torch.from_numpy(ids).to(device), torch.from_numpy(mask).to(device)

    def by_length(self, texts: Sequence[str], tokens_per_batch: int) -> Iterator[list[int]]:
        """Places of texts of similar length, so that little padding is computed."""
        self.add(texts)
        order = sorted(range(len(texts)), key=lambda place: len(self.ids(texts[place])))
        batch: list[int] = []
        for place in order:
            if batch and (len(batch) + 1) * len(self.ids(texts[place])) > tokens_per_batch:
                yield batch
                batch = []
            batch.append(place)
        if batch:
            yield batch
