"""Generated TypeScript, as the compiler sees it."""

import random
from pathlib import Path
from typing import Any

import pytest

from tests.tools_catalog.nasty_schemas import NASTY, crossing, multiplying, said_twice
from tests.tools_catalog.typescript import PUBLISHED, compile_errors, published_tools
from tools_catalog.typescript.module import CallableTool, render
from tools_catalog.typescript.names import camel, literal, pascal

STRICTER = ("--exactOptionalPropertyTypes", "--noUncheckedIndexedAccess", "--noImplicitReturns", "--noUnusedLocals")


def nasty_tools() -> list[CallableTool]:
    said = "@ts-expect-error"
    return [CallableTool("nasty-server", name, said, schema, schema) for name, schema in NASTY.items()]


def test_every_nasty_schema_compiles(tmp_path: Path) -> None:
    files = {"full.ts": render(nasty_tools()), "compact.ts": render(nasty_tools(), compact=True)}
    assert compile_errors(tmp_path, files, *STRICTER) == ""


def test_it_needs_no_types_of_a_browser(tmp_path: Path) -> None:
    assert compile_errors(tmp_path, {"a.ts": render(nasty_tools())}, "--lib", "es2022", "--erasableSyntaxOnly") == ""


@pytest.mark.skipif(not PUBLISHED.is_dir(), reason="the definitions of real servers are not here")
def test_every_published_tool_compiles_in_one_module(tmp_path: Path) -> None:
    tools = published_tools()
    assert len(tools) == 2105
    module = render(tools, base_url="http://127.0.0.1:8000")
    assert module.count("  return await callTool<") == 2105
    assert compile_errors(tmp_path, {"tools.ts": module}) == ""


USES = """
import { tools, configure, ToolscriptError } from "./tools";
import type { NastyServerJsonValueParams, NastyServerTuplesParams } from "./tools";
configure({ url: "http://127.0.0.1:8000", apiKey: "k" });
const json: NastyServerJsonValueParams = { a: [1, "x", { b: null }] };
const point: NastyServerTuplesParams = { point: [1, 2], old: ["a", null], short: ["a"] };
export async function right(): Promise<void> {
  await tools.nastyServer.empty();
  await tools.nastyServer["no type"]({ path: "x" });
  await tools.nastyServer.typed_rest({ name: "n", other: 5 });
  await tools.nastyServer.recursive({ root: { value: "a", next: { value: "b" } } });
  await tools.nastyServer.names({ "not declared": 1, class: "c", "If-Match": "e" });
  await tools.nastyServer.combined({ id: "1", extra: 2, kind: "y" });
  await tools.nastyServer.fields_in_variants({ kind: "b", y: "1" });
  await tools.nastyServer.fields_elsewhere({ kind: "a", x: "1" });
  await tools.nastyServer.tuples({ more: ["a", 5] });
  await tools.nastyServer.list_of_objects({ all: [{ a: "1" }, { a: "2" }] });
  await tools.nastyServer.required_of_the_rest({ x: "1", n: 5, y: "2" });
  await tools.nastyServer.members_of_every_object({ toString: "1" });
  const answer = await tools.nastyServer.literals({ mixed: 1, whatever: json });
  const mixed: "a" | 1 | undefined | null | number | boolean | object = answer.mixed;
  void [mixed, point, ToolscriptError];
}
"""
WRONG = [
    'await tools.nastyServer["no type"]({});',
    'await tools.nastyServer["no type"]({ path: 5 });',
    "await tools.nastyServer.closed({ any: 1 });",
    "await tools.nastyServer.typed_rest({ other: { a: 1 } });",
    "await tools.nastyServer.recursive({ root: { next: { value: 5 } } });",
    "await tools.nastyServer.tuples({ point: [1] });",
    'await tools.nastyServer.tuples({ point: [1, "2"] });',
    'await tools.nastyServer.literals({ mixed: "b" });',
    "await tools.nastyServer.combined({ extra: 1 });",
    'await tools.nastyServer.combined({ id: "1", kind: "z" });',
    'await tools.nastyServer.nullable({ b: "not null" });',
    'await tools.nastyServer.fields_in_variants({ kind: "b", x: "1" });',
    "await tools.nastyServer.fields_elsewhere({ kind: 'a' });",
    "await tools.nastyServer.list_of_objects({ all: { a: '1' } });",
    "await tools.nastyServer.required_of_the_rest({ n: 5 });",
    "await tools.nastyServer.required_of_the_rest({ x: 5 });",
    "await tools.nastyServer.id_with_a_fragment({ m: '5' });",
    "await tools.nastyServer.absent();",
]


