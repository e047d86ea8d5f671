"""The classifier without a network."""

import numpy as np
import pytest

from skills.classifiers.nearest import NearestClassifier, idea_for
from skills.classifiers.similarity import confidences, words_of
from skills.classifiers.types import SkillCard, ToolCard
from skills.models import Skill, SkillTextVector, Suggestion, ToolClassification
from skills.services.assignments import tool_assign, tools_reclassify
from skills.services.cards import skill_cards, tool_cards
from skills.services.pipeline import classify_batch
from skills.services.similar import space_live
from skills.services.switch import classification_pause
from skills.types import SkillChoice
from tenants.models import Tenant
from tests.world import SKILLS, make_skill
from tools_catalog.models import Tool
from tools_catalog.services.catalog import server_upsert
from tools_catalog.services.reindex import index_refresh
from tools_catalog.types import ServerSpec, ToolSpec

TOOLS = {
    "plan_meeting": "Create an event in the calendar and invite people to the meeting.",
    "git_commit": "Commit the staged changes to the Git repository.",
    "read_text_file": "Read the contents of a text file on disk.",
    "storm_warning": "Storm warnings and the weather forecast for a place.",
}
WANTED = ["calendar_management", "version_control", "file_operations", "weather"]


def publish(*names: str, server: str = "mixed", tenant: Tenant | None = None) -> None:
    items = tuple(ToolSpec("tool", name, TOOLS.get(name, "Play a chord on the lute.")) for name in names)
    server_upsert(ServerSpec(server, items=items), tenant=tenant)


def filed() -> dict[str, str]:
    while classify_batch():
        pass
    rows = Tool.objects.filter(assignments__is_primary=True).values_list("name", "assignments__skill_id")
    return dict(rows)


@pytest.mark.django_db(transaction=True)
class TestFiling:
    @pytest.fixture(autouse=True)
    def skills(self, transactional_db: None) -> None:
        for skill_id, description in SKILLS.items():
            make_skill(skill_id, description)

    def test_tools_find_their_skills_without_any_example(self) -> None:
        publish(*TOOLS)
        index_refresh()
        assert filed() == dict(zip(TOOLS, WANTED, strict=True))
        assert set(ToolClassification.objects.values_list("status", flat=True)) == {"assigned"}

    def test_what_nothing_fits_becomes_a_suggestion(self) -> None:
        publish("pluck_lute", server="woolworks")
        index_refresh()
        assert filed() == {}
        suggestion = Suggestion.objects.get()
        assert (suggestion.name, suggestion.origin, suggestion.asked) == ("Woolworks tools", "nearest", 1)

    def test_without_skills_everything_is_a_suggestion(self) -> None:
        Skill.objects.update(is_active=False)
        publish("git_commit")
        index_refresh()
        assert filed() == {}
        assert Suggestion.objects.count() == 1

    def test_a_tool_waits_for_its_vector(self) -> None:
        publish("git_commit")
        assert classify_batch() == 0  # there is no index at all
        index_refresh()
        publish("read_text_file")
        assert filed() == {"git_commit": "version_control"}
        index_refresh()
        assert filed() == {"git_commit": "version_control", "read_text_file": "file_operations"}

    def test_the_words_of_skills_are_embedded_once_for_all_processes(self) -> None:
        publish("git_commit")
        index_refresh()
        filed()
        known = set(SkillTextVector.objects.values_list("pk", flat=True))
        assert len(known) >= len(SKILLS) * 3
        tools_reclassify(list(Tool.objects.values_list("pk", flat=True)))
        filed()
        assert set(SkillTextVector.objects.values_list("pk", flat=True)) == known

    def test_servers_of_one_name_are_told_apart(self) -> None:
        """What one says of its tools is not taken for the other, nor for itself as it was."""
        acme = Tenant.objects.create(slug="acme", name="Acme")
        publish("git_commit", "read_text_file", server="box")
        publish("storm_warning", "plan_meeting", server="box", tenant=acme)
        index_refresh()
        space = space_live()
        assert space is not None
        skills = skill_cards(None, vectors=True)
        cards = list(tool_cards(list(Tool.objects.select_related("server").order_by("pk")), vectors=True).values())
        one = NearestClassifier(space)
        together = [one.classify(card, skills) for card in cards]
        assert together == [NearestClassifier(space).classify(card, skills) for card in cards]

    def test_prototypes_of_a_tenants_skill_are_shown_for_its_tools(self) -> None:
        acme = Tenant.objects.create(slug="acme", name="Acme")
        make_skill("lutes", "Play the lute in many ways.", tenant=acme)
        publish("pluck_lute", server="music", tenant=acme)
        tool_assign(Tool.objects.get(), [SkillChoice("lutes", 1.0)])
        index_refresh()
        shown = {card.id: card.prototypes for card in skill_cards(acme.pk, vectors=True)}
        assert shown["lutes"] is not None
        assert "lutes" not in {card.id for card in skill_cards(None, vectors=True)}

    def test_a_tenants_skill_is_for_its_own_tools(self) -> None:
        acme = Tenant.objects.create(slug="acme", name="Acme")
        Skill.objects.filter(pk="version_control").update(tenant=acme)
        publish("git_commit", server="theirs", tenant=acme)
        publish("git_commit", server="shared")
        index_refresh()
        filed()
        assert list(
            Skill.objects.get(pk="version_control").assignments.values_list("tool__server__name", flat=True)
        ) == ["theirs"]

    def test_paused_is_paused(self) -> None:
        publish("git_commit")
        index_refresh()
        classification_pause(by="kim")
        assert filed() == {}


class TestConfidence:
    def test_a_skill_that_stands_out_is_sure(self) -> None:
        [(column, confidence)] = confidences(np.array([0.1, 0.8, 0.1, 0.1, 0.1]))
        assert column == 1
        assert confidence > 0.9

    def test_when_none_stands_out_there_is_none(self) -> None:
        assert confidences(np.full(10, 0.3)) == []

    def test_close_ones_are_all_given_with_less_confidence(self) -> None:
        scores = np.zeros(20)
        scores[:5] = [0.50, 0.49, 0.47, 0.46, 0.2]
        found = confidences(scores)
        assert [column for column, _ in found] == [0, 1, 2]
        values = [confidence for _, confidence in found]
        assert values == sorted(values, reverse=True)
        assert all(0.5 <= value <= 1 for value in values)
        assert values[0] < confidences(np.array([0.5] + [0.0] * 19))[0][1]


class TestWords:
    def test_a_description_is_taken_apart(self) -> None:
        skill = SkillCard("weather", "Weather", "Know the sky: forecast rain, storms ahead, and the tide.", ("rain",))
        words = words_of(skill)
        assert words.phrases == ("Know the sky", "forecast rain", "storms ahead", "the tide")
        assert words.short == "Weather. rain"

    def test_an_idea_is_named_after_the_server(self) -> None:
        idea = idea_for(ToolCard(1, "acme/wool-works", "tool", "knit_sock", "Knit."))
        assert idea.name == "Wool works tools"
