"""JSON Schema to TypeScript. Every schema gives a module that compiles: what cannot be said becomes `unknown`."""

from collections import deque
from typing import Any

from tools_catalog.typescript.comments import documented
from tools_catalog.typescript.names import MAX_DEPTH, Names, key, literal, pascal
from tools_catalog.typescript.pointers import Pointers
from tools_catalog.typescript.types import (
    ANY_OBJECT,
    NEVER,
    NO_FIELDS,
    NULL,
    UNKNOWN,
    Type,
    array_of,
    bracketed,
    intersection,
    union,
)

MAX_BREADTH = 5_000
"""Compilers give up on unions of some hundred thousand members, and people much earlier."""
MAX_TUPLE = 32
SIMPLE = {"string": "string", "number": "number", "integer": "number", "boolean": "boolean", "null": "null"}
OBJECT_WORDS = ("properties", "additionalProperties", "patternProperties")
ARRAY_WORDS = ("items", "prefixItems")
IN_ALL_OBJECTS = {
    "constructor",
    "hasOwnProperty",
    "isPrototypeOf",
    "propertyIsEnumerable",
    "toLocaleString",
    "toString",
    "valueOf",
}
"""Even `{}` has these, as functions: to the compiler they are never left out, so only `unknown` lets them be."""


class SchemaTypes:
    """The types of one schema: the root under its name, and one more for each place that a `$ref` points at."""

    def __init__(self, schema: Any, name: str, names: Names, *, comments: bool) -> None:
        self._pointers = Pointers(schema)
        self._names = names
        self._comments = comments
        self._root = name
        self._named = {"#": name}
        self._combined: set[str] = set()
        """What is somewhere referred to beside other words. Found out on the way, so it may be declared once more."""
        self._waiting = deque(["#"])
        self._owner = "#"

    def declarations(self) -> list[str]:
        done: dict[str, str] = {}
        while self._waiting:
            self._owner = self._waiting.popleft()
            done[self._owner] = self._declared(self._named[self._owner], self._pointers.at(self._owner))
        return [done[pointer] for pointer in self._named]

    def _declared(self, name: str, schema: Any) -> str:
        found = self._type(schema, 0, alone=self._owner not in self._combined)
        interface = found.kind == "plain" and found.text.startswith("{\n") and found.text.endswith("}")
        body = f"export interface {name} {found.text}" if interface else f"export type {name} = {found.text};"
        return documented(schema, body, self._comments)

    def _type(self, schema: Any, depth: int, direct: bool = True, alone: bool = True) -> Type:
        """`direct` while no object or array lies between this place and the name that is being declared.

        `alone` where nothing else is said of the same value.
        """
        if schema is False:
            return NEVER
        if not isinstance(schema, dict) or depth > MAX_DEPTH or self._pointers.breadth(schema) > MAX_BREADTH:
            return UNKNOWN
        unions = [schema[word] for word in ("anyOf", "oneOf") if isinstance(schema.get(word), list) and schema[word]]
        every = schema["allOf"] if isinstance(schema.get("allOf"), list) else []
        pointer = self._pointers.target(schema)
        own = self._own(schema, depth, alone and not (unions or every or pointer))
        alone = alone and own in (UNKNOWN, ANY_OBJECT) and len(unions) + len(every) + bool(pointer) == 1
        parts = [self._reference(pointer, direct, alone), own]
        parts += [union(self._type(sub, depth + 1, direct, alone) for sub in subs) for subs in unions]
        parts += [self._type(sub, depth + 1, direct, alone) for sub in every]
        found = intersection(parts)
        return union([found, NULL]) if schema.get("nullable") is True else found

    def _reference(self, pointer: str | None, direct: bool, alone: bool) -> Type:
        if pointer is None or self._pointers.at(pointer) is None:
            return UNKNOWN
        if direct and self._pointers.made_of_each_other(pointer, self._owner):
            return UNKNOWN
        new = pointer not in self._named
        if new:
            self._named[pointer] = self._names.unique(self._root + pascal(pointer.rsplit("/", 1)[-1]))
        if new or not (alone or pointer in self._combined):
            self._waiting.append(pointer)
        if not alone:
            self._combined.add(pointer)
        return Type(self._named[pointer])

    def _own(self, schema: dict[str, Any], depth: int, alone: bool) -> Type:
        if "const" in schema:
            return Type(literal(schema["const"]))
        if isinstance(schema.get("enum"), list):
            return union(Type(literal(value)) for value in schema["enum"])
        kinds = schema.get("type")
        if isinstance(kinds, str):
            return self._kind(kinds, schema, depth, alone)
        if isinstance(kinds, list) and kinds:
            names = dict.fromkeys(kind if isinstance(kind, str) else "" for kind in kinds)
            return union(self._kind(kind, schema, depth, alone) for kind in names)
        if any(word in schema for word in OBJECT_WORDS):
            return self._object(schema, depth, alone)
        return self._array(schema, depth) if any(word in schema for word in ARRAY_WORDS) else UNKNOWN

    def _kind(self, kind: str, schema: dict[str, Any], depth: int, alone: bool) -> Type:
        if kind == "object":
            return self._object(schema, depth, alone)
        if kind == "array":
            return self._array(schema, depth)
        return Type(SIMPLE[kind]) if kind in SIMPLE else UNKNOWN

    def _array(self, schema: dict[str, Any], depth: int) -> Type:
        items = schema.get("items", True)
        first = schema.get("prefixItems", items)
        if not isinstance(first, list):
            return array_of(self._type(items, depth + 1, direct=False))
        rest = schema.get("additionalItems" if first is items else "items", False)
        return self._tuple([self._type(item, depth + 1, direct=False) for item in first], rest, schema, depth)

    def _tuple(self, parts: list[Type], rest: Any, schema: dict[str, Any], depth: int) -> Type:
        """All parts are needed unless `minItems` says fewer: a server that names them means them."""
        more = self._type(rest, depth + 1, direct=False) if rest is not False else None
        if len(parts) > MAX_TUPLE:
            return array_of(union([*parts, *([more] if more else [])]))
        least = schema.get("minItems")
        needed = least if isinstance(least, int) and not isinstance(least, bool) else len(parts)
        texts = [part.text if i < needed else f"{bracketed(part)}?" for i, part in enumerate(parts)]
        texts += [f"...{array_of(more).text}"] if more else []
        return Type(f"[{', '.join(texts)}]")

    def _object(self, schema: dict[str, Any], depth: int, alone: bool) -> Type:
        """Empty `properties` mean no fields only where nothing else says what the fields are."""
        properties = schema.get("properties")
        properties = properties if isinstance(properties, dict) else {}
        listed = schema.get("required")
        named = [name for name in listed if isinstance(name, str)] if isinstance(listed, list) else []
        required = dict.fromkeys(named)
        types = {name: self._type(sub, depth + 1, direct=False) for name, sub in properties.items()}
        types |= {name: UNKNOWN for name in types if name in IN_ALL_OBJECTS and name not in required}
        lines = [
            documented(properties[name], f"{key(name)}{'' if name in required else '?'}: {found.text};", self._comments)
            for name, found in types.items()
        ]
        others = self._others(schema, depth)
        undeclared = {name: others or UNKNOWN for name in required if name not in types}
        lines += [f"{key(name)}: {found.text};" for name, found in undeclared.items()]
        if others:
            optional = any(name not in required for name in types)
            wide = _wide_enough(others, [*types.values(), *undeclared.values()], optional)
            lines.append(f"[key: string]: {wide.text};")
        if not lines:
            empty = alone and properties == schema.get("properties")
            return NO_FIELDS if empty or schema.get("additionalProperties") is False else ANY_OBJECT
        if lines == ["[key: string]: unknown;"]:
            return ANY_OBJECT
        inside = "\n".join(lines).replace("\n", "\n  ")
        return Type(f"{{\n  {inside}\n}}")

    def _others(self, schema: dict[str, Any], depth: int) -> Type | None:
        """What fields may hold that are not named; None where there are no others."""
        allowed = schema.get("additionalProperties", False)
        patterns = schema.get("patternProperties")
        subs = [] if allowed is False else [allowed]
        subs += list(patterns.values()) if isinstance(patterns, dict) else []
        return union(self._type(sub, depth + 1, direct=False) for sub in subs) if subs else None


def _wide_enough(others: Type, named: list[Type], optional: bool) -> Type:
    """The index signature. The named properties must fit it too, so it is as wide as all of them."""
    if any("\n" in part.text for part in named):
        return UNKNOWN
    return union([others, *named, *([Type("undefined")] if optional else [])])
