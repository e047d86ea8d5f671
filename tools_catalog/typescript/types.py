"""Type expressions, put together so that brackets stand where they must and nothing is said twice."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Type:
    text: str
    kind: Literal["plain", "union", "intersection"] = "plain"
    members: tuple[str, ...] = ()
    """Of a union: its members, so that a union of unions is one."""


UNKNOWN = Type("unknown")
NEVER = Type("never")
NULL = Type("null")
ANY_OBJECT = Type("{ [key: string]: unknown }")
NO_FIELDS = Type("Record<string, never>")


def bracketed(value: Type) -> str:
    return value.text if value.kind == "plain" else f"({value.text})"


def union(parts: Iterable[Type]) -> Type:
    members: dict[str, None] = {}
    for part in parts:
        own = part.members or ((f"({part.text})",) if part.kind == "intersection" else (part.text,))
        members.update(dict.fromkeys(own))
    if "unknown" in members:
        return UNKNOWN
    members.pop("never", None)
    if not members:
        return NEVER
    if len(members) == 1:
        return Type(next(iter(members)))
    return Type(" | ".join(members), "union", tuple(members))


def intersection(parts: Iterable[Type]) -> Type:
    known = [part for part in dict.fromkeys(parts) if part != UNKNOWN]
    # Any object at all adds nothing to a particular one.
    telling = [part for part in known if part != ANY_OBJECT] or known[:1]
    if not telling:
        return UNKNOWN
    if len(telling) == 1:
        return telling[0]
    return Type(" & ".join(bracketed(part) for part in telling), "intersection")


def array_of(item: Type) -> Type:
    return Type(f"{bracketed(item)}[]")