def test_the_types_allow_what_is_right_and_refuse_what_is_wrong(tmp_path: Path) -> None:
    wrong = "\n".join(f"  // @ts-expect-error\n  {line}" for line in WRONG)
    uses = f"{USES}\nexport async function wrong(): Promise<void> {{\n{wrong}\n}}\n"
    assert compile_errors(tmp_path, {"tools.ts": render(nasty_tools()), "uses.ts": uses}) == ""


def params(schema: Any) -> str:
    """The types of one tool's parameters, without the client."""
    return render([CallableTool("s", "t", "", schema)], compact=True).partition("export interface ContentBlock")[0]


@pytest.mark.parametrize("name", NASTY)
def test_no_nasty_schema_is_too_much_for_the_example(name: str) -> None:
    assert "// Example: const result = await tools.s.t(" in render([CallableTool("s", "t", "", NASTY[name])])


class TestEmptyProperties:
    """They mean that there are no fields; but not where something else names some."""

    EMPTY = {"type": "object", "properties": {}}

    @pytest.mark.parametrize(
        "schema",
        [EMPTY, {**EMPTY, "allOf": []}, {"anyOf": [EMPTY]}, {"allOf": [{"$ref": "#/$defs/e"}], "$defs": {"e": EMPTY}}],
    )
    def test_alone_they_are_no_fields(self, schema: Any) -> None:
        assert "Record<string, never>;" in params(schema)

    @pytest.mark.parametrize(
        ("more", "written"),
        [
            ({"oneOf": [{"required": ["a"]}]}, "{ [key: string]: unknown }"),
            ({"allOf": [EMPTY]}, "Record<string, never>"),
            ({"$ref": "#/$defs/e"}, "STParamsE"),
            ({"allOf": [EMPTY, {"$ref": "#/$defs/e"}]}, "STParamsE"),
            ({"type": ["object", "null"], "$ref": "#/$defs/e"}, "STParamsE & ({ [key: string]: unknown } | null)"),
        ],
    )
    def test_beside_other_words_they_say_nothing(self, more: Any, written: str) -> None:
        schema = {**self.EMPTY, **more, "$defs": {"e": {"type": "object", "required": ["a"]}}}
        assert f"export type STParams = {written};" in params(schema)

    def test_a_closed_object_stays_closed(self) -> None:
        assert "= Record<string, never>;" in params({**self.EMPTY, "additionalProperties": False, "oneOf": [{}]})


class TestLargeSchemas:
    """Where the work multiplied with every level, these would not end."""

    def test_what_multiplies_out_through_references_is_unknown(self) -> None:
        assert "x?: unknown;" in params(multiplying(30))

    def test_what_does_not_multiply_out_keeps_its_types(self) -> None:
        written = params(multiplying(5))
        assert "x?: STParamsD0;" in written
        assert "type STParamsD0 = STParamsD1 | string;" in written

    def test_a_kind_said_twice_counts_once_on_every_level(self) -> None:
        assert params(said_twice(39)).count("inner?: ") == 39

    def test_each_reference_of_many_is_followed_once(self) -> None:
        assert params(crossing(1000, 10)).count("export type STParamsD") == 1000

    def test_many_definitions_of_one_name_are_counted_on(self) -> None:
        defs = {f"a{'-' * i}": {"type": "string"} for i in range(1000)}
        schema = {"properties": {f"p{i}": {"$ref": f"#/$defs/{name}"} for i, name in enumerate(defs)}, "$defs": defs}
        assert "p999?: STParamsA1000;" in params(schema)

    def test_only_what_is_in_a_circle_is_unknown(self) -> None:
        written = params(NASTY["circles_that_touch"])
        kept = {"A = STParamsB | string", "B = unknown", "D = STParamsE | STParamsA[]", "E = number"}
        assert all(f"type STParams{line};" in written for line in kept), written


