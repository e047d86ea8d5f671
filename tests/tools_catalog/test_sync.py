"""One sync of one server, over real processes: what comes in, what is kept out, what stays when it fails."""

from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from skills.models import Assignment
from skills.services.curation import assignment_replace
from skills.types import SkillChoice
from tests.mcp_servers.made import RawServer, raw_server, tool
from tests.world import make_skill
from tools_catalog.models import Server, SyncRun, Tool, ToolEmbedding
from tools_catalog.selectors import tools_served
from tools_catalog.services.catalog import tool_set_active
from tools_catalog.services.reindex import index_refresh
from tools_catalog.services.sync import server_sync

pytestmark = pytest.mark.django_db(transaction=True)

ONE, TWO = tool("one", "The first tool."), tool("two", "The second tool.")


def sync(server: RawServer | Server) -> SyncRun:
    row = server.row if isinstance(server, RawServer) else server
    run = server_sync(row.pk, trigger="manual")
    assert run is not None
    return run


def served() -> list[str]:
    return sorted(tools_served().values_list("name", flat=True))


def reasons(run: SyncRun) -> dict[str, str]:
    return {row["name"]: row["reason"] for row in run.refusals}


class TestWhatComesIn:
    def test_tools_prompts_resources_and_templates(self, tmp_path: Path) -> None:
        server = raw_server(
            tmp_path,
            tools=[ONE],
            prompts=[{"name": "plan", "description": "Plans.", "arguments": [{"name": "day", "required": True}]}],
            resources=[{"name": "notes", "uri": "file:///notes", "mimeType": "text/plain"}],
            resourceTemplates=[{"name": "note", "uriTemplate": "note://{id}"}],
        )
        run = sync(server)
        assert (run.state, run.seen, run.created, run.refused) == ("done", 4, 4, 0)
        assert {(t.type, t.name, t.uri) for t in Tool.objects.all()} == {
            ("tool", "one", ""),
            ("prompt", "plan", ""),
            ("resource", "notes", "file:///notes"),
            ("resource", "note", "note://{id}"),
        }
        row = Server.objects.get()
        assert (row.title, row.description, row.protocol) == ("Raw server", "Use it well.", "2025-06-18")
        assert row.synced_at is not None
        assert run.finished_at is not None

    def test_every_page_of_a_long_list(self, tmp_path: Path) -> None:
        tools = [tool(f"tool_{i}") for i in range(25)]
        assert sync(raw_server(tmp_path, tools=tools, page_size=10)).created == 25

    def test_a_list_of_two_megabytes(self, tmp_path: Path) -> None:
        tools = [tool(f"tool_{i}", "x" * 20_000) for i in range(105)]
        assert sync(raw_server(tmp_path, tools=tools)).created == 105

    def test_lines_on_stdout_that_are_no_messages(self, tmp_path: Path) -> None:
        noisy = {"initialize": "garbage", "tools/list": "garbage"}
        assert sync(raw_server(tmp_path, tools=[ONE, TWO], on=noisy)).created == 2

    def test_a_server_that_announces_resources_and_knows_no_templates(self, tmp_path: Path) -> None:
        unknown = {"resources/templates/list": "unknown"}
        run = sync(raw_server(tmp_path, tools=[ONE], resources=[], on=unknown))
        assert (run.state, run.created) == ("done", 1)

    @pytest.mark.parametrize("behaviour", ["crash", "ignore", "hang"])
    def test_a_server_that_speaks_the_older_protocol_only(self, tmp_path: Path, behaviour: str) -> None:
        """Asked in the newer one it dies, says nothing, or hangs."""
        server = raw_server(tmp_path, tools=[ONE], timeout=8, on={"server/discover": behaviour})
        assert sync(server).state == "done"
        assert Server.objects.get().protocol == "2025-06-18"

    def test_include_and_exclude(self, tmp_path: Path) -> None:
        server = raw_server(tmp_path, tools=[tool("read_a"), tool("read_b"), tool("write_a")], prompts=[{"name": "p"}])
        Server.objects.update(include_tools=["read_*", "write_a"], exclude_tools=["*_b"])
        sync(server)
        assert served() == ["p", "read_a", "write_a"]


