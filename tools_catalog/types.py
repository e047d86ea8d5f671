from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from django.conf import settings
from django.utils import timezone

ItemType = Literal["tool", "prompt", "resource"]
ITEM_TYPES: tuple[ItemType, ...] = ("tool", "prompt", "resource")


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """One item as its server publishes it."""

    type: ItemType
    name: str
    description: str = ""
    uri: str = ""
    input_schema: Mapping[str, Any] | None = None
    output_schema: Mapping[str, Any] | None = None
    annotations: Mapping[str, Any] | None = None
    requests: tuple[str, ...] | None = None
    """Requests that this item is known to serve. None: its server says nothing of that, so what is known stays."""


@dataclass(frozen=True, slots=True)
class ServerSpec:
    name: str
    title: str = ""
    description: str = ""
    items: tuple[ToolSpec, ...] = field(default=())


@dataclass(frozen=True)
class Target:
    """How to reach a server, as it is written down: with references where secrets belong."""

    name: str
    transport: str
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str = ""
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    protocol: str = ""
    """The protocol version of the last connection: tells which generation to try first."""


@dataclass(frozen=True)
class ServerConfig(Target):
    """A server as a file or a form defines it."""

    path: str = ""
    include_tools: tuple[str, ...] = ()
    exclude_tools: tuple[str, ...] = ()
    timeout_seconds: float | None = None
    disabled: bool = False


@dataclass(frozen=True, slots=True)
class Refusal:
    """An item that a server publishes and the catalogue does not take, and why."""

    type: ItemType
    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Listing:
    """What a server answered when it was asked for everything it has."""

    items: list[Any]
    """Each: the list it is from, the item as published, and why the protocol refuses it (or nothing)."""
    protocol: str
    announces: bool
    title: str
    instructions: str


@dataclass(frozen=True, slots=True)
class Space:
    """The embedding model whose vectors are searched now."""

    id: int
    model: str
    fingerprint: str
    dim: int


@dataclass(frozen=True, slots=True)
class ToolHit:
    id: int
    type: str
    name: str
    server: str
    description: str
    score: float
    skill_ids: list[str]
    primary_skill_id: str | None


@dataclass(frozen=True, slots=True)
class ToolHits:
    hits: list[ToolHit]
    passed: int
    """How many reached the threshold, before the limit."""


@dataclass(frozen=True, slots=True)
class ToolSchemas:
    """JSON text as the database holds it: it goes to the caller unparsed."""

    input_schema: str | None
    output_schema: str | None
    annotations: str | None


def accepted_at_first() -> datetime | None:
    """When a new server counts as accepted: at once, or not until a person says so."""
    return None if settings.REVIEW_NEW_SERVERS else timezone.now()
