"""`$ref` inside one schema: what it points at, and which references lead back to themselves."""

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from tools_catalog.typescript.circles import Circles

REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
COMBINED = ("allOf", "anyOf", "oneOf")
INDEX = re.compile("[0-9]{1,9}")
MOST = 200_000
"""Breadths are counted up to here."""


class Pointers:
    def __init__(self, root: Any) -> None:
        self._root = root
        self._base = str(root.get("$id", "")).rstrip("#") if isinstance(root, dict) else ""
        self._anchors: dict[str, str] | None = None
        self._circles = Circles(self._direct)
        self._breadths: dict[int, int] = {}
        """By the identity of a part of the root."""

    def target(self, schema: dict[str, Any]) -> str | None:
        """The pointer that the schema refers to, in one form for all ways to write it; None without a reference."""
        ref = next((schema[word] for word in REFERENCES if isinstance(schema.get(word), str)), None)
        if ref is None:
            return None
        if self._base and ref.startswith(self._base):
            ref = ref[len(self._base) :] or "#"
        if ref in {"#", "#/"}:
            return "#"
        if ref.startswith("#/"):
            return "#/" + unquote(ref[2:])
        return self._anchored(ref)

    def at(self, pointer: str) -> Any:
        """What is there; None for what is not (another document, a typing error)."""
        found = self._root
        for part in [] if pointer == "#" else pointer[2:].split("/"):
            name = part.replace("~1", "/").replace("~0", "~")
            if isinstance(found, dict) and name in found:
                found = found[name]
            elif isinstance(found, list) and INDEX.fullmatch(name) and int(name) < len(found):
                found = found[int(name)]
            else:
                return None
        return found if isinstance(found, dict | bool) else None

    def _anchored(self, ref: str) -> str:
        if self._anchors is None:
            self._anchors = dict(_anchors(self._root))
        return self._anchors.get(ref, ref)

    def made_of_each_other(self, one: str, other: str) -> bool:
        """Whether each leads to the other without an object or an array between: such types would have no end."""
        return self._circles.same(one, other)

    def _direct(self, pointer: str) -> list[str]:
        found = []
        waiting = [self.at(pointer)]
        while waiting:
            part = waiting.pop()
            if isinstance(part, dict):
                target = self.target(part)
                found += [target] if target else []
                waiting += [sub for word in COMBINED for sub in _list(part.get(word))]
        return found

    def breadth(self, schema: dict[str, Any]) -> int:
        """How many members the union has that a schema stands for, once the compiler has multiplied it out.

        Counted once for each place, however many ways lead there; one that leads back to itself counts 1 in itself.
        """
        waiting, entered = [schema], set[int]()
        while waiting:
            part = waiting[-1]
            if id(part) in self._breadths:
                waiting.pop()
            elif id(part) in entered:
                self._breadths[id(part)] = self._multiplied(part)
            else:
                entered.add(id(part))
                waiting += [sub for sub in self._parts(part) if id(sub) not in entered]
        return self._breadths[id(schema)]

    def _parts(self, schema: dict[str, Any]) -> list[dict[str, Any]]:
        target = self.target(schema)
        subs = [self.at(target)] if target else []
        subs += [sub for word in COMBINED for sub in _list(schema.get(word))]
        return [sub for sub in subs if isinstance(sub, dict)]

    def _multiplied(self, schema: dict[str, Any]) -> int:
        def known(subs: list[Any]) -> list[int]:
            return [self._breadths.get(id(sub), 1) for sub in subs]

        target = self.target(schema)
        factors = [len(_list(schema.get("enum"))), *known([self.at(target)] if target else [])]
        factors += [sum(known(_list(schema.get(word)))) for word in ("anyOf", "oneOf")]
        total = 1
        for factor in [*factors, *known(_list(schema.get("allOf")))]:
            total = min(total * max(1, factor), MOST)
        return total


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _anchors(root: Any) -> Iterator[tuple[str, str]]:
    waiting: list[tuple[str, Any]] = [("#", root)]
    while waiting:
        pointer, part = waiting.pop()
        if isinstance(part, dict):
            for word in ("$anchor", "$dynamicAnchor"):
                if isinstance(part.get(word), str):
                    yield f"#{part[word]}", pointer
            if isinstance(part.get("$id"), str) and pointer != "#":
                yield part["$id"], pointer
            items = [(str(name), value) for name, value in part.items()]
        elif isinstance(part, list):
            items = [(str(i), value) for i, value in enumerate(part)]
        else:
            continue
        waiting += [(f"{pointer}/{name.replace('~', '~0').replace('/', '~1')}", value) for name, value in items]
