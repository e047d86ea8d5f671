"""What a tool looks like to the model. The service embeds `tool_text`; training shows shorter ones too."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tools_catalog.text import split_name
from tools_catalog.text import tool_text as service_text

MAX_TOKENS = 256

_SENTENCE_END = re.compile(r"(?<=[.!?])\s")
_REGISTRY_NOISE = {"npm", "pypi", "mcp", "server", "the"}


@dataclass(frozen=True)
class Tool:
    id: str
    server: str
    name: str
    description: str
    params: tuple[str, ...]


def tool_text(tool: Tool) -> str:
    return service_text(tool.server, tool.name, tool.description, tool.params)


def short_texts(tool: Tool) -> list[str]:
    """Shorter ways to say the same tool: real catalogues lack servers, descriptions or parameters."""
    name = split_name(tool.name)
    first = first_sentence(tool.description)
    plain_server = _plain_server(tool.server)
    variants = [
        f"{name}. {tool.description}",
        f"{plain_server}: {name}. {first}" if plain_server else f"{name}. {first}",
        tool.description or name,
        f"{plain_server}: {name} {_joined(tool.params)}" if plain_server else f"{name} {_joined(tool.params)}",
    ]
    return list(dict.fromkeys(_squeeze(text) for text in variants))


def first_sentence(text: str) -> str:
    return _SENTENCE_END.split(text.strip(), maxsplit=1)[0].split("\n", 1)[0]


def _plain_server(server: str) -> str:
    words = split_name(server).lower().split()
    return " ".join(word for word in words if word not in _REGISTRY_NOISE) or server


def _joined(params: Sequence[str]) -> str:
    return " ".join(split_name(param) for param in params)


def _squeeze(text: str) -> str:
    return " ".join(text.split())
