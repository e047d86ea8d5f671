from typing import Any

import pytest
from django.db import IntegrityError, transaction
from hypothesis import given
from hypothesis import strategies as st

from tenants.models import Tenant
from tests.conftest import Api, names
from tests.world import Entry, make_skill, make_tools, spec_of
from tools_catalog.models import EmbeddingSpace, Server, Tool, ToolEmbedding, ToolVector
from tools_catalog.services.catalog import server_upsert, tool_set_active, tools_upsert
from tools_catalog.services.reindex import index_refresh
from tools_catalog.text import content_hash, parameter_names, split_name, tool_text
from tools_catalog.types import ServerSpec, ToolSpec

EVENT = Entry("create_event", "Create a calendar event.", ())


@pytest.mark.django_db
class TestUpsert:
    def test_the_same_definition_costs_no_write(self) -> None:
        tool = make_tools(EVENT)["create_event"]
        report = tools_upsert(tool.server, (spec_of(EVENT),))
        assert (report.created, report.changed, report.unchanged) == (0, 0, 1)
        assert Tool.objects.get().updated_at == tool.updated_at

    def test_the_same_server_costs_no_write_either(self) -> None:
        first, _ = server_upsert(ServerSpec("alpha", "Alpha", "The first."))
        again, _ = server_upsert(ServerSpec("alpha", "Alpha", "The first."))
        assert again.updated_at == first.updated_at
        changed, _ = server_upsert(ServerSpec("alpha", "Alpha", "The second."))
        assert changed.updated_at > first.updated_at
        assert Server.objects.get().description == "The second."

    def test_a_changed_definition_is_taken_over(self) -> None:
        tool = make_tools(EVENT)["create_event"]
        report = tools_upsert(tool.server, (ToolSpec("tool", "create_event", "Another description."),))
        assert report.changed == 1
        assert Tool.objects.get().description == "Another description."

    def test_a_tool_that_was_switched_off_stays_off(self) -> None:
        tool = make_tools(EVENT)["create_event"]
        tool_set_active(tool, active=False)
        tools_upsert(tool.server, (spec_of(EVENT),))
        tools_upsert(tool.server, (ToolSpec("tool", "create_event", "Another description."),))
        assert not Tool.objects.get().is_active

    def test_another_order_of_properties_is_a_change(self) -> None:
        tool = make_tools(EVENT)["create_event"]
        for order in ("ab", "ba"):
            schema = {"type": "object", "properties": {name: {} for name in order}}
            report = tools_upsert(tool.server, (ToolSpec("tool", "create_event", "x", input_schema=schema),))
            assert report.changed == 1
        assert list(Tool.objects.get().input_schema["properties"]) == ["b", "a"]

    def test_a_tool_and_a_prompt_may_share_a_name(self) -> None:
        items = (ToolSpec("tool", "plan"), ToolSpec("prompt", "plan"))
        _, report = server_upsert(ServerSpec("alpha", items=items))
        assert report.created == 2


def refused(row: Any) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        row.save(force_insert=True)


@pytest.mark.django_db
class TestConstraints:
    def test_a_server_name_is_unique_among_the_shared_ones_too(self) -> None:
        Server.objects.create(name="alpha")
        refused(Server(name="alpha"))
        Server.objects.create(name="alpha", tenant=Tenant.objects.create(slug="t", name="T"))

    @pytest.mark.parametrize("name", ["", "-x", "a b", "a/b", "ä", "a\nb"])
    def test_a_server_name_has_a_form(self, name: str) -> None:
        refused(Server(name=name))

    def test_a_tool_is_unique_on_its_server(self) -> None:
        tool = make_tools(EVENT)["create_event"]
        refused(Tool(server=tool.server, name="create_event"))

    def test_a_tool_has_a_known_type_and_a_name(self) -> None:
        server = Server.objects.create(name="alpha")
        refused(Tool(server=server, name="x", type="gadget"))
        refused(Tool(server=server, name=""))

    def test_one_space_is_live(self) -> None:
        EmbeddingSpace.objects.create(model="a", fingerprint="1", dim=2, is_live=True)
        refused(EmbeddingSpace(model="b", fingerprint="1", dim=2, is_live=True))
        refused(EmbeddingSpace(model="c", fingerprint="1", dim=0))


