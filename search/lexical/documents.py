"""A tool as the keyword index sees it: its words, each with a weight by where it stands."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from search.lexical.words import pieces, stem, words_in

NAME = 3.0
SERVER = 1.0
DESCRIPTION = 1.0
PARAMETER = 0.7
PARAMETER_DESCRIPTION = 0.5
DEPTH = 4
"""How deep parameters inside parameters are read; published schemas can point to themselves."""


@dataclass(frozen=True, slots=True)
class Document:
    tool_id: int
    tenant_id: int
    """0 for what is shared"""
    type: str
    key: str
    """Changes with the text."""
    names: tuple[str, str]
    """As published, alone and with the server before it."""
    terms: dict[str, float]
    surface: frozenset[str]
    """The words as they are written, to repair typing errors against."""


@dataclass(frozen=True, slots=True)
class Source:
    tool_id: int
    tenant_id: int | None
    type: str
    content_hash: str
    server: str
    name: str
    description: str
    input_schema: str | None
    """JSON text"""


def document(source: Source) -> Document:
    weights: dict[str, float] = {}
    for text, weight in _fields(source):
        for piece in pieces(text):
            weights[piece] = weights.get(piece, 0.0) + weight
    terms: dict[str, float] = {}
    surface: set[str] = set()
    for piece, weight in weights.items():
        for word in words_in(piece):
            surface.add(word)
            term = stem(word)
            terms[term] = terms.get(term, 0.0) + weight
    return Document(
        tool_id=source.tool_id,
        tenant_id=source.tenant_id or 0,
        type=source.type,
        key=source.content_hash + source.server,
        names=(source.name, f"{source.server}__{source.name}"),
        terms=terms,
        surface=frozenset(surface),
    )


def _fields(source: Source) -> Iterator[tuple[str, float]]:
    yield source.name, NAME
    yield source.server, SERVER
    yield source.description, DESCRIPTION
    yield from _parameters(_schema(source.input_schema), DEPTH)


def _schema(text: str | None) -> Any:
    try:
        return orjson.loads(text) if text else None
    except orjson.JSONDecodeError:
        return None


def _parameters(schema: Any, depth: int) -> Iterator[tuple[str, float]]:
    if not isinstance(schema, Mapping) or depth == 0:
        return
    properties = schema.get("properties")
    for name, value in properties.items() if isinstance(properties, Mapping) else ():
        yield str(name), PARAMETER
        if isinstance(value, Mapping):
            if isinstance(value.get("description"), str):
                yield value["description"], PARAMETER_DESCRIPTION
            yield from _parameters(value, depth - 1)
    yield from _parameters(schema.get("items"), depth - 1)