class TestWhatIsKeptOut:
    def test_bad_tools_are_refused_with_reasons_and_the_others_come_in(self, tmp_path: Path) -> None:
        bad: list[Any] = [
            {"name": "untyped", "inputSchema": {"properties": {}}},
            {"name": "schemaless"},
            tool("broken", inputSchema={"type": "object", "properties": {"a": {"type": "strin"}}}),
            tool("n" * 300),
            tool("one", "Another of the same name."),
            {"description": "nameless", "inputSchema": {"type": "object"}},
            "a text",
            tool("nul", "a\0b"),
            tool("huge", "x" * 1_100_000),
        ]
        run = sync(raw_server(tmp_path, tools=[ONE, *bad, TWO]))
        assert (run.state, run.seen, run.created, run.refused) == ("done", 11, 2, 9)
        assert served() == ["one", "two"]
        assert Tool.objects.get(name="one").description == "The first tool."
        why = reasons(run)
        assert why["untyped"] == "inputSchema.type: Field required"
        assert why["schemaless"] == "inputSchema: Field required"
        assert "properties.a.type is no valid JSON Schema" in why["broken"]
        assert "300 characters; at most 255" in why["n" * 255]
        assert "came before it in the same list" in why["one"]
        assert "NUL" in why["nul"]
        assert "at most 1,000,000" in why["huge"]

    def test_requests_that_are_no_texts(self, tmp_path: Path) -> None:
        odd: list[Any] = [5, "text", [["a"]], [{}], None, ["a\0b"]]
        tools = [tool(f"odd{i}", requests=requests) for i, requests in enumerate(odd)]
        run = sync(raw_server(tmp_path, tools=[ONE, *tools], title="A\0B"))
        assert (run.state, run.created, run.refused) == ("done", 1, len(odd))
        assert {why for name, why in reasons(run).items() if name != "odd5"} == {
            "requests: a list of texts is expected"
        }
        assert "NUL" in reasons(run)["odd5"]
        assert Server.objects.get().title == "AB"

    def test_a_name_of_100_characters_is_fine(self, tmp_path: Path) -> None:
        assert sync(raw_server(tmp_path, tools=[tool("n" * 100)])).created == 1

    def test_a_tool_that_becomes_invalid_is_no_longer_served(self, tmp_path: Path) -> None:
        server = raw_server(tmp_path, tools=[ONE, TWO])
        sync(server)
        server.define(tools=[ONE, {"name": "two", "inputSchema": {}}])
        run = sync(server)
        assert (run.missing, run.refused, served()) == (1, 1, ["one"])


class TestChanges:
    def test_an_unchanged_server_costs_no_write_and_no_embedding(self, tmp_path: Path) -> None:
        server = raw_server(tmp_path, tools=[ONE, TWO])
        sync(server)
        index_refresh()
        before = (versions("tools_catalog_tool"), versions("mcp_unified_search"), versions(EMBEDDINGS))
        run = sync(server)
        index_refresh()
        assert (run.created, run.changed, run.unchanged) == (0, 0, 2)
        assert (versions("tools_catalog_tool"), versions("mcp_unified_search"), versions(EMBEDDINGS)) == before

    def test_a_changed_tool_alone_is_embedded_again(self, tmp_path: Path) -> None:
        server = raw_server(tmp_path, tools=[ONE, TWO])
        sync(server)
        index_refresh()
        before = dict(ToolEmbedding.objects.values_list("tool__name", "pk"))
        server.define(tools=[ONE, tool("two", "Now it sends mail.")])
        run = sync(server)
        index_refresh()
        after = dict(ToolEmbedding.objects.values_list("tool__name", "pk"))
        assert (run.changed, run.unchanged) == (1, 1)
        assert after["one"] == before["one"]
        assert after["two"] != before["two"]

    def test_what_disappears_comes_back_with_its_human_assignments(self, tmp_path: Path) -> None:
        skill = make_skill("counting")
        server = raw_server(tmp_path, tools=[ONE, TWO])
        sync(server)
        two = Tool.objects.get(name="two")
        assignment_replace(two, [SkillChoice(skill.pk, 0.9)], source=Assignment.Source.HUMAN)
        index_refresh()
        server.define(tools=[ONE])
        assert sync(server).missing == 1
        two.refresh_from_db()
        assert two.missing_since is not None
        assert two.is_active
        assert served() == ["one"]
        assert not two.vectors.get().is_active
        server.define(tools=[ONE, TWO])
        assert sync(server).returned == 1
        assert served() == ["one", "two"]
        assert two.vectors.get().is_active
        assert two.assignments.get().source == "human"

    def test_what_a_curator_switched_off_stays_off(self, tmp_path: Path) -> None:
        server = raw_server(tmp_path, tools=[ONE, TWO])
        sync(server)
        tool_set_active(Tool.objects.get(name="two"), active=False)
        server.define(tools=[ONE])
        sync(server)
        server.define(tools=[ONE, tool("two", "Changed as well.")])
        assert sync(server).returned == 1
        assert served() == ["one"]

    def test_known_requests_survive_a_sync(self, tmp_path: Path) -> None:
        server = raw_server(tmp_path, tools=[ONE])
        sync(server)
        Tool.objects.update(requests=["count to one"])
        server.define(tools=[tool("one", "Another text.")])
        assert sync(server).changed == 1
        assert Tool.objects.get().requests == ["count to one"]


