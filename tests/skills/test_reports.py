"""What curators look at: the projection behind the map, and proposals in the background."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.utils import timezone

from core.errors import Conflict
from embeddings.types import Vectors
from skills.models import ProposeRun, Skill
from skills.reports import catalog_map
from skills.reports.catalog_map import catalog_map as map_data
from skills.reports.coverage import overlaps
from skills.reports.projection import neighbours, project
from skills.services.assignments import assignments_replace
from skills.services.propose_runs import propose_perform, propose_start
from skills.types import SkillChoice
from tests.world import make_skill
from tools_catalog.models import Tool
from tools_catalog.services.reindex import index_refresh


def clusters(groups: int, each: int) -> Vectors:
    rng = np.random.default_rng(5)
    centres = np.repeat(rng.normal(size=(groups, 24)), each, axis=0)
    vectors = (centres + 0.25 * rng.normal(size=centres.shape)).astype(np.float32)
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)


class TestProjection:
    @pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 50])
    def test_any_number_of_vectors_has_a_place(self, count: int) -> None:
        points = project(clusters(1, count) if count else np.empty((0, 24), dtype=np.float32))
        assert points.shape == (count, 2)
        assert np.isfinite(points).all()
        assert np.abs(points).max(initial=0) <= 1

    def test_the_same_vectors_have_the_same_places(self) -> None:
        vectors = clusters(6, 20)
        assert np.array_equal(project(vectors), project(vectors))

    def test_equal_vectors_are_no_problem(self) -> None:
        assert np.isfinite(project(np.repeat(clusters(1, 1), 30, axis=0))).all()

    def test_what_is_similar_lies_together(self) -> None:
        points = project(clusters(6, 20))
        near = neighbours(points, 5) // 20
        own = np.arange(120)[:, None] // 20
        assert (near == own).mean() > 0.95

    def test_neighbours_are_the_nearest_others_across_blocks(self, monkeypatch: pytest.MonkeyPatch) -> None:
        points = project(clusters(3, 15))
        whole = np.sort(neighbours(points, 4), axis=1)
        monkeypatch.setattr("skills.reports.projection.BLOCK", 7)
        assert np.array_equal(whole, np.sort(neighbours(points, 4), axis=1))
        assert not (whole == np.arange(45)[:, None]).any()


class TestTheMap:
    def test_it_is_computed_once_and_survives_a_broken_file(
        self, world: dict[str, Tool], settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        settings.DATA_DIR = tmp_path
        monkeypatch.setattr(catalog_map, "_layout", None)
        first = map_data()
        [file] = (tmp_path / "cache" / "map").iterdir()
        assert len(first["tools"]["id"]) == len(world)
        file.write_bytes(b"not a file of numpy")
        monkeypatch.setattr(catalog_map, "_layout", None)
        assert map_data() == first
        assert np.load(file).shape == (len(world), 2)

    def test_a_skill_lies_among_its_tools(self, world: dict[str, Tool]) -> None:
        found = map_data()
        number = next(i for i, skill in enumerate(found["skills"]) if skill["id"] == "calendar_management")
        own = [i for i, skill in enumerate(found["tools"]["skill"]) if skill == number]
        assert found["skills"][number]["tools"] == len(own) == 6
        xs = [found["tools"]["x"][i] for i in own]
        assert min(xs) <= found["skills"][number]["x"] <= max(xs)

    def test_a_tool_that_is_switched_off_leaves_it(self, world: dict[str, Tool]) -> None:
        Tool.objects.filter(name="read_file").update(is_active=False)
        index_refresh()
        assert "read_file" not in map_data()["tools"]["name"]


def test_skills_that_share_their_tools_overlap(world: dict[str, Tool]) -> None:
    make_skill("appointments", "Appointments and meetings in a calendar.")
    both = [SkillChoice("calendar_management", 0.9), SkillChoice("appointments", 0.8)]
    names = ("create_event", "list_events", "find_free_time", "cancel_event", "plan_week", "holidays")
    assignments_replace({world[name].pk: both for name in names}, source="human")  # type: ignore[arg-type]
    index_refresh()
    [pair] = overlaps()
    assert {pair.one.pk, pair.other.pk} == {"appointments", "calendar_management"}
    assert (pair.shared, pair.similarity > 0.95) == (6, True)


@pytest.mark.django_db
class TestProposing:
    def test_without_an_index_it_fails_in_words(self) -> None:
        run = propose_start(by="kim")
        propose_perform(run.pk)
        run.refresh_from_db()
        assert (run.status, run.error) == ("failed", "The search index is being built. Try again shortly.")

    def test_one_at_a_time(self) -> None:
        propose_start(by="kim")
        with pytest.raises(Conflict):
            propose_start(by="lee")
        assert ProposeRun.objects.count() == 1

    def test_a_run_whose_worker_was_lost_does_not_block_for_ever(self) -> None:
        lost = propose_start(by="kim")
        ProposeRun.objects.update(started_at=timezone.now() - timedelta(hours=2))
        propose_start(by="lee")
        lost.refresh_from_db()
        assert (lost.status, lost.error) == ("failed", "It never finished.")

    def test_a_message_that_comes_twice_is_worked_on_once(self) -> None:
        run = propose_start(by="kim")
        ProposeRun.objects.update(status="done", created=3)
        propose_perform(run.pk)
        run.refresh_from_db()
        assert (run.status, run.created) == ("done", 3)
        assert not Skill.objects.exists()
