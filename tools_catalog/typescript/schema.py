"""JSON Schema to TypeScript. Every schema gives a module that compiles: what cannot be said becomes `unknown`."""

from typing import Any

from tools_catalog.typescript.comments import documented
from tools_catalog.typescript.names import Names, key, literal, pascal
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

MAX_DEPTH = 40
MAX_BREADTH = 5_000
"""Compilers give up on unions of some hundred thousand members, and people much earlier."""
MAX_TUPLE = 32
SIMPLE = {"string": "string", "number": "number", "integer": "number", "boolean": "boolean", "null": "null"}
OBJECT_WORDS = ("properties", "additionalProperties", "patternProperties")
ARRAY_WORDS = ("items", "prefixItems")


class SchemaTypes:
    """The types of one schema: the root under its name, and one more for each place that a `$ref` points at."""

    def __init__(self, schema: Any, name: str, names: Names, *, comments: bool) -> None:
        self._pointers = Pointers(schema)
        self._names = names
        self._comments = comments
        self._root = name
        self._named = {"#": name}
        self._owner = "#"

    def declarations(self) -> list[str]:
        done: list[str] = []
        while len(done) < len(self._named):
            self._owner = list(self._named)[len(done)]
            done.append(self._declared(self._named[self._owner], self._pointers.at(self._owner)))
        return done

    def _declared(self, name: str, schema: Any) -> str:
        found = self._type(schema, 0)
        interface = found.kind == "plain" and found.text.startswith("{\n")
        body = f"export interface {name} {found.text}" if interface else f"export type {name} = {found.text};"
        return documented(schema, body, self._comments)

    def _type(self, schema: Any, depth: int, direct: bool = True) -> Type:
        """`direct` while no object or array lies between this place and the name that is being declared."""
        if schema is False:
            return NEVER
        if not isinstance(schema, dict) or depth > MAX_DEPTH or self._pointers.breadth(schema) > MAX_BREADTH:
            return UNKNOWN
        parts = [self._reference(schema, direct), self._own(schema, depth)]
        for word in ("anyOf", "oneOf"):
            if isinstance(schema.get(word), list) and schema[word]:
                parts.append(union(self._type(sub, depth + 1, direct) for sub in schema[word]))
        if isinstance(schema.get("allOf"), list):
            parts += [self._type(sub, depth + 1, direct) for sub in schema["allOf"]]
        found = intersection(parts)
        return union([found, NULL]) if schema.get("nullable") is True else found

    def _reference(self, schema: dict[str, Any], direct: bool) -> Type:
        pointer = self._pointers.target(schema)
        if pointer is None or self._pointers.at(pointer) is None:
            return UNKNOWN
        if direct and self._pointers.made_of_each_other(pointer, self._owner):
            return UNKNOWN
        if pointer not in self._named:
            wanted = self._root + pascal(pointer.rsplit("/", 1)[-1])
            self._named[pointer] = self._names.unique(wanted)
        return Type(self._named[pointer])

    def _own(self, schema: dict[str, Any], depth: int) -> Type:
        if "const" in schema:
            return Type(literal(schema["const"]))
        if isinstance(schema.get("enum"), list):
            return union(Type(literal(value)) for value in schema["enum"])
        kinds = schema.get("type")
        if isinstance(kinds, str):
            return self._kind(kinds, schema, depth)
        if isinstance(kinds, list) and kinds:
            names = dict.fromkeys(kind if isinstance(kind, str) else "" for kind in kinds)
            return union(self._kind(kind, schema, depth) for kind in names)
        if any(word in schema for word in OBJECT_WORDS):
            return self._object(schema, depth)
        return self._array(schema, depth) if any(word in schema for word in ARRAY_WORDS) else UNKNOWN

    def _kind(self, kind: str, schema: dict[str, Any], depth: int) -> Type:
        if kind == "object":
            return self._object(schema, depth)
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
        more = self._type(rest, depth + 1, direct=False) if rest not in (False, True) else None
        if len(parts) > MAX_TUPLE:
            return array_of(union([*parts, *([more] if more else [])]))
        least = schema.get("minItems")
        needed = least if isinstance(least, int) and not isinstance(least, bool) else len(parts)
        texts = [part.text if i < needed else f"{bracketed(part)}?" for i, part in enumerate(parts)]
        texts += [f"...{array_of(more).text}"] if more else []
        return Type(f"[{', '.join(texts)}]")

    def _object(self, schema: dict[str, Any], depth: int) -> Type:
        properties = schema.get("properties")
        properties = properties if isinstance(properties, dict) else {}
        listed = schema.get("required")
        named = [name for name in listed if isinstance(name, str)] if isinstance(listed, list) else []
        required = dict.fromkeys(named)
        types = {name: self._type(sub, depth + 1, direct=False) for name, sub in properties.items()}
        lines = [
            documented(properties[name], f"{key(name)}{'' if name in required else '?'}: {found.text};", self._comments)
            for name, found in types.items()
        ]
        lines += [f"{key(name)}: unknown;" for name in required if name not in types]
        others = self._others(schema, list(types.values()), depth, all(name in required for name in types))
        if others:
            lines.append(f"[key: string]: {others.text};")
        if not lines:
            return NO_FIELDS if properties == schema.get("properties") or self._closed(schema) else ANY_OBJECT
        if lines == ["[key: string]: unknown;"]:
            return ANY_OBJECT
        inside = "\n".join(lines).replace("\n", "\n  ")
        return Type(f"{{\n  {inside}\n}}")

    @staticmethod
    def _closed(schema: dict[str, Any]) -> bool:
        return schema.get("additionalProperties") is False

    def _others(self, schema: dict[str, Any], types: list[Type], depth: int, all_required: bool) -> Type | None:
        """The index signature. The named properties must fit it too, so it is as wide as all of them."""
        allowed = schema.get("additionalProperties", False)
        patterns = schema.get("patternProperties")
        subs = [] if allowed is False else [allowed]
        subs += list(patterns.values()) if isinstance(patterns, dict) else []
        if not subs:
            return None
        found = [self._type(sub, depth + 1, direct=False) for sub in subs]
        if any("\n" in part.text for part in types):
            return UNKNOWN
        return union([*found, *types, *([] if all_required else [Type("undefined")])])
