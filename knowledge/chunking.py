"""Cuts passages into chunks that fit the embedding model, counted in its own tokens."""

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import Any

from embeddings.onnx_model import WEIGHTS
from knowledge.types import Document, Passage, Piece, Position

TOKENIZER = WEIGHTS / "toolscript-minilm" / "tokenizer.json"
HEADING_CHARS = 500
LONGEST_RUN = 500
# Nothing to cut at, in scripts that part words by blanks.
_IN_RUN = r"[^\s\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]"
RUN = re.compile(rf"(?<!{_IN_RUN}){_IN_RUN}{{{LONGEST_RUN},}}")


def pieces_of(document: Document, format: str, *, tokens: int, overlap: int) -> list[Piece]:  # noqa: A002
    splitter = _splitter("markdown" if format == "markdown" else "text", tokens, overlap)
    return [piece for passage in document.passages for piece in _pieces(passage, splitter)]


def _pieces(passage: Passage, splitter: Any) -> Iterator[Piece]:
    offsets = [offset for offset, _ in passage.pages]
    for offset, content in _chunks(passage.text, splitter):
        page = passage.pages[max(0, bisect_right(offsets, offset) - 1)][1] if passage.pages else None
        if content.strip():
            position = Position(passage.chapter[:HEADING_CHARS], passage.section[:HEADING_CHARS], page)
            yield Piece(content, position, count_tokens(content))


def _chunks(text: str, splitter: Any) -> Iterator[tuple[int, str]]:
    """Runs without a blank are cut first: to the model a megabyte of letters is one unknown word, so one token."""
    cuts = [cut for run in RUN.finditer(text) for cut in range(run.start() + LONGEST_RUN, run.end(), LONGEST_RUN)]
    for start, end in pairwise([0, *cuts, len(text)]):
        for offset, content in splitter.chunk_indices(text[start:end]):
            yield start + offset, content


def count_tokens(text: str) -> int:
    return len(_tokenizer().encode(text, add_special_tokens=False).ids)


@cache
def _tokenizer() -> Any:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(TOKENIZER))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


@cache
def _splitter(kind: str, tokens: int, overlap: int) -> Any:
    from semantic_text_splitter import MarkdownSplitter, TextSplitter

    splitter = MarkdownSplitter if kind == "markdown" else TextSplitter
    return splitter.from_huggingface_tokenizer(_tokenizer(), tokens, overlap)