@pytest.mark.django_db(transaction=True)
class TestIndex:
    def test_a_change_embeds_that_tool_alone(self, monkeypatch: pytest.MonkeyPatch) -> None:
        tools = make_tools(EVENT, Entry("read_file", "Read a file.", ()))
        index_refresh()
        before = {v.tool.name: (v.pk, v.key) for v in ToolVector.objects.select_related("tool")}
        parts = {e.tool_id: e.pk for e in ToolEmbedding.objects.all()}
        tools_upsert(tools["read_file"].server, (spec_of(EVENT), ToolSpec("tool", "read_file", "Read it.")))
        index_refresh()
        after = {v.tool.name: (v.pk, v.key) for v in ToolVector.objects.select_related("tool")}
        assert before["create_event"] == after["create_event"]
        assert before["read_file"] != after["read_file"]
        kept = ToolEmbedding.objects.get(tool=tools["create_event"]).pk
        assert kept == parts[tools["create_event"].pk]

    def test_known_requests_pull_a_tool_towards_them(self, api: Api) -> None:
        spec = ToolSpec("tool", "zorp", "Does zorp.")
        server, _ = server_upsert(ServerSpec("alpha", items=(spec,)))
        index_refresh()
        query = "arrange a get-together next week"
        before = api.tools(query, threshold=0)[0]["score"]
        tools_upsert(server, (ToolSpec("tool", "zorp", "Does zorp.", requests=("plan a get-together",)),))
        index_refresh()
        after = api.tools(query, threshold=0)[0]["score"]
        assert after > before + 0.1
        assert set(ToolEmbedding.objects.values_list("part", flat=True)) == {"text", "requests"}

    def test_a_tool_of_another_tenant_is_not_found(self, api: Api) -> None:
        tenant = Tenant.objects.create(slug="acme", name="Acme")
        make_skill("secret_skill", "Create a calendar event in secret.", tenant)
        make_tools(Entry("create_event", "Create a calendar event.", ("secret_skill",)), tenant=tenant)
        index_refresh()
        for strategy in ("hierarchical", "direct", "hybrid"):
            result = api.search("create a calendar event", strategy=strategy, tool_threshold=0, skill_threshold=0)
            assert names(result) == []
            assert result["matched_skills"] == []
        assert api.tools("create a calendar event", threshold=0, skill_ids="secret_skill") == []
        assert api.skills("create a calendar event", threshold=0) == []


class TestText:
    @pytest.mark.parametrize(
        ("name", "words"),
        [
            ("read_file", "read file"),
            ("readFile", "read File"),
            ("read-file", "read file"),
            ("HTTPServerURL", "HTTP Server URL"),
            ("list2items", "list2items"),
            ("getUser_byID-v2", "get User by ID v2"),
            ("a.b/c  d", "a b c d"),
            ("日程_create", "日程 create"),
            ("___", ""),
        ],
    )
    def test_names_are_split_into_words(self, name: str, words: str) -> None:
        assert split_name(name) == words

    def test_the_text_holds_server_name_description_and_parameters(self) -> None:
        schema = {"type": "object", "properties": {"startTime": {}, "end_time": {}}}
        text = tool_text("my-calendar", "createEvent", "Create\n an event.", parameter_names(schema))
        assert text == "my-calendar: create Event. Create an event. start Time end time"

    @pytest.mark.parametrize("schema", [None, [], "text", {"properties": None}, {"properties": []}, True])
    def test_odd_schemas_have_no_parameters(self, schema: Any) -> None:
        assert parameter_names(schema) == []

    @given(st.text(), st.dictionaries(st.text(), st.integers() | st.text()))
    def test_the_hash_changes_with_the_definition_alone(self, text: str, values: dict[str, Any]) -> None:
        spec = ToolSpec("tool", "x", text, input_schema=values)
        assert content_hash(spec) == content_hash(ToolSpec("tool", "x", text, input_schema=dict(values)))
        assert content_hash(spec) != content_hash(ToolSpec("tool", "x", text + "!", input_schema=values))
