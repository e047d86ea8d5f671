"""Cuts passages into chunks that fit the embedding model, counted in its own tokens."""

from bisect import bisect_right
from collections.abc import Iterator
from functools import cache
from typing import Any

from embeddings.onnx_model import WEIGHTS
from knowledge.types import Document, Passage, Piece, Position

TOKENIZER = WEIGHTS / "toolscript-minilm" / "tokenizer.json"
HEADING_CHARS = 500


def pieces_of(document: Document, format: str, *, tokens: int, overlap: int) -> list[Piece]:  # noqa: A002
    splitter = _splitter("markdown" if format == "markdown" else "text", tokens, overlap)
    return [piece for passage in document.passages for piece in _pieces(passage, splitter)]


def _pieces(passage: Passage, splitter: Any) -> Iterator[Piece]:
    offsets = [offset for offset, _ in passage.pages]
    for offset, content in splitter.chunk_indices(passage.text):
        page = passage.pages[max(0, bisect_right(offsets, offset) - 1)][1] if passage.pages else None
        if content.strip():
            position = Position(passage.chapter[:HEADING_CHARS], passage.section[:HEADING_CHARS], page)
            yield Piece(content, position, count_tokens(content))


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