class TestNames:
    def test_the_form_of_the_seed(self) -> None:
        assert pascal("desktop-commander", "read_file") == "DesktopCommanderReadFile"
        assert camel("desktop-commander") == "desktopCommander"
        assert pascal("GitHub", "getURLs") == "GitHubGetURLs"

    @pytest.mark.parametrize(("name", "made"), [("", "Tool"), ("---", "Tool"), ("1st", "_1st"), ("名前", "名前")])
    def test_odd_ones_are_names_too(self, name: str, made: str) -> None:
        assert pascal(name) == made

    def test_collisions_are_resolved_the_same_way_in_every_order(self, tmp_path: Path) -> None:
        schema = {"type": "object", "properties": {"x": {"$ref": "#/$defs/y"}}, "$defs": {"y": {"type": "string"}}}
        pairs = [("a", "b_c"), ("a-b", "c"), ("a_b", "c"), ("A", "B-C"), ("a", "b_c_params"), ("tools", "x")]
        made = [CallableTool(server, name, "", schema, schema) for server, name in pairs]
        module = render(made)
        for seed in range(5):
            random.Random(seed).shuffle(made)
            assert render(made) == module
        assert compile_errors(tmp_path, {"tools.ts": module}) == ""
        assert all(f'"{server}__{name}"' in module for server, name in pairs)


class TestText:
    def test_a_line_break_at_the_end_stays_part_of_the_name(self) -> None:
        module = render([CallableTool("s", "t\n", "", {"properties": {"a\n": {"type": "string"}}})])
        assert '"a\\n"?: string;' in module
        assert 'async "t\\n"(' in module
        assert 'await tools.s["t\\n"]();' in module

    def test_the_example_is_code(self) -> None:
        enums = {"flag": [True], "n": [None], "big": [1e400], "list": [["a", {}]], "object": [{"a-b": False}]}
        schema = {"properties": {name: {"enum": values} for name, values in enums.items()}, "required": list(enums)}
        wanted = '{ flag: true, n: null, big: Infinity, list: ["a", {}], object: {"a-b": false} }'
        module = render([CallableTool("s", "t", "", schema)])
        assert f"// Example: const result = await tools.s.t({wanted});\n" in module

    def test_a_description_cannot_end_its_comment(self) -> None:
        module = render([CallableTool("s", "t", "first */ throw 1; /*\nsecond")])
        assert "first *\\/ throw 1; /*" in module

    def test_descriptions_and_defaults_are_comments(self) -> None:
        schema = {"type": "object", "properties": {"n": {"type": "number", "description": "How many.", "default": 5}}}
        module = render([CallableTool("s", "t", "Counts things.", schema)])
        assert "/** Counts things. */\n    async t(" in module
        assert "  /**\n   * How many.\n   * @default 5\n   */\n  n?: number;" in module

    def test_compact_has_the_same_types_and_no_comments(self) -> None:
        schema = {"type": "object", "properties": {"n": {"type": "number", "description": "How many."}}}
        tools = [CallableTool("s", "t", "Counts things.", schema)]
        compact = render(tools, compact=True)
        assert "n?: number;" in compact
        assert "/**" not in compact
        assert "\n\n" not in compact
        assert len(compact) < len(render(tools))

    def test_numbers_are_written_so_that_they_stay_the_same(self) -> None:
        assert [literal(value) for value in (1, 1.0, -2.5, 1e-7, float("inf"))] == ["1", "1", "-2.5", "1e-07", "number"]

    def test_the_address_it_came_from_is_the_default(self) -> None:
        assert '?? "http://localhost:8000")' in render([], base_url="http://localhost:8000")
