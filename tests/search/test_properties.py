"""What is true of every search, whatever is asked."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core import db
from search.services import embed
from skills.models import SkillVector
from tests.world import SKILLS, TOOLS, Entry, make_skill, make_tools
from tools_catalog.models import EmbeddingSpace, Tool, ToolVector
from tools_catalog.services.reindex import index_refresh
from tools_catalog.types import Space

EDGE = 0.00011
"""Two ways to sum the same products may differ in the last of the four decimals."""

stable = settings(
    max_examples=60,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

WORDS = sorted(
    {word.strip(".,").lower() for text in [*SKILLS.values(), *(e.description for e in TOOLS)] for word in text.split()}
)
queries = st.one_of(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=8).map(" ".join),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=200).filter(
        str.strip
    ),
)
shares = st.one_of(st.sampled_from([0.0, 0.2, 0.3, 0.4, 0.5, 1.0]), st.floats(0, 1), st.floats(0.05, 0.7))
types = st.sampled_from([None, "tool", "prompt", "resource"])
requests = st.fixed_dictionaries(
    {"query": queries},
    optional={
        "item_type": types,
        "limit": st.integers(1, 50),
        "skill_limit": st.integers(1, 10),
        "skill_threshold": shares,
        "tool_threshold": shares,
        "include_schemas": st.booleans(),
        "strategy": st.sampled_from(["hierarchical", "direct", "hybrid"]),
    },
)
Request = dict[str, Any]
Numbers = npt.NDArray[np.float64]
DEFAULTS: Request = {
    "item_type": None,
    "limit": 5,
    "skill_limit": 3,
    "skill_threshold": 0.4,
    "tool_threshold": 0.3,
    "include_schemas": True,
    "strategy": "hierarchical",
}


@dataclass
class Truth:
    """The vectors in the database, and the scores they give by plain arithmetic."""

    space: Space
    tools: dict[int, tuple[Numbers, str, frozenset[str]]]
    skills: dict[str, Numbers]
    client: Client = field(default_factory=Client)

    def tool_scores(
        self, query: str, item_type: str | None = None, skill_ids: set[str] | None = None
    ) -> dict[int, float]:
        vector = embed(self.space, query.strip(), 30)
        return {
            tool_id: _score(float(own @ vector))
            for tool_id, (own, kind, skills) in self.tools.items()
            if item_type in (None, kind) and (skill_ids is None or skills & skill_ids)
        }

    def skill_scores(self, query: str) -> dict[str, float]:
        vector = embed(self.space, query.strip(), 30)
        return {skill_id: _score(float((own @ vector).max())) for skill_id, own in self.skills.items()}

    def search(self, request: Request) -> Any:
        response = self.client.post("/api/v1/search", request, "application/json")
        assert response.status_code == 200, response.text
        return response.json()

    def get(self, what: str, **params: Any) -> Any:
        response = self.client.get(f"/api/v1/search/{what}", params)
        assert response.status_code == 200, response.text
        return response.json()


def _score(raw: float) -> float:
    return float(np.clip(np.round(raw, 4), 0, 1))


def numbers(vectors: list[Any]) -> Numbers:
    return np.array(vectors, dtype=np.float64)


@pytest.fixture
def truth(world: dict[str, Tool]) -> Iterator[Truth]:
    make_skill("empty", "A skill that no tool was ever filed under.")
    make_skill("notes", "Take, keep and find notes about anything at all.")
    make_tools(
        *(
            Entry(f"note_{i}", f"Keep notes about {WORDS[5 * i]} and {WORDS[5 * i + 3]}.", ("notes",), server="notes")
            for i in range(12)
        )
    )
    index_refresh()
    space = EmbeddingSpace.objects.get(is_live=True)
    tools = ToolVector.objects.filter(space=space, is_active=True)
    skills = SkillVector.objects.filter(space=space, is_active=True).prefetch_related("prototypes")
    yield Truth(
        Space(space.pk, space.model, space.fingerprint, space.dim),
        {row.tool_id: (numbers(row.vector), row.type, frozenset(row.skill_ids)) for row in tools},
        {row.skill_id: numbers([row.vector, *(p.vector for p in row.prototypes.all())]) for row in skills},
    )
    db.close_all()  # this thread's own, which would keep the test database from being dropped


def best_first(hits: list[dict[str, Any]], limit: int, threshold: float) -> None:
    scores = [hit["score"] for hit in hits]
    assert scores == sorted(scores, reverse=True)
    assert len(hits) <= limit
    assert all(max(threshold, 0) <= score <= 1 for score in scores)
    assert len({hit["id"] for hit in hits}) == len(hits)


def agree(hits: list[dict[str, Any]], expected: dict[Any, float], limit: int, threshold: float, key: str) -> None:
    """The same hits as by brute force, but for what lies within a rounding of the threshold or of its neighbour."""
    found = {hit[key]: hit["score"] for hit in hits}
    assert set(found) <= set(expected)
    for name, score in found.items():
        assert score == pytest.approx(expected[name], abs=EDGE)
    surely = sum(score >= threshold + EDGE for score in expected.values())
    perhaps = sum(score >= threshold - EDGE for score in expected.values())
    assert min(limit, surely) <= len(found) <= min(limit, perhaps)
    if found:
        worst = min(found.values())
        left_out = [score for name, score in expected.items() if name not in found and score >= threshold + EDGE]
        assert all(score <= worst + EDGE for score in left_out)


def test_the_whole_search_keeps_its_promises(truth: Truth) -> None:
    @stable
    @given(requests)
    def check(request: Request) -> None:
        asked = {**DEFAULTS, **request}
        result = truth.search(request)
        tools, skills, meta = result["tools"], result["matched_skills"], result["metadata"]
        assert result["query"] == request["query"].strip()
        best_first(tools, asked["limit"], asked["tool_threshold"])
        best_first(skills, asked["skill_limit"], asked["skill_threshold"])

        assert meta["degraded"] is None
        assert meta["final_count"] == len(tools) <= meta["stage2_candidate_count"]
        assert (meta["stage2_candidate_count"] == len(tools)) or len(tools) == asked["limit"]
        assert meta["stage1_skill_count"] == len(skills)
        assert meta["skill_ids_used"] == ([skill["id"] for skill in skills] or None)
        expected = "direct" if meta["fallback"] and asked["strategy"] == "hierarchical" else asked["strategy"]
        assert meta["strategy_used"] == expected
        assert bool(meta["fallback"]) == (not skills and asked["strategy"] != "direct")

        for tool in tools:
            _, kind, filed_under = truth.tools[tool["db_id"]]
            assert tool["id"] == str(tool["db_id"])
            assert tool["type"] == kind
            assert asked["item_type"] in (None, kind)
            assert set(tool["skill_ids"]) == filed_under
            assert tool["primary_skill_id"] in (tool["skill_ids"] or [None])
            assert (tool["input_schema"] is not None) == asked["include_schemas"]
            if expected == "hierarchical":
                assert filed_under & {skill["id"] for skill in skills}

    check()


def test_the_whole_search_agrees_with_plain_arithmetic(truth: Truth) -> None:
    @stable
    @given(requests)
    def check(request: Request) -> None:
        asked = {**DEFAULTS, **request}
        result = truth.search(request)
        skills = result["matched_skills"]
        if asked["strategy"] != "direct":
            scores = truth.skill_scores(asked["query"])
            agree(skills, scores, asked["skill_limit"], asked["skill_threshold"], "id")
        matched = {skill["id"] for skill in skills} if result["metadata"]["strategy_used"] == "hierarchical" else None
        expected = truth.tool_scores(asked["query"], asked["item_type"], matched)
        if asked["strategy"] == "hybrid":  # has more than the similarity, and never less
            assert all(tool["score"] >= expected[tool["db_id"]] - EDGE for tool in result["tools"])
            return
        agree(result["tools"], expected, asked["limit"], asked["tool_threshold"], "db_id")
        agree_count = [sum(s >= asked["tool_threshold"] + d for s in expected.values()) for d in (EDGE, -EDGE)]
        if result["tools"]:
            assert agree_count[0] <= result["metadata"]["stage2_candidate_count"] <= agree_count[1]

    check()


def test_the_single_stages_agree_with_plain_arithmetic(truth: Truth) -> None:
    skill_ids = st.lists(st.sampled_from([*truth.skills, "nothing", "x,y", " "]), max_size=4)

    @stable
    @given(queries, st.integers(1, 20), shares, types, skill_ids)
    def check(query: str, limit: int, threshold: float, item_type: str | None, chosen: list[str]) -> None:
        skills = truth.get("skills", query=query, limit=limit, threshold=threshold)
        best_first(skills, limit, threshold)
        agree(skills, truth.skill_scores(query), limit, threshold, "id")

        params = {"item_type": item_type} if item_type else {}
        tools = truth.get(
            "tools", query=query, limit=limit * 5, threshold=threshold, skill_ids=",".join(chosen), **params
        )
        best_first(tools, limit * 5, threshold)
        wanted = {word for word in ",".join(chosen).split(",") if word.strip()} or None
        agree(tools, truth.tool_scores(query, item_type, wanted), limit * 5, threshold, "db_id")

    check()


def test_hierarchical_finds_no_more_than_direct_and_hybrid_no_less(truth: Truth) -> None:
    @stable
    @given(requests)
    def check(request: Request) -> None:
        def found(strategy: str) -> dict[str, float]:
            result = truth.search({**request, "strategy": strategy, "limit": 50, "include_schemas": False})
            return {tool["id"]: tool["score"] for tool in result["tools"]}

        direct = found("direct")
        assert found("hierarchical").items() <= direct.items()
        hybrid = found("hybrid")
        assert all(hybrid[name] >= score for name, score in direct.items())

    check()


def test_a_smaller_limit_gives_the_beginning_of_the_same_list(truth: Truth) -> None:
    @stable
    @given(requests, st.integers(1, 50))
    def check(request: Request, limit: int) -> None:
        everything, few = (truth.search({**request, "limit": n}) for n in (50, limit))
        assert few["tools"] == everything["tools"][:limit]
        assert few["metadata"]["stage2_candidate_count"] == len(everything["tools"])

    check()


def test_the_same_query_gives_the_same_answer(truth: Truth) -> None:
    @stable
    @given(requests, st.sampled_from(["", " ", "\n\u3000"]))
    def check(request: Request, pad: str) -> None:
        def answer(query: str) -> Any:
            result = truth.search({**request, "query": query})
            result["metadata"] = {k: v for k, v in result["metadata"].items() if not k.endswith("_time_ms")}
            return result

        assert answer(request["query"]) == answer(pad + request["query"] + pad)

    check()
