"""Calls through the gateway, over HTTP in and with real servers behind it."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import httpx2
import psutil
import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from tenants.models import Tenant
from tests.conftest import Api
from tests.processes import eventually
from tests.tools_catalog.gateway_world import add_server, children, http_test_program, test_server
from tools_catalog.models import Server, Tool, ToolCall
from tools_catalog.selectors import id_readings
from tools_catalog.services.catalog import server_upsert, tool_set_active, tools_upsert
from tools_catalog.services.gateway import pool, sessions_close
from tools_catalog.tasks import forget_old_calls
from tools_catalog.types import ServerSpec, ToolSpec

pytestmark = pytest.mark.usefixtures("transactional_db")


@pytest.fixture(scope="module", autouse=True)
def no_sessions_left() -> Iterator[None]:
    yield
    sessions_close()


@pytest.fixture
def no_sessions() -> Iterator[None]:
    sessions_close()
    yield
    sessions_close()


@pytest.fixture
def server(transactional_db: None) -> Server:
    """Always under the same id, so that the session of one test serves the next."""
    return test_server("made_up", pk=777_777)


def call(api: Api, tool_id: str, arguments: Any = None, expect: int = 200, **params: Any) -> Any:
    answer = api.http.post(f"/tools/{tool_id}", json=arguments if arguments is not None else {}, params=params)
    assert answer.status_code == expect, answer.text
    return answer.json()


def refused(api: Api, tool_id: str, arguments: Any = None, *, expect: int) -> Any:
    return call(api, tool_id, arguments, expect)["error"]


def last_call() -> ToolCall:
    found = ToolCall.objects.first()
    assert found is not None
    return found


class TestAnswers:
    def test_a_call_returns_content_and_structured_content(self, api: Api, server: Server) -> None:
        answer = call(api, "made_up__echo", {"text": "hi ", "times": 2, "note": None})
        assert answer["isError"] is False
        assert answer["structuredContent"]["text"] == "hi hi "
        assert answer["structuredContent"]["note"] is None
        assert '"hi hi "' in answer["content"][0]["text"]

    def test_every_kind_of_content_comes_through(self, api: Api, server: Server) -> None:
        answer = call(api, "made_up__everything")
        assert [part["type"] for part in answer["content"]] == ["text", "image", "audio", "resource", "resource_link"]
        assert answer["content"][0]["text"] == "ünï ☃"
        assert answer["content"][1]["data"] == "AAE="
        assert answer["content"][1]["mimeType"] == "image/png"
        assert answer["content"][3]["resource"]["text"] == "inside"
        assert answer["structuredContent"] == {"kept": None, "list": [1, None]}
        assert answer["_meta"] == {"trace": "7"}

    def test_an_error_of_the_tool_is_an_answer(self, api: Api, server: Server) -> None:
        answer = call(api, "made_up__fail")
        assert answer["isError"] is True
        assert "the printer is on fire" in answer["content"][0]["text"]
        assert last_call().outcome == "tool_error"

    def test_a_tool_without_arguments_needs_no_body(self, api: Api, server: Server) -> None:
        assert api.http.post("/tools/made_up__odd%2Fna__me.x").json()["content"][0]["text"] == "odd"

    def test_calls_share_one_session(self, api: Api, server: Server) -> None:
        first = call(api, "made_up__echo", {"text": "a"})["structuredContent"]["pid"]
        assert call(api, "made_up__echo", {"text": "b"})["structuredContent"]["pid"] == first
        assert len(children(server)) == 1


class TestRefusals:
    @pytest.mark.parametrize(
        ("arguments", "path"),
        [({}, "text"), ({"text": 5}, "text"), ({"text": "x", "times": "two"}, "times"), ([1], "arguments")],
    )
    def test_bad_arguments_are_named(self, api: Api, server: Server, arguments: Any, path: str) -> None:
        error = refused(api, "made_up__echo", arguments, expect=422)
        assert error["code"] == "VALIDATION_ERROR"
        assert list(error["details"]["fields"]) == [path]
        assert path in error["message"]
        assert last_call().outcome == "refused"

    def test_a_body_that_is_no_json_is_a_400(self, api: Api, server: Server) -> None:
        headers = {"Content-Type": "application/json"}
        assert api.http.post("/tools/made_up__echo", content="{", headers=headers).status_code == 400
        assert api.http.post("/tools/made_up__echo", content="a=1").status_code == 415

    def test_only_what_is_served_can_be_called(self, api: Api, server: Server) -> None:
        assert refused(api, "made_up__nothing", expect=404)["code"] == "NOT_FOUND"
        assert refused(api, "nothing", expect=404)["code"] == "NOT_FOUND"
        assert refused(api, "made_up__%00", expect=404)["code"] == "NOT_FOUND"
        assert (last_call().outcome, last_call().target) == ("refused", "made_up__")
        tool_set_active(Tool.objects.get(name="echo"), active=False)
        assert refused(api, "made_up__echo", {"text": "x"}, expect=404)["code"] == "NOT_FOUND"
        assert refused(api, "made_up__greet", {"name": "x"}, expect=404)["code"] == "NOT_FOUND"  # a prompt

    def test_a_server_without_a_connection_is_said(self, api: Api) -> None:
        server_upsert(ServerSpec("paper", items=(ToolSpec("tool", "fold"),)))
        assert "no connection" in refused(api, "paper__fold", expect=409)["message"]

    def test_a_tool_of_another_tenant_does_not_exist(self, api: Api, server: Server) -> None:
        Server.objects.filter(pk=server.pk).update(tenant=Tenant.objects.create(name="Other", slug="other"))
        refused(api, "made_up__echo", {"text": "x"}, expect=404)

    def test_unknown_parameters_are_refused(self, api: Api, server: Server) -> None:
        assert "confirm" in call(api, "made_up__echo", {"text": "x"}, 422, confrim="true")["detail"]


class TestNames:
    def test_an_id_that_can_be_read_in_two_ways_asks_which(self, api: Api, server: Server) -> None:
        connection = {"transport": "stdio", "command": server.command, "args": server.args}
        one = Server.objects.create(name="odd", **connection)
        two = Server.objects.create(name="odd__odd", **connection)
        tools_upsert(one, (ToolSpec("tool", "odd__echo"),))
        tools_upsert(two, (ToolSpec("tool", "echo"),))
        error = refused(api, "odd__odd__echo", {"text": "x"}, expect=409)
        assert error["details"]["candidates"] == ["odd / odd__echo", "odd__odd / echo"]
        answer = call(api, "odd__odd__echo", {"text": "x"}, server="odd__odd")
        assert answer["structuredContent"]["text"] == "x"

    def test_ids_that_no_item_can_have_are_not_looked_up(self, api: Api, server: Server) -> None:
        assert id_readings("a__b__c") == [("a", "b__c"), ("a__b", "c")]
        assert id_readings("s" * 128 + "__" + "t" * 255) == [("s" * 128, "t" * 255)]
        for item_id in ("s" * 129 + "__t", "s__" + "t" * 256, "_" * 5000, "a__b\0"):
            assert id_readings(item_id) == []
        assert len(id_readings("_" * 385)) == 1
        assert len(id_readings("_" * 250)) == 128
        assert refused(api, "_" * 250, {}, expect=404)["code"] == "NOT_FOUND"

    def test_too_many_readings_are_refused(self, api: Api, server: Server) -> None:
        many = ",".join(["_" * 250] * 20)
        answer = api.http.get("/runtime/tools.ts", params={"filter": many})
        assert answer.status_code == 422
        assert "too many ways" in answer.text


class TestConfirmation:
    def test_without_the_setting_nothing_is_asked(self, api: Api, server: Server) -> None:
        assert call(api, "made_up__erase", {"what": "all"})["content"][0]["text"] == "all is gone"

    def test_a_destructive_tool_wants_a_confirmation(self, api: Api, server: Server, settings: Settings) -> None:
        settings.CONFIRM_DESTRUCTIVE = True
        error = refused(api, "made_up__erase", {"what": "all"}, expect=409)
        assert error["code"] == "CONFLICT"
        assert "confirm=true" in error["message"]
        assert last_call().outcome == "refused"
        call(api, "made_up__erase", {"what": "all"}, confirm="true")
        headers = {"X-Toolscript-Confirm": "true"}
        assert api.http.post("/tools/made_up__erase", json={"what": "all"}, headers=headers).status_code == 200
        wrong = {"X-Toolscript-Confirm": "maybe"}
        assert api.http.post("/tools/made_up__erase", json={"what": "all"}, headers=wrong).status_code == 422
        call(api, "made_up__echo", {"text": "x"})


class TestFailures:
    def test_a_crash_is_a_502_and_the_next_call_works(self, api: Api, server: Server) -> None:
        answer = api.http.post("/tools/made_up__crash", json={})
        assert answer.status_code == 502
        assert answer.json()["error"]["code"] == "UPSTREAM_ERROR"
        assert answer.headers["Retry-After"] == "1"
        assert "secret-of-stderr" not in answer.text
        assert last_call().outcome == "failed"
        assert last_call().error_code == "UPSTREAM_ERROR"
        assert call(api, "made_up__echo", {"text": "again"})["structuredContent"]["text"] == "again"

    def test_a_server_that_was_killed_between_calls_is_not_noticed_by_callers(self, api: Api, server: Server) -> None:
        first = call(api, "made_up__echo", {"text": "a"})["structuredContent"]["pid"]
        session = pool().sessions[server.pk]
        psutil.Process(first).kill()
        assert eventually(lambda: session.is_over)
        assert call(api, "made_up__echo", {"text": "a"})["structuredContent"]["pid"] != first

    def test_no_answer_in_time_is_a_504(self, api: Api, server: Server, settings: Settings) -> None:
        call(api, "made_up__echo", {"text": "warm"})
        settings.GATEWAY_TIMEOUT = 0.3
        error = refused(api, "made_up__wait", {"seconds": 30}, expect=504)
        assert error["code"] == "UPSTREAM_ERROR"
        assert last_call().outcome == "timed_out"
        settings.GATEWAY_TIMEOUT = 20
        assert call(api, "made_up__echo", {"text": "b"})["structuredContent"]["text"] == "b"

    def test_a_program_that_is_not_there_is_a_502_without_its_path(self, api: Api, server: Server) -> None:
        Server.objects.filter(pk=server.pk).update(command="/nowhere/secret-tool")
        error = refused(api, "made_up__echo", {"text": "x"}, expect=502)
        assert "made_up" in error["message"]

    def test_a_reference_that_is_not_set_is_a_502_that_does_not_tell(self, api: Api, server: Server) -> None:
        Server.objects.filter(pk=server.pk).update(args=["${NO_SUCH_VARIABLE}"])
        error = refused(api, "made_up__echo", {"text": "x"}, expect=502)
        assert "NO_SUCH_VARIABLE" not in str(error)

    def test_an_http_server_that_was_restarted_is_reached_again(self, api: Api, transactional_db: None) -> None:
        with http_test_program() as program:
            add_server("web", transport="http", url=program.url)
            assert call(api, "web__echo", {"text": "a"})["structuredContent"]["text"] == "a"
            program.kill()
            assert refused(api, "web__echo", {"text": "b"}, expect=502)["code"] == "UPSTREAM_ERROR"
            program.start()
            assert call(api, "web__echo", {"text": "c"})["structuredContent"]["text"] == "c"
            program.kill()
            program.start()
            assert call(api, "web__echo", {"text": "d"})["structuredContent"]["text"] == "d"


@pytest.mark.usefixtures("no_sessions")
class TestThePool:
    def test_it_is_bounded_and_the_least_used_goes(self, api: Api, server: Server, settings: Settings) -> None:
        settings.GATEWAY_SESSIONS = 1
        other = test_server("second")
        call(api, "made_up__echo", {"text": "x"})
        call(api, "second__echo", {"text": "x"})
        assert eventually(lambda: len(children(server)) == 1)
        assert set(pool().sessions) == {other.pk}

    def test_idle_sessions_are_closed(self, api: Api, server: Server, settings: Settings) -> None:
        settings.GATEWAY_IDLE = 0.3
        call(api, "made_up__echo", {"text": "x"})
        assert eventually(lambda: not children(server) and not pool().sessions)

    def test_a_changed_connection_gets_a_new_session(self, api: Api, server: Server) -> None:
        first = call(api, "made_up__echo", {"text": "x"})["structuredContent"]["pid"]
        Server.objects.filter(pk=server.pk).update(env={"ANYTHING": "1"})
        assert call(api, "made_up__echo", {"text": "x"})["structuredContent"]["pid"] != first
        assert eventually(lambda: len(children(server)) == 1)


class TestTheRecord:
    def test_who_what_when_and_how_it_went(self, api: Api, server: Server) -> None:
        api.http.post("/tools/made_up__echo", json={"text": "private"}, headers={"X-Request-ID": "abc-1"})
        row = last_call()
        assert (row.caller, row.target, row.request_id) == ("key:tests", "made_up__echo", "abc-1")
        assert (row.tool, row.outcome, row.error_code) == (Tool.objects.get(name="echo"), "ok", "")
        assert row.duration_ms is not None
        assert row.arguments is None

    def test_arguments_only_where_the_setting_allows(self, api: Api, server: Server, settings: Settings) -> None:
        settings.CALL_LOG_ARGUMENTS = True
        call(api, "made_up__echo", {"text": "public"})
        assert last_call().arguments == {"text": "public"}

    def test_what_was_refused_is_recorded_too(self, api: Api, server: Server) -> None:
        refused(api, "made_up__echo", {}, expect=422)
        assert (last_call().outcome, last_call().error_code) == ("refused", "VALIDATION_ERROR")
        refused(api, "not__there", {}, expect=404)
        assert (last_call().target, last_call().tool, last_call().error_code) == ("not__there", None, "NOT_FOUND")

    def test_old_calls_are_forgotten(self, settings: Settings) -> None:
        settings.CALL_LOG_DAYS = 30
        for days in (0, 29, 31, 400):
            ToolCall.objects.create(caller="x", target=str(days), started_at=timezone.now() - timedelta(days=days))
        forget_old_calls()
        assert set(ToolCall.objects.values_list("target", flat=True)) == {"0", "29"}

    def test_the_admin_shows_calls_and_changes_none(self, api: Api, server: Server) -> None:
        refused(api, "made_up__echo", {}, expect=422)
        client = Client()
        client.force_login(get_user_model().objects.create_superuser("ada"))
        address = "/admin/tools_catalog/toolcall/"
        page = client.get(address, {"tool__id__exact": Tool.objects.get(name="echo").pk}).content.decode()
        assert "made_up__echo" in page
        assert "refused, not sent" in page
        assert "not kept" in client.get(f"{address}{last_call().pk}/change/").content.decode()
        assert client.post(f"{address}{last_call().pk}/change/", {"caller": "eve"}).status_code == 403
        assert client.post(f"{address}{last_call().pk}/delete/").status_code == 403


class TestLists:
    def test_tools_are_filtered_by_server_and_id(self, api: Api, server: Server) -> None:
        server_upsert(ServerSpec("other", items=(ToolSpec("tool", "one"), ToolSpec("tool", "two"))))
        answer = api.http.get("/tools", params={"filter": "made_up__echo,other"})
        assert [tool["id"] for tool in answer.json()] == ["made_up__echo", "other__one", "other__two"]
        assert [tool["callable"] for tool in answer.json()] == [True, False, False]
        assert "input_schema" not in answer.json()[0]
        assert api.http.get("/tools", params={"filter": "nothing"}).json() == []
        assert len(api.http.get("/tools").json()) == 10

    def test_pages_and_schemas(self, api: Api, server: Server) -> None:
        answer = api.http.get("/tools", params={"limit": 2, "offset": 1, "include_schemas": "true"})
        assert [tool["name"] for tool in answer.json()] == ["echo", "erase"]
        assert answer.headers["X-Total-Count"] == "8"
        assert answer.json()[0]["input_schema"]["required"] == ["text"]
        assert [p["name"] for p in api.http.get("/tools", params={"item_type": "prompt"}).json()] == ["greet"]
        assert api.http.get("/tools", params={"limit": 0}).status_code == 422

    def test_servers_show_counts_and_nothing_of_their_connection(self, api: Api, server: Server) -> None:
        Server.objects.filter(pk=server.pk).update(env={"TOKEN": "${SECRET_TOKEN}"})
        answer: httpx2.Response = api.http.get("/servers")
        [body] = answer.json()
        assert (body["name"], body["tools"], body["prompts"], body["resources"]) == ("made_up", 8, 1, 2)
        assert (body["transport"], body["callable"], body["stale"]) == ("stdio", True, False)
        assert "SECRET_TOKEN" not in answer.text
        assert server.command not in answer.text
        Server.objects.filter(pk=server.pk).update(is_active=False)
        assert api.http.get("/servers").json() == []
