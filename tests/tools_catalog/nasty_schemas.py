"""Schemas as real servers publish them, and worse: each must give a type that compiles."""

from typing import Any

NODE = {"type": "object", "properties": {"value": {"type": "string"}, "next": {"$ref": "#/$defs/node"}}}


def deep(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"inner": schema}}
    return schema


def wide(count: int) -> dict[str, Any]:
    return {"anyOf": [{"type": "object", "properties": {f"p{i}": {"const": i}}} for i in range(count)]}


def nested(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels):
        value = [value]
    return value


def variant(kind: str, field: str) -> dict[str, Any]:
    return {"properties": {"kind": {"const": kind}, field: {"type": "string"}}, "required": ["kind", field]}


def multiplying(levels: int) -> dict[str, Any]:
    """Few words, and four times as many ways through them with every level."""
    defs: dict[str, Any] = {f"D{levels}": {"type": "string"}}
    for i in range(levels):
        ref = {"$ref": f"#/$defs/D{i + 1}"}
        defs[f"D{i}"] = {"anyOf": [ref, ref, ref, {"allOf": [ref]}, {"type": "string"}]}
    return {"type": "object", "properties": {"x": {"$ref": "#/$defs/D0"}}, "$defs": defs}


def crossing(count: int, ways: int) -> dict[str, Any]:
    """A row of definitions, each made of all of the next few."""
    defs: dict[str, Any] = {f"D{count}": {"type": "object", "properties": {"a": {"type": "string"}}}}
    for i in range(count):
        defs[f"D{i}"] = {"allOf": [{"$ref": f"#/$defs/D{min(count, i + 1 + way)}"} for way in range(ways)]}
    return {"type": "object", "properties": {"x": {"$ref": "#/$defs/D0"}}, "$defs": defs}


