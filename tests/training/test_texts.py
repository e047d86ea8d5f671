"""What the model is shown, and how weights are rounded."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tools_catalog.text import split_name
from training.documents import documents_set
from training.quantise import quantised_rows
from training.texts import Tool, first_sentence, short_texts, tool_text

TOOL = Tool(
    "x",
    "npm-acme__mcp-server",
    "listOpenPulls_byUser",
    "List  pull\nrequests. Slow.",
    ("userId", "max-count"),
)


@pytest.mark.parametrize(
    ("identifier", "words"),
    [
        ("snake_case_name", "snake case name"),
        ("camelCaseName", "camel Case Name"),
        ("kebab-case", "kebab case"),
        ("parseHTTPResponse", "parse HTTP Response"),
        ("math.factorial", "math factorial"),
        ("v2", "v2"),
    ],
)
def test_identifiers_are_split_into_words(identifier: str, words: str) -> None:
    assert split_name(identifier) == words


def test_a_tool_reads_server_name_description_parameters() -> None:
    expected = "npm-acme__mcp-server: list Open Pulls by User. List pull requests. Slow. user Id max count"
    assert tool_text(TOOL) == expected


def test_a_tool_without_a_server_starts_with_its_name() -> None:
    assert tool_text(Tool("x", "", "ping", "", ())) == "ping."


def test_shorter_texts_differ_from_each_other_and_drop_registry_words() -> None:
    texts = short_texts(TOOL)
    assert len(set(texts)) == len(texts) == 4
    assert texts[1] == "acme: list Open Pulls by User. List  pull".replace("  ", " ")


def test_the_first_sentence_ends_at_a_stop_or_a_line() -> None:
    assert first_sentence("One. Two.") == "One."
    assert first_sentence("One line\nnext") == "One line"


def test_rounding_keeps_every_weight_within_half_a_step() -> None:
    weight = np.random.default_rng(1).normal(size=(6, 40)).astype(np.float32)
    integers, scale = quantised_rows(weight, bits=7)
    assert np.abs(integers).max() == 64
    assert np.abs(integers * scale[:, None] - weight).max() <= scale.max() / 2 + 1e-6


def test_a_row_of_zeros_survives_rounding() -> None:
    integers, _ = quantised_rows(np.zeros((2, 3), dtype=np.float32), bits=8)
    assert not integers.any()


def test_documents_are_docstrings_asked_for_by_their_first_line(tmp_path: Path) -> None:
    body = " ".join(f"word{number}" for number in range(20))
    source = f'def f():\n    """Return the nearest tools.\n\n    {body}\n    """\n'
    for name in ("alpha", "beta", "gamma", "delta"):
        (tmp_path / f"{name}.py").write_text(source.replace("nearest", name).replace("word0", name))
    halves = [documents_set(part, tmp_path) for part in ("validation", "test")]
    assert sum(len(half.queries) for half in halves) == 4
    assert not set(halves[0].queries) & set(halves[1].queries)
    assert all(not document.startswith("Return") for half in halves for document in half.documents)
