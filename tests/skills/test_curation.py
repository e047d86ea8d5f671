from typing import Any

import numpy as np
import pytest
from django.db import IntegrityError, transaction
from hypothesis import given
from hypothesis import strategies as st

from core.errors import Conflict, ValidationFailed
from skills.models import Assignment, Skill, SkillVector
from skills.services.assignments import assignment_replace
from skills.services.curation import skill_create, skill_delete, skill_save
from skills.services.prototypes import centroid, prototype_count, prototypes
from skills.types import SkillChoice, SkillSpec
from tests.conftest import Api
from tests.world import Entry, make_skill, make_tools
from tools_catalog.models import Tool, ToolVector
from tools_catalog.services.reindex import index_refresh

GOOD = SkillSpec("weather", "Weather", "Forecasts and storm warnings.")


@pytest.mark.django_db
class TestSkill:
    @pytest.mark.parametrize(
        "bad",
        [
            {"id": "Weather"},
            {"id": "1weather"},
            {"id": "weather-report"},
            {"id": ""},
            {"id": "w" * 65},
            {"name": ""},
            {"name": "x" * 256},
            {"description": "too short"},
            {"description": "x" * 1001},
            {"keywords": tuple("k" for _ in range(21))},
            {"examples": tuple("e" for _ in range(11))},
        ],
    )
    def test_a_bad_field_is_refused_and_named(self, bad: dict[str, Any]) -> None:
        fields = {"id": GOOD.id, "name": GOOD.name, "description": GOOD.description, **bad}
        with pytest.raises(ValidationFailed) as caught:
            skill_create(SkillSpec(**fields))
        assert list(caught.value.details["fields"]) == list(bad)
        assert not Skill.objects.exists()

    def test_an_id_is_taken_once(self) -> None:
        skill_create(GOOD)
        with pytest.raises(Conflict, match="weather"):
            skill_create(GOOD)

    @pytest.mark.parametrize("field", [{"id": "Bad"}, {"name": ""}, {"description": "short"}])
    def test_the_database_refuses_it_too(self, field: dict[str, str]) -> None:
        skill = Skill(**{"id": "good", "name": "Good", "description": "Long enough for a skill.", **field})
        with pytest.raises(IntegrityError), transaction.atomic():
            skill.save(force_insert=True)

    def test_deleting_is_soft(self) -> None:
        skill = skill_create(GOOD)
        skill_delete(skill)
        skill.refresh_from_db()
        assert skill.deleted_at is not None
        assert not skill.is_active


@pytest.mark.django_db
class TestAssignments:
    def test_the_most_confident_is_primary(self) -> None:
        tool = self.tool()
        assignment_replace(tool, [SkillChoice("a", 0.6), SkillChoice("b", 0.8)], source=Assignment.Source.HUMAN)
        assert tool.assignments.get(is_primary=True).skill_id == "b"

    def test_a_replacement_replaces_all(self) -> None:
        tool = self.tool()
        assignment_replace(tool, [SkillChoice("a", 0.6)], source=Assignment.Source.HUMAN)
        assignment_replace(tool, [SkillChoice("b", 0.7)], source=Assignment.Source.LLM)
        assert [a.skill_id for a in tool.assignments.all()] == ["b"]

    def test_no_skills_is_a_valid_choice(self) -> None:
        tool = self.tool()
        assignment_replace(tool, [], source=Assignment.Source.HUMAN)
        assert not tool.assignments.exists()

    @pytest.mark.parametrize(
        "choices",
        [[SkillChoice("a", 0.6), SkillChoice("a", 0.7)], [SkillChoice(s, 0.5) for s in "abcd"]],
        ids=["twice the same", "four skills"],
    )
    def test_bad_choices_change_nothing(self, choices: list[SkillChoice]) -> None:
        tool = self.tool()
        assignment_replace(tool, [SkillChoice("a", 0.6)], source=Assignment.Source.HUMAN)
        with pytest.raises(ValidationFailed):
            assignment_replace(tool, choices, source=Assignment.Source.HUMAN)
        assert tool.assignments.count() == 1

    @pytest.mark.parametrize(
        "row",
        [
            {"confidence": 1.5},
            {"confidence": -0.1},
            {"source": "oracle"},
            {"skill_id": "a"},
            {"is_primary": True},
        ],
    )
    def test_the_database_refuses_bad_rows(self, row: dict[str, Any]) -> None:
        tool = self.tool()
        assignment_replace(tool, [SkillChoice("a", 0.6)], source=Assignment.Source.HUMAN)
        fields = {"skill_id": "b", "confidence": 0.5, "source": "human", **row}
        with pytest.raises(IntegrityError), transaction.atomic():
            Assignment.objects.create(tool=tool, **fields)

    def tool(self) -> Tool:
        for skill in "abcd":
            make_skill(skill)
        return make_tools(Entry("create_event", "Create a calendar event.", ()))["create_event"]