def said_twice(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        schema = {"type": ["object", "object"], "properties": {"inner": schema}}
    return schema


NASTY: dict[str, Any] = {
    "empty": {},
    "no type": {"properties": {"path": {"type": "string"}}, "required": ["path"]},
    "closed": {"type": "object", "properties": {}, "additionalProperties": False},
    "open": {"type": "object", "additionalProperties": True},
    "typed_rest": {
        "type": "object",
        "properties": {"name": {"type": "string"}},
        "additionalProperties": {"type": "number"},
    },
    "typed_rest_of_objects": {
        "type": "object",
        "properties": {"first": {"type": "object", "properties": {"a": {"type": "string"}}}},
        "additionalProperties": {"type": "object", "properties": {"b": {"type": "string"}}},
    },
    "patterns": {"type": "object", "patternProperties": {"^x-": {"type": "string"}}},
    "recursive": {"type": "object", "properties": {"root": {"$ref": "#/$defs/node"}}, "$defs": {"node": NODE}},
    "recursive_root": {"type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#"}}}},
    "made_of_itself": {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}},
    "circle": {
        "anyOf": [{"$ref": "#/$defs/a"}, {"type": "string"}],
        "$defs": {"a": {"allOf": [{"$ref": "#/$defs/b"}]}, "b": {"oneOf": [{"$ref": "#/$defs/a"}, {"type": "null"}]}},
    },
    "root_in_a_union": {"anyOf": [{"$ref": "#"}, {"type": "string"}]},
    "json_value": {
        "$ref": "#/definitions/json",
        "definitions": {
            "json": {
                "anyOf": [
                    {"type": ["string", "number", "boolean", "null"]},
                    {"type": "array", "items": {"$ref": "#/definitions/json"}},
                    {"type": "object", "additionalProperties": {"$ref": "#/definitions/json"}},
                ]
            }
        },
    },
    "pointer_escapes": {
        "type": "object",
        "properties": {"a/b": {"$ref": "#/$defs/x~1y%20z"}, "copy": {"$ref": "#/properties/a~1b"}},
        "$defs": {"x/y z": {"enum": ["one", "two"]}},
    },
    "anchors": {
        "$id": "https://example.com/tree",
        "type": "object",
        "properties": {"n": {"$ref": "#node"}, "m": {"$ref": "https://example.com/tree#/$defs/n"}},
        "$defs": {"n": {"$anchor": "node", "type": "integer"}},
    },
    "id_with_a_fragment": {
        "$id": "https://example.com/tree#",
        "type": "object",
        "properties": {"m": {"$ref": "https://example.com/tree#/definitions/n"}},
        "definitions": {"n": {"type": "integer"}},
    },
    "broken_ref": {"type": "object", "properties": {"a": {"$ref": "#/nowhere"}, "b": {"$ref": "other.json#/x"}}},
    "tuples": {
        "type": "object",
        "properties": {
            "point": {"type": "array", "prefixItems": [{"type": "number"}, {"type": "number"}], "items": False},
            "old": {"type": "array", "items": [{"type": "string"}], "additionalItems": {"type": ["string", "null"]}},
            "short": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "number"}], "minItems": 1},
            "long": {"type": "array", "prefixItems": [{"const": i} for i in range(100)]},
            "none": {"type": "array", "prefixItems": []},
            "more": {"type": "array", "items": [{"type": "string"}], "additionalItems": True},
        },
    },
    "literals": {
        "type": "object",
        "properties": {
            "mixed": {"enum": ["a", 1, -2.5, 1e400, 10**20, True, None, {"k": [1]}, [], {}]},
            "nothing": {"enum": []},
            "constant": {"const": 'quote " back \\ slash \n line \u2028 end \ud800'},
            "never": False,
            "whatever": True,
        },
    },
    "nullable": {"type": "object", "properties": {"a": {"type": "string", "nullable": True}, "b": {"type": ["null"]}}},
    "names": {
        "type": "object",
        "properties": {
            name: {"type": "string"}
            for name in [
                "If-Match",
                "$eq",
                "{{userId}}",
                "",
                " ",
                "1st",
                "class",
                "__proto__",
                'q"',
                "名前",
                "new\nline",
                "trailing\n",
            ]
        },
        "required": ["not declared", "class"],
    },
    "comments": {
        "type": "object",
        "description": "ends */ export const broken: string = 1; /* here",
        "properties": {
            "a": {"type": "string", "description": "line one\r\nline */ two\u2028three\x00", "default": "*/"},
            "b": {"type": "string", "deprecated": True, "description": 5},
        },
    },
    "combined": {
        "type": "object",
        "properties": {"id": {"type": "string"}},
        "required": ["id"],
        "allOf": [{"properties": {"extra": {"type": "number"}}}, {"if": {}, "then": {"required": ["extra"]}}],
        "anyOf": [{"required": ["id"]}, {"required": ["extra"]}],
        "oneOf": [{"properties": {"kind": {"const": "x"}}}, {"properties": {"kind": {"const": "y"}}}],
    },
    "fields_in_variants": {"type": "object", "properties": {}, "oneOf": [variant("a", "x"), variant("b", "y")]},
    "fields_elsewhere": {
        "type": "object",
        "allOf": [{"$ref": "#/$defs/base"}, {"$ref": "#/$defs/alias"}, variant("a", "x")],
        "$defs": {"base": {"type": ["object", "null"], "properties": {}}, "alias": {"$ref": "#/$defs/base"}},
    },
    "multiplied_out": {"allOf": [wide(60), wide(60), wide(60)]},
    "multiplied_by_references": multiplying(30),
    "crossing": crossing(30, 3),
    "said_twice": said_twice(39),
    "circles_that_touch": {
        "type": "object",
        "properties": {"x": {"$ref": "#/$defs/a"}},
        "$defs": {
            "a": {"anyOf": [{"$ref": "#/$defs/b"}, {"type": "string"}]},
            "b": {"anyOf": [{"$ref": "#/$defs/c"}, {"$ref": "#/$defs/d"}]},
            "c": {"anyOf": [{"$ref": "#/$defs/b"}, {"$ref": "#/$defs/d"}]},
            "d": {"anyOf": [{"$ref": "#/$defs/e"}, {"type": "array", "items": {"$ref": "#/$defs/a"}}]},
            "e": {"type": "number"},
        },
    },
    "deep": deep(300),
    "deep_values": {
        "type": "object",
        "properties": {"a": {"enum": [nested(2000), {"b": nested(2000)}]}, "c": {"default": nested(2000)}},
        "required": ["a"],
    },
    "list_of_objects": {
        "type": "object",
        "properties": {"all": {"$ref": "#/$defs/all"}},
        "$defs": {"all": {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "string"}}}}},
    },
    "required_of_the_rest": {
        "type": "object",
        "properties": {"n": {"type": "number"}},
        "required": ["x"],
        "additionalProperties": {"type": "string"},
    },
    "required_of_the_rest_in_parts": {
        "type": "object",
        "required": ["x"],
        "additionalProperties": {
            "allOf": [{"properties": {"a": {"type": "string"}}}, {"type": "object", "required": ["a"]}]
        },
    },
    "members_of_every_object": {
        "type": "object",
        "properties": {name: {"type": "string"} for name in ["constructor", "toString", "valueOf", "hasOwnProperty"]},
    },
    "directives": {
        "type": "object",
        "description": "@ts-expect-error",
        "properties": {"a": {"type": "string", "description": "* @ts-expect-error: as the compiler would read it"}},
    },
    "letters that are signs ⸯ": {},
    "list_without_type": {"items": {"type": "string"}},
    "dynamic_ref": {
        "type": "object",
        "$dynamicRef": "#/$defs/a",
        "$defs": {"a": {"type": "object", "required": ["x"]}},
    },
    "odd_pointers": {
        "type": "object",
        "properties": {"a": {"$ref": "#/anyOf/²"}, "b": {"$ref": f"#/anyOf/{'0' * 5000}"}, "c": {"$ref": "#/anyOf/0"}},
        "anyOf": [{"type": "object"}],
    },
    "not_an_object": {"type": "array", "items": {"type": "string"}},
    "nonsense": {"type": 5, "properties": [], "required": "all", "anyOf": {}, "enum": "x", "items": 3, "$ref": 7},
    "nonsense_properties": {"type": "object", "properties": {"a": None, "b": "string", "c": []}, "required": [1, None]},
    "unknown_kind": {"type": "object", "properties": {"file": {"type": "file"}, "list": {"type": ["any", "string"]}}},
}
