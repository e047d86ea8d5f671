"""Seeding from what is there, as a service and as a command."""

import json
from collections.abc import Iterator
from unittest.mock import ANY

import numpy as np
import pytest
from click.testing import CliRunner, Result
from pytest_django import Settings

from cli.main import toolscript
from llm.types import ChatOptions
from skills.models import Skill, Suggestion, ToolClassification
from skills.services.clusters import distinctive, groups, words_of
from skills.services.curation import skill_create
from skills.services.propose import skills_propose
from skills.types import SkillSpec
from tenants.models import Tenant
from tests.chat_server import ChatServer, chat_server
from tests.world import make_skill
from tools_catalog.models import Tool
from tools_catalog.services.catalog import server_upsert
from tools_catalog.services.reindex import index_refresh
from tools_catalog.types import ServerSpec, ToolSpec

SOCKS = {
    "knit_sock": "Knit a warm woollen sock with five needles.",
    "knit_scarf": "Knit a long woollen scarf with two needles.",
    "knit_hat": "Knit a woollen hat with round needles.",
}
BEER = {
    "brew_beer": "Brew a barrel of beer from hops and malt.",
    "brew_stout": "Brew dark stout beer from roasted malt and hops.",
    "taste_beer": "Describe how a beer tastes: hops, malt and bitterness.",
}


@pytest.fixture
def catalogue(transactional_db: None) -> None:
    make_skill("weather", "Current weather, forecasts and storm warnings for a place.")
    items = {**SOCKS, **BEER, "lonely": "Sharpen an axe on a grindstone."}
    server_upsert(ServerSpec("cellar", items=tuple(ToolSpec("tool", name, text) for name, text in items.items())))
    index_refresh()


@pytest.fixture
def endpoint() -> Iterator[ChatServer]:
    with chat_server() as running:
        yield running


def asked() -> dict[str, set[str]]:
    return {s.name: set(s.askers.values_list("tool__name", flat=True)) for s in Suggestion.objects.all()}


class TestPropose:
    def test_alike_tools_become_one_named_suggestion_each(self, catalogue: None) -> None:
        report = skills_propose()
        assert (report.looked_at, report.clusters, report.created) == (7, 2, 2)
        found = asked()
        assert sorted(found.values(), key=min) == [set(BEER), set(SOCKS)]
        [beer] = [name for name, tools in found.items() if tools == set(BEER)]
        assert set(beer.lower().split()) <= {"beer", "hops", "malt", "brew"}

    def test_the_same_again_changes_nothing(self, catalogue: None) -> None:
        skills_propose()
        before = list(Suggestion.objects.values("pk", "name", "asked", "description"))
        skills_propose()
        assert list(Suggestion.objects.values("pk", "name", "asked", "description")) == before

    def test_filed_tools_are_left_out_unless_all_are_wanted(self, catalogue: None) -> None:
        tool = Tool.objects.get(name="knit_sock")
        tool.assignments.create(skill_id="weather", confidence=0.6, source="nearest", is_primary=True)
        ToolClassification.objects.create(tool=tool, status="assigned", key=tool.content_hash)
        assert skills_propose().looked_at == 6
        assert skills_propose(everything=True).looked_at == 7
        ToolClassification.objects.filter(tool=tool).update(pinned=True)
        assert skills_propose(everything=True).looked_at == 6

    def test_tools_of_one_tenant_say_nothing_to_another(self, catalogue: None) -> None:
        ours, theirs = (Tenant.objects.create(name=name, slug=name) for name in ("ours", "theirs"))
        for tenant in (ours, theirs):
            items = tuple(ToolSpec("tool", f"{tenant.slug}_{name}", text) for name, text in BEER.items())
            server_upsert(ServerSpec("brewery", items=items), tenant=tenant)
        index_refresh()
        skills_propose()
        assert {s.tenant for s in Suggestion.objects.all()} == {None, ours, theirs}
        for suggestion in Suggestion.objects.all():
            others = {"ours", "theirs"} - {suggestion.tenant.slug if suggestion.tenant else ""}
            said = f"{suggestion.name} {suggestion.description} {suggestion.keywords}"
            assert not [name for name in others if name in said]
            assert {asker.tool.server.tenant for asker in suggestion.askers.all()} == {suggestion.tenant}
        # A skill of one tenant is no reason to propose nothing to the other.
        name = Suggestion.objects.get(tenant=ours).name
        Suggestion.objects.all().delete()
        skill_create(SkillSpec(f"t{ours.pk}_beer", name, "Everything about beer."), tenant=ours)
        skills_propose()
        assert {s.tenant for s in Suggestion.objects.all()} == {None, theirs}

    @pytest.mark.parametrize("name", ["-", "\N{WRENCH}"])
    def test_a_name_of_signs_alone_is_replaced(
        self, catalogue: None, endpoint: ChatServer, settings: Settings, name: str
    ) -> None:
        settings.CHAT_MODEL = "tiny"
        settings.CHAT_OPTIONS = ChatOptions(base_url=endpoint.url, timeout=5)
        endpoint.answer = lambda prompt: {"name": name, "description": "Made by hand.", "keywords": []}
        assert skills_propose().created == 2
        assert name not in asked()

    def test_names_come_from_the_language_model_where_there_is_one(
        self, catalogue: None, endpoint: ChatServer, settings: Settings
    ) -> None:
        settings.CHAT_MODEL = "tiny"
        settings.CHAT_OPTIONS = ChatOptions(base_url=endpoint.url, timeout=5)
        endpoint.answer = lambda prompt: {
            "name": "Brewing" if "beer" in prompt else "Knitting",
            "description": "Made by hand.",
            "keywords": ["hand"],
        }
        skills_propose()
        assert asked() == {"Brewing": set(BEER), "Knitting": set(SOCKS)}

    def test_a_failing_model_leaves_the_plain_names(
        self, catalogue: None, endpoint: ChatServer, settings: Settings
    ) -> None:
        settings.CHAT_MODEL = "tiny"
        settings.CHAT_OPTIONS = ChatOptions(base_url=endpoint.url, timeout=5)
        endpoint.modes = ["denied"]
        assert skills_propose().created == 2