@pytest.mark.django_db(transaction=True)
class TestSkillIndex:
    def test_the_index_of_tools_follows_assignments_at_once(self, world: dict[str, Tool]) -> None:
        assignment_replace(world["read_file"], [SkillChoice("weather", 0.9)], source=Assignment.Source.HUMAN)
        row = ToolVector.objects.get(tool=world["read_file"])
        assert (row.skill_ids, row.primary_skill_id) == (["weather"], "weather")

    def test_a_switched_off_skill_leaves_the_index_of_tools(self, world: dict[str, Tool]) -> None:
        skill = Skill.objects.get(pk="version_control")
        skill.is_active = False
        skill_save(skill)
        row = ToolVector.objects.get(tool=world["show_diff"])
        assert (row.skill_ids, row.primary_skill_id) == (["file_operations"], "file_operations")

    def test_only_skills_that_changed_are_computed_again(self, world: dict[str, Tool]) -> None:
        before = dict(SkillVector.objects.values_list("skill_id", "key"))
        seen: list[tuple[str, int, int]] = []
        assignment_replace(world["read_file"], [SkillChoice("weather", 0.9)], source=Assignment.Source.HUMAN)
        index_refresh(progress=lambda *args: seen.append(args))
        after = dict(SkillVector.objects.values_list("skill_id", "key"))
        assert {s for s in before if before[s] != after[s]} == {"weather", "file_operations"}
        assert [one for one in seen if one[0] == "skills"][-1] == ("skills", 2, 2)

    def test_a_skill_without_tools_is_found_by_its_own_text(self, world: dict[str, Tool], api: Api) -> None:
        best = api.skills("will there be a storm tomorrow?", threshold=0)[0]
        assert (best["id"], best["tool_count"]) == ("weather", 0)

    def test_an_inactive_tool_no_longer_counts(self, world: dict[str, Tool], api: Api) -> None:
        Tool.objects.filter(name="create_event").update(is_active=False)
        index_refresh()
        assert api.skills("calendar")[0]["tool_count"] == 5


class TestPrototypes:
    @pytest.mark.parametrize(("tools", "count"), [(1, 1), (96, 96), (97, 96), (192, 96), (240, 120), (10_000, 128)])
    def test_there_are_more_for_larger_skills(self, tools: int, count: int) -> None:
        assert prototype_count(tools) == count

    @given(st.integers(1, 120), st.integers(0, 2**32 - 1))
    def test_they_are_unit_vectors_and_always_the_same(self, tools: int, seed: int) -> None:
        vectors = self.vectors(tools, seed)
        first, second = prototypes(vectors), prototypes(vectors)
        assert np.array_equal(first, second)
        assert len(first) == prototype_count(tools)
        assert np.allclose(np.linalg.norm(first, axis=1), 1, atol=1e-5)

    def test_each_tool_is_near_one_of_them(self) -> None:
        rng = np.random.default_rng(3)
        centres = self.vectors(16, 1)
        vectors = np.repeat(centres, 20, axis=0) + rng.normal(scale=0.01, size=(320, 12)).astype(np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        assert (vectors @ prototypes(vectors).T).max(axis=1).min() > 0.98

    def test_the_centroid_leans_towards_confident_tools(self) -> None:
        vectors = np.eye(2, dtype=np.float32)
        centre = centroid(vectors, np.array([0.9, 0.3], dtype=np.float32))
        assert centre[0] > centre[1] > 0

    def test_opposite_vectors_have_a_centroid_too(self) -> None:
        vectors = np.array([[1, 0], [-1, 0]], dtype=np.float32)
        assert np.isclose(np.linalg.norm(centroid(vectors, np.ones(2, dtype=np.float32))), 1)

    @staticmethod
    def vectors(count: int, seed: int) -> Any:
        made = np.random.default_rng(seed).normal(size=(count, 12)).astype(np.float32)
        return made / np.linalg.norm(made, axis=1, keepdims=True)