EMBEDDINGS = "tools_catalog_toolembedding"


def versions(table: str) -> list[Any]:
    """Changes with every write to a row, also with one that writes the same values."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT ctid, xmin::text FROM {table} ORDER BY 1")
        return list(cursor.fetchall())


class TestFailures:
    def test_what_nobody_foresaw_is_a_failure_too(self, tmp_path: Path) -> None:
        server = raw_server(tmp_path, tools=[ONE])
        with connection.cursor() as cursor:
            cursor.execute(
                "CREATE FUNCTION refuse() RETURNS trigger AS $$ BEGIN RAISE EXCEPTION 'odd: %', NEW.name; END $$"
                " LANGUAGE plpgsql; CREATE TRIGGER refuse BEFORE INSERT ON tools_catalog_tool FOR EACH ROW"
                " EXECUTE FUNCTION refuse()"
            )
        try:
            run = sync(server)
        finally:
            with connection.cursor() as cursor:
                cursor.execute("DROP FUNCTION refuse() CASCADE")
        row = Server.objects.get()
        assert (run.state, row.failures) == ("failed", 1)
        assert row.last_error == run.error == "It could not be taken in (ProgrammingError). The log says where."
        assert row.retry_at is not None

    @pytest.mark.parametrize(
        ("on", "error"),
        [
            ({"tools/list": "crash"}, "out of memory"),
            ({"tools/list": "hang"}, "did not answer within 2 seconds"),
            ({"initialize": "hang", "server/discover": "hang"}, "did not answer"),
            ({"tools/list": "error"}, "no access"),
            ({"tools/list": "endless"}, "does not end"),
        ],
    )
    def test_a_failing_server_keeps_its_tools_marked_stale(self, tmp_path: Path, on: Any, error: str) -> None:
        server = raw_server(tmp_path, tools=[ONE, TWO])
        sync(server)
        server.define(tools=[ONE], on=on)
        usual = Server.objects.get().timeout_seconds
        Server.objects.update(protocol="", timeout_seconds=2 if "hang" in on.values() else usual)
        run = sync(server)
        row = Server.objects.get()
        assert run.state == "failed"
        assert error in run.error
        assert (row.is_stale, row.last_error) == (True, run.error)
        assert row.failed_at is not None
        assert row.retry_at is not None
        assert served() == ["one", "two"]
        server.define(tools=[ONE])
        Server.objects.update(timeout_seconds=usual)
        assert sync(server).state == "done"
        mended = Server.objects.get()
        assert (mended.is_stale, mended.last_error, mended.retry_at) == (False, "", None)

    def test_a_program_that_is_not_there(self) -> None:
        row = Server.objects.create(name="gone", transport="stdio", command="no-such-program", source="admin")
        assert "no program or folder 'no-such-program'" in sync(row).error

    def test_an_address_where_nobody_is(self) -> None:
        row = Server.objects.create(name="away", transport="http", url="http://127.0.0.1:9/mcp", source="admin")
        assert "nobody answers at its address" in sync(row).error