class TestClusters:
    def test_far_apart_points_are_in_no_group(self) -> None:
        assert groups(np.eye(5, dtype=np.float32)) == []

    def test_groups_are_found_and_ordered_by_size(self) -> None:
        centres = np.eye(3, 8, dtype=np.float32)
        noise = np.random.default_rng(1).normal(scale=0.05, size=(12, 8)).astype(np.float32)
        vectors = np.repeat(centres, [3, 5, 4], axis=0) + noise
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        assert groups(vectors) == [[3, 4, 5, 6, 7], [8, 9, 10, 11], [0, 1, 2]]

    def test_telling_words_are_common_inside_and_rare_outside(self) -> None:
        inside = [words_of("brewBeer", "Brew beer"), words_of("tasteBeer", "Taste beer")]
        outside = [words_of("brew_tea", "Brew tea"), words_of("taste_tea", "Taste tea")]
        assert distinctive(inside, [*inside, *outside])[0] == "beer"


class TestTheCommand:
    """In process, on the database of the test: the embedded Postgres of this run is up already."""

    def run(self, *args: str, expect: int = 0) -> Result:
        result = CliRunner().invoke(toolscript, ["skills", *args])
        assert result.exit_code == expect, result.output
        return result

    def test_propose_list_and_decide(self, catalogue: None) -> None:
        assert "7 tools looked at, 2 clusters, 2 suggestions filed." in self.run("propose").output
        rows = json.loads(self.run("suggestions", "--output", "json").stdout)
        assert [row["asked"] for row in rows] == [3, 3]
        first, second = rows[0]["id"], rows[1]["id"]
        output = self.run("approve", str(first), "--id", "crafts", "--name", "Crafts").output
        assert "Made the skill crafts." in output
        assert "approved already" in self.run("reject", str(first), expect=1).output
        self.run("undo", str(first))
        assert not Skill.objects.filter(pk="crafts").exists()
        self.run("merge", str(first), "weather")
        self.run("reject", str(second), "--reason", "Too narrow.")
        assert "There are none" in self.run("suggestions").output
        decided = {
            row["status"]: row["decided_by"]
            for row in json.loads(self.run("suggestions", "--status", "all", "--output", "json").stdout)
        }
        assert decided == {"merged": ANY, "rejected": ANY}
        assert all("shell" in by for by in decided.values())

    def test_list_and_classify(self, catalogue: None) -> None:
        assert json.loads(self.run("list", "--output", "json").stdout)[0]["id"] == "weather"
        assert "weather" in self.run("list", "--all").output
        assert "suggested" in self.run("classify", "--retry").output
        assert "Nothing waits" in self.run("classify").output

    def test_an_id_that_is_not_there(self, catalogue: None) -> None:
        assert "no suggestion with the id 999" in self.run("approve", "999", expect=1).output
        assert "Usage" in self.run("approve", "abc", expect=2).output

    def test_help_has_examples(self) -> None:
        assert "toolscript skills propose" in CliRunner().invoke(toolscript, ["skills", "--help"]).output
