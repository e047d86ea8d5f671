"""Filters against a plain evaluator: whatever is asked, both find the same documents."""

import random
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knowledge.filters import compile_filters
from knowledge.models import Source
from knowledge.selectors.documents import documents_filtered
from knowledge.types import OPERATORS, Condition, DocumentRequest, Filters
from tests.knowledge.conftest import Documents

INJECTIONS = [
    "'; DROP TABLE knowledge_source; --",
    "' OR '1'='1",
    '"; SELECT pg_sleep(9); --',
    "%(tenant)s %s %% {filters} {0}",
    "$[*] ? (@ == 1)",
    '$v" || true || "',
    "\\'; \\x27 \\u0027",
    "a' || (SELECT current_user) || 'b",
    "') OR true OR ('",
    "NULL",
    "*/ true /*",
    "ümläut ☃ \U0001f512",
]
FIELDS = ["n", "name", "flags", "mixed", "title", "tags", "absent", *INJECTIONS[:6]]
WORDS = ["", "a", "b", "ab", "B", "é", "\U0001f512", "10", "true", *INJECTIONS]
NUMBERS = [0, 1, -1, 2, 10, 0.1, 0.5, 1.0, -0.0, 1e-7, 123456789012, 1e15]

texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=3)
scalars = st.one_of(st.sampled_from([*WORDS, *NUMBERS, True, False]), texts)


@st.composite
def conditions(draw: st.DrawFn) -> Condition:
    op = draw(st.sampled_from(OPERATORS))
    if op == "exists":
        value: Any = draw(st.booleans())
    elif op in {"in", "nin"}:
        value = draw(st.lists(scalars, min_size=1, max_size=4))
    elif op in {"gt", "gte", "lt", "lte"}:
        value = draw(scalars.filter(lambda v: not isinstance(v, bool)))
    else:
        value = draw(scalars)
    return Condition(draw(st.sampled_from(FIELDS)), op, value)


clauses = st.lists(conditions(), max_size=3).map(tuple)
filters = st.builds(Filters, must=clauses, should=clauses, must_not=clauses)


# --- The plain evaluator ------------------------------------------------------------------------------------


def typed(value: Any) -> tuple[str, Any]:
    """Two values are equal if their types are, too; numbers are what is written."""
    if isinstance(value, bool):
        return "boolean", value
    return ("text", value) if isinstance(value, str) else ("number", Decimal(repr(value)))


def below(left: Any, right: Any) -> bool:
    (kind, a), (other, b) = typed(left), typed(right)
    return bool(kind == other != "boolean" and a < b)


def holds(facets: dict[str, Any], condition: Condition) -> bool:
    value, op = condition.value, condition.op
    held = facets.get(condition.field)
    items = held if isinstance(held, list) else [] if held is None else [held]
    if op == "exists":
        return bool((held is not None) == value)
    if op in {"eq", "in", "ne", "nin"}:
        wanted = [typed(v) for v in (value if op in {"in", "nin"} else [value])]
        return any(typed(item) in wanted for item in items) == (op in {"eq", "in"})
    if op == "contains":
        if isinstance(held, list):
            return typed(value) in [typed(item) for item in held]
        return isinstance(held, str) and isinstance(value, str) and value in held
    ordered = [below(value, item) if op in {"gt", "gte"} else below(item, value) for item in items]
    same = [op in {"gte", "lte"} and typed(item) == typed(value) for item in items]
    return any(ordered) or any(same)


def passes(facets: dict[str, Any], wanted: Filters) -> bool:
    return (
        all(holds(facets, c) for c in wanted.must)
        and (not wanted.should or any(holds(facets, c) for c in wanted.should))
        and not any(holds(facets, c) for c in wanted.must_not)
    )


def found(wanted: Filters) -> set[int]:
    ranked, total = documents_filtered(DocumentRequest(filters=wanted), limit=None, offset=0, timeout=5)
    assert total == len(ranked)
    return {r.source_id for r in ranked}


def make_documents() -> dict[int, dict[str, Any]]:
    """Eighty documents with every kind of value under every name, the same each time. Their facets, by id."""
    dice = random.Random(6)

    def value() -> Any:
        pool = [*WORDS, *NUMBERS, True, False]
        return dice.choice(pool) if dice.random() < 0.6 else dice.sample(pool, dice.randrange(4))

    names = [name for name in FIELDS if name not in {"title", "tags", "absent"}]
    Source.objects.bulk_create(
        Source(
            path=f"fuzz/{i}",
            title=dice.choice([word for word in WORDS if word]),
            format="text",
            content_hash="x",
            topics=dice.sample(WORDS, 2),
            metadata={name: value() for name in dice.sample(names, dice.randrange(len(names)))},
        )
        for i in range(80)
    )
    return dict(Source.objects.values_list("pk", "facets"))


@pytest.mark.django_db(transaction=True)
def test_sql_and_python_find_the_same() -> None:
    facets = make_documents()

    @settings(max_examples=300)
    @given(filters)
    def same(wanted: Filters) -> None:
        assert found(wanted) == {pk for pk, held in facets.items() if passes(held, wanted)}

    same()


@settings(max_examples=50)
@given(filters)
def test_what_callers_write_is_never_part_of_the_statement(wanted: Filters) -> None:
    """The text of a condition is made of our own words and the names of parameters."""
    sql, params = compile_filters(wanted)
    for clause in (wanted.must, wanted.should, wanted.must_not):
        for condition in clause:
            assert condition.field in INJECTIONS or len(condition.field) < 9
            for text in [condition.field, str(condition.value)]:
                assert text not in INJECTIONS or text not in sql
    assert all(f"%({name})s" in sql for name in params)


class TestInjectionOverHttp:
    @pytest.mark.parametrize("text", INJECTIONS)
    def test_it_finds_nothing_and_breaks_nothing(self, documents: Documents, text: str) -> None:
        before = documents.search()["total"]
        for op in ("eq", "contains", "gt", "lte"):
            condition = {"field": text, "op": op, "value": text}
            assert documents.search(filters={"must": [condition]})["total"] == 0
        documents.search(filters={"should": [{"field": "title", "op": "in", "value": [text]}]})
        for how in ("semantic", "keyword", "hybrid"):
            documents.search(text, search_type=how, metadata_fields=[text])
        documents.knowledge(text, type=text[:100], topics=[text[:100]])
        documents.get("/api/v1/knowledge/sources", type=text[:32])
        assert documents.search()["total"] == before

    def test_it_can_be_a_document_too(self, documents: Documents) -> None:
        for number, text in enumerate(INJECTIONS):
            sent = documents.send(content=f"# {text}\n\n{text}", path=f"{text}", title=text, metadata={text: text})
            condition = {"field": text, "op": "eq", "value": text}
            [hit] = documents.search(filters={"must": [condition]})["hits"]
            assert hit["doc_id"] == str(sent["source"]["id"]), number
            assert hit["metadata"]["title"] == " ".join(text.split())
            documents.delete(f"/api/v1/knowledge/sources/{hit['doc_id']}")
