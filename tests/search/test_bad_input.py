"""Whatever is wrong with a request, the answer is a 4xx in the one error format, and the next search works."""

import json
import os
from collections.abc import Iterator
from io import BytesIO
from typing import Any
from urllib.parse import urlencode

import httpx2
import pytest
from django.test import Client
from pytest_django.live_server_helper import LiveServer

from search.serializers import SearchInput, SkillSearchInput, ToolSearchInput
from tests.conftest import Api
from tools_catalog.models import Tool

SEARCH, SKILLS, TOOLS = "/api/v1/search", "/api/v1/search/skills", "/api/v1/search/tools"
JSON = {"Content-Type": "application/json"}
CODES = {404: "NOT_FOUND", 422: "VALIDATION_ERROR"}
GOOD = {"query": "schedule a meeting"}

BLANK = ["", " ", "\t\r\n", "\u00a0\u2003\u3000\u2028\u0085"]
BAD_INTEGERS: list[Any] = [None, "5", "", "x", True, False, [], [5], {}, 5.5, 1e300, 10**18, -(10**18)]
BAD_FLOATS: list[Any] = [None, "0.5", "", "x", True, False, [], [0.5], {}, -0.0001, 1.0001, -1, 2, 1e300]
BAD_FIELDS: dict[str, list[Any]] = {
    "query": [None, 5, 1.5, True, [], ["meeting"], {}, {"text": "meeting"}, *BLANK, "x" * 1001, "a\0b", "\0"],
    "item_type": ["", " ", "server", "Tool", "tool ", "tool,prompt", 1, True, [], ["tool"], {}, "tool\0"],
    "limit": [*BAD_INTEGERS, 0, -1, 51],
    "skill_limit": [*BAD_INTEGERS, 0, -1, 11],
    "skill_threshold": BAD_FLOATS,
    "tool_threshold": BAD_FLOATS,
    "include_schemas": [None, 0, 1, "true", "", "yes", [], {}],
    "explain": [None, 0, 1, "true", "", "yes", [], {}],
    "strategy": [None, "", "Direct", "semantic", "direct ", 1, True, [], ["direct"], {}, "direct\0"],
}

NOT_WHOLE = [
    "",
    " ",
    "x",
    "1.5",
    "1e1",
    "true",
    "null",
    "nan",
    "inf",
    "0x5",
    "5,5",
    "[5]",
    "9" * 400,
    "9" * 5000,
    "5\0",
]
NOT_A_SHARE = ["", " ", "x", "true", "null", "nan", "NaN", "inf", "-inf", "infinity", "1e999", "-1e999", "0,5", "0.5\0"]
OUT_OF_SHARE = ["-0.0001", "1.0001", "-1", "2", "9" * 400]
BAD_QUERIES = [*BLANK, "x" * 1001, "a\0b"]
BAD_PARAMETERS: dict[str, dict[str, list[str]]] = {
    SKILLS: {
        "query": BAD_QUERIES,
        "limit": [*NOT_WHOLE, "0", "-1", "21"],
        "threshold": [*NOT_A_SHARE, *OUT_OF_SHARE],
    },
    TOOLS: {
        "query": BAD_QUERIES,
        "skill_ids": ["x" * 2001, "weather\0"],
        "item_type": ["", " ", "server", "Tool", "null", "tool,prompt", "tool\0"],
        "limit": [*NOT_WHOLE, "0", "-1", "101"],
        "threshold": [*NOT_A_SHARE, *OUT_OF_SHARE],
    },
}

NOT_JSON: dict[str, bytes] = {
    "truncated": b'{"query": "schedule a mee',
    "no quotes": b"{query: 'meeting'}",
    "trailing comma": b'{"query": "meeting",}',
    "two documents": b'{"query": "meeting"}{"query": "meeting"}',
    "a comment": b'{"query": "meeting"} // please',
    "blank": b" \n ",
    "a form": b"query=meeting",
    "NaN": b'{"query": "meeting", "tool_threshold": NaN}',
    "Infinity": b'{"query": "meeting", "tool_threshold": Infinity}',
    "minus Infinity": b'{"query": "meeting", "limit": -Infinity}',
    "100,000 lists": b'{"query": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "100,000 objects": b'{"query": ' + b'{"a":' * 100_000 + b"1" + b"}" * 100_000 + b"}",
    "100,000 open brackets": b"[" * 100_000,
    "bad UTF-8": b'{"query": "caf\xe9"}',
    "overlong UTF-8": b'{"query": "\xc0\xaf"}',
    "a surrogate in UTF-8": b'{"query": "\xed\xa0\x80"}',
    "a lone surrogate": b'{"query": "\\ud800"}',
    "swapped surrogates": b'{"query": "\\udc00\\ud800"}',
    "a bare control character": b'{"query": "a\x00b"}',
    "UTF-16": json.dumps(GOOD).encode("utf-16"),
    "UTF-16 without a mark": json.dumps(GOOD).encode("utf-16-le"),
    "UTF-32": json.dumps(GOOD).encode("utf-32"),
    "random bytes": bytes(range(256)),
}


@pytest.fixture(scope="module")
def http() -> Iterator[httpx2.Client]:
    """A server with no database behind it: what is refused here was refused before anything was asked."""
    server = LiveServer("localhost")
    with httpx2.Client(base_url=server.url, timeout=30) as client:
        yield client
    server.stop()


def refused(response: Any, status: int, *mentions: str) -> dict[str, Any]:
    assert response.status_code == status, response.text[:2000]
    assert response.headers["Content-Type"] == "application/json"
    assert response.headers["X-Request-ID"]
    body: dict[str, Any] = response.json()
    assert set(body) == {"error", "detail"}
    error: dict[str, Any] = body["error"]
    assert set(error) == {"code", "message", "details"}
    assert error["code"] == CODES.get(status, "BAD_REQUEST")
    assert error["message"] == body["detail"] != ""
    assert isinstance(error["details"], dict)
    for mention in mentions:
        assert mention in error["message"]
    assert "Traceback" not in response.text
    assert 'File "' not in response.text
    return error


def post(http: httpx2.Client, **fields: Any) -> httpx2.Response:
    return http.post(SEARCH, content=json.dumps(fields).encode(), headers=JSON)


def short(value: Any) -> str:
    return ascii(value)[:24]


class TestFieldsOfTheBody:
    @pytest.mark.parametrize(
        ("field", "value"), [(f, v) for f, values in BAD_FIELDS.items() for v in values], ids=short
    )
    def test_a_bad_value_is_named(self, http: httpx2.Client, field: str, value: Any) -> None:
        error = refused(post(http, **{**GOOD, field: value}), 422, f"{field}: ")
        assert list(error["details"]["fields"]) == [field]

    def test_every_field_is_covered(self) -> None:
        assert set(BAD_FIELDS) == set(SearchInput().fields)

    def test_all_bad_fields_are_named_at_once(self, http: httpx2.Client) -> None:
        error = refused(post(http, query="", limit=0, strategy="x", tool_threshold=2), 422, "query: ")
        assert set(error["details"]["fields"]) == {"query", "limit", "strategy", "tool_threshold"}

    def test_the_query_must_be_there(self, http: httpx2.Client) -> None:
        assert refused(post(http), 422, "query: ")["details"]["fields"] == {"query": ["This field is required."]}
        refused(post(http, limit=5), 422, "query: ")

    @pytest.mark.parametrize(
        ("wrong", "right"),
        [("querry", "query"), ("skill_treshold", "skill_threshold"), ("Limit", "limit"), ("itemType", "item_type")],
    )
    def test_an_unknown_field_is_told_its_closest_known_one(self, http: httpx2.Client, wrong: str, right: str) -> None:
        error = refused(post(http, **GOOD, **{wrong: 1}), 422, f"{wrong}: ", f"Did you mean {right}?")
        assert list(error["details"]["fields"]) == [wrong]

    @pytest.mark.parametrize("name", ["", "zzzzzz", "\0", "\U0001f32a", "x" * 100_000])
    def test_a_field_like_no_other_is_told_all_known_ones(self, http: httpx2.Client, name: str) -> None:
        error = refused(post(http, **GOOD, **{name: 1}), 422, *BAD_FIELDS)
        assert len(error["message"]) < 400

    @pytest.mark.parametrize("number", ["1" + "0" * 400, "-1" + "0" * 400, "1e999", "-1e999"])
    @pytest.mark.parametrize("field", ["limit", "skill_limit", "skill_threshold", "tool_threshold", "query"])
    def test_a_number_beyond_all_numbers_is_refused(self, http: httpx2.Client, field: str, number: str) -> None:
        body = f'{{"item_type": "tool", "query": "meeting", "{field}": {number}}}'
        response = http.post(SEARCH, content=body.encode(), headers=JSON)
        assert response.status_code in (400, 422)
        refused(response, response.status_code)

    def test_of_a_repeated_field_the_last_counts(self, http: httpx2.Client) -> None:
        for body in (b'{"query": "meeting", "query": ""}', b'{"query": "meeting", "limit": 5, "limit": 99}'):
            refused(http.post(SEARCH, content=body, headers=JSON), 422)


class TestTheBody:
    @pytest.mark.parametrize("body", NOT_JSON.values(), ids=NOT_JSON)
    def test_what_is_not_json_cannot_be_read(self, http: httpx2.Client, body: bytes) -> None:
        refused(http.post(SEARCH, content=body, headers=JSON), 400)

    @pytest.mark.parametrize("content_type", ["application/json", "text/plain", None])
    def test_nothing_at_all_cannot_be_read(self, http: httpx2.Client, content_type: str | None) -> None:
        headers = {"Content-Type": content_type} if content_type else {}
        response = http.post(SEARCH, content=b"", headers=headers)
        assert response.status_code in ((400,) if content_type == "application/json" else (400, 415)), response.text
        refused(response, response.status_code)

    @pytest.mark.parametrize("body", ["[]", '[{"query": "meeting"}]', '"meeting"', "5", "1.5", "true", "null"])
    def test_json_that_is_no_object_breaks_a_rule(self, http: httpx2.Client, body: str) -> None:
        error = refused(http.post(SEARCH, content=body.encode(), headers=JSON), 422, "body: ")
        assert list(error["details"]["fields"]) == ["body"]

    @pytest.mark.parametrize(
        "content_type",
        ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/xml", "x"],
    )
    def test_another_content_type_is_not_read(self, http: httpx2.Client, content_type: str) -> None:
        body = json.dumps(GOOD).encode()
        refused(http.post(SEARCH, content=body, headers={"Content-Type": content_type}), 415)

    def test_ten_megabytes_are_too_many(self, http: httpx2.Client) -> None:
        error = refused(http.post(SEARCH, content=b'{"query": "' + b"x" * 10_000_000, headers=JSON), 413)
        assert error["details"]["limit_bytes"] == 1_048_576

    def test_one_byte_too_many_is_too_many(self, http: httpx2.Client) -> None:
        body = json.dumps(GOOD).encode()
        full = body + b" " * (1_048_576 - len(body))
        refused(http.post(SEARCH, content=full[:-1] + b"}", headers=JSON), 400)
        refused(http.post(SEARCH, content=full + b" ", headers=JSON), 413)

    def test_a_body_in_pieces_is_read_where_the_server_can(self) -> None:
        """Granian hands such a body over whole: no length, and an end that can be relied on."""

        def send(body: bytes) -> Any:
            how = {"HTTP_TRANSFER_ENCODING": "chunked", "wsgi.input_terminated": True, "wsgi.input": BytesIO(body)}
            environ: dict[str, Any] = {"CONTENT_TYPE": "application/json", **how}
            return Client().generic("POST", SEARCH, **environ)

        refused(send(b'{"query": "meeting", "limit": 99}'), 422, "limit: ")
        refused(send(b'{"query": "meet'), 400)
        refused(send(b'{"query": "' + b"x" * 10_000_000), 413)


class TestParameters:
    @pytest.mark.parametrize(
        ("path", "name", "value"),
        [(p, n, v) for p, names in BAD_PARAMETERS.items() for n, values in names.items() for v in values],
        ids=short,
    )
    def test_a_bad_value_is_named(self, http: httpx2.Client, path: str, name: str, value: str) -> None:
        error = refused(http.get(path, params={**GOOD, name: value}), 422, f"{name}: ")
        assert list(error["details"]["fields"]) == [name]

    def test_every_parameter_is_covered(self) -> None:
        assert set(BAD_PARAMETERS[SKILLS]) == set(SkillSearchInput().fields)
        assert set(BAD_PARAMETERS[TOOLS]) == set(ToolSearchInput().fields)

    @pytest.mark.parametrize("path", [SKILLS, TOOLS])
    @pytest.mark.parametrize("name", ["limit", "threshold"])
    @pytest.mark.parametrize("value", ["1_0", "0_1", "\u0661", "\uff11"])
    def test_only_plain_digits_are_numbers(self, http: httpx2.Client, path: str, name: str, value: str) -> None:
        refused(http.get(path, params={**GOOD, name: value}), 422, f"{name}: ")

    @pytest.mark.parametrize("path", [SKILLS, TOOLS])
    def test_the_query_must_be_there(self, http: httpx2.Client, path: str) -> None:
        assert refused(http.get(path), 422)["details"]["fields"] == {"query": ["This field is required."]}
        refused(http.get(path, params={"limit": 5}), 422, "query: ")

    @pytest.mark.parametrize(
        ("path", "wrong", "right"),
        [(SKILLS, "q_uery", "query"), (SKILLS, "treshold", "threshold"), (TOOLS, "skill_id", "skill_ids")],
    )
    def test_an_unknown_one_is_told_its_closest_known_one(
        self, http: httpx2.Client, path: str, wrong: str, right: str
    ) -> None:
        refused(http.get(path, params={**GOOD, wrong: "x"}), 422, f"{wrong}: ", f"Did you mean {right}?")

    @pytest.mark.parametrize("path", [SKILLS, TOOLS])
    @pytest.mark.parametrize("value", ["json", "xml", "api"])
    def test_the_format_is_no_exception(self, http: httpx2.Client, path: str, value: str) -> None:
        refused(http.get(path, params={**GOOD, "format": value}), 422, "format: ")

    @pytest.mark.parametrize("path", [SKILLS, TOOLS])
    def test_of_a_repeated_one_the_last_counts(self, http: httpx2.Client, path: str) -> None:
        refused(http.get(f"{path}?query=meeting&query="), 422, "query: ")

    @pytest.mark.parametrize("path", [SKILLS, TOOLS])
    def test_five_thousand_are_too_many(self, http: httpx2.Client, path: str) -> None:
        refused(http.get(path + "?query=meeting" + "&a=1" * 5000), 400)


class TestAddresses:
    @pytest.mark.parametrize("path", [SEARCH, SKILLS, TOOLS])
    @pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW"])
    def test_another_method_is_told_the_right_one(self, http: httpx2.Client, path: str, method: str) -> None:
        right = "POST" if path == SEARCH else "GET"
        if method == right:
            return
        response = http.request(method, path, params=None if path == SEARCH else GOOD)
        refused(response, 405)
        allowed = response.headers["Allow"].split(", ")
        assert right in allowed
        assert method not in allowed

    def test_a_search_has_no_head(self, http: httpx2.Client) -> None:
        assert http.head(SEARCH).status_code == 405

    @pytest.mark.parametrize(
        "path",
        [
            *("/nothing", "/api", "/api/v1", "/api/v1/search/nothing", "/API/V1/SEARCH", "/api/v2/search", "/.env"),
            *("/api/v1/search;x", "/api/v1/search%00", "/%ff%fe", "/..%2f..%2fetc%2fpasswd", "/" + "x" * 5000),
            *("/static/nothing.css", "/static/..%2fmanage.py", "/static/%00", "/manage.py", "/static/" + "x" * 5000),
        ],
        ids=short,
    )
    def test_an_unknown_path_is_not_found(self, path: str) -> None:
        """Not over the server of the tests: that one has handlers of its own for files."""
        refused(Client().get(path), 404)
        refused(Client().post(path, GOOD, "application/json"), 404)

    @pytest.mark.parametrize(
        "path", [SEARCH, SKILLS, TOOLS, "/health", "/ready", "/metrics", "/api/schema", "/api/docs"]
    )
    def test_a_trailing_slash_is_not_found(self, http: httpx2.Client, path: str) -> None:
        refused(http.get(path + "/"), 404)
        refused(http.post(path + "/", json=GOOD), 404)


@pytest.mark.usefixtures("world")
class TestTheEdges:
    def test_the_exact_bounds_are_accepted(self, api: Api) -> None:
        accepted: dict[str, tuple[Any, ...]] = {
            "limit": (1, 50, 5.0),
            "skill_limit": (1, 10, 3.0),
            "skill_threshold": (0, 1, 0.0, 1.0, -0.0, 5e-324),
            "tool_threshold": (0, 1, 0.0, 1.0, -0.0, 5e-324),
            "item_type": (None, "tool", "prompt", "resource"),
            "include_schemas": (True, False),
            "strategy": ("hierarchical", "direct", "hybrid"),
        }
        for field, bounds in accepted.items():
            for value in bounds:
                api.search(**{field: value})
        for limit, threshold in (("1", "0"), ("20", "1"), ("5.0", "0.0"), ("20", "1.0"), ("1", "1e-300")):
            api.skills(limit=limit, threshold=threshold)
            api.tools(limit=limit, threshold=threshold)
        api.tools(limit=100)

    @pytest.mark.parametrize("pad", ["", " \n", "\u2003\u3000"], ids=ascii)
    def test_a_thousand_characters_are_fine_after_trimming(self, api: Api, pad: str) -> None:
        query = "m" * 999 + "\U0001f32a"
        assert api.search(pad + query + pad)["query"] == query
        api.skills(pad + query + pad)
        api.tools(pad + query + pad)

    def test_odd_text_is_only_text(self, api: Api) -> None:
        for query in (
            *("'; DROP TABLE mcp_skills; --", "<script>alert(1)</script>", "%s %(query)s {0} {query}", "\\x00 \\u0000"),
            *("\ufeff", "\u200b", "\ufffd", "\uffff", "\U0010ffff", "e\u0301" * 400, "\u202egnol", "\x01\x1b[31m", "a"),
        ):
            assert api.search(query)["query"] == query
            api.skills(query)
            api.tools(query)

    def test_broken_text_in_an_address_does_no_harm(self, api: Api) -> None:
        for query in ("%ff", "%ed%a0%80", "%c0%af", "%", "%zz", "%u0041", "caf%e9"):
            for path in (SKILLS, TOOLS):
                assert api.http.get(f"{path}?query={query}").status_code in (200, 422)

    def test_skills_that_do_not_exist_match_nothing(self, api: Api) -> None:
        for skill_ids in (
            "nothing",
            "x" * 2000,
            "CALENDAR_MANAGEMENT",
            "{},()",
            "\U0001f32a",
            "%",
            "null",
            '"weather"',
        ):
            assert api.tools(skill_ids=skill_ids, threshold=0) == []

    def test_of_a_repeated_field_the_last_counts(self, api: Api) -> None:
        body = b'{"query": 5, "limit": 99, "query": "meeting", "limit": 1}'
        response = api.http.post(SEARCH, content=body, headers=JSON)
        assert response.status_code == 200
        assert response.json()["query"] == "meeting"
        assert len(response.json()["tools"]) == 1

    def test_nothing_bad_changes_anything(self, api: Api) -> None:
        def answer() -> Any:
            result = api.search(limit=50, tool_threshold=0)
            return result["tools"], result["matched_skills"]

        before, rows = answer(), list(Tool.objects.order_by("id").values())
        for field, values in BAD_FIELDS.items():
            for value in values[:4]:
                assert post(api.http, **{**GOOD, field: value}).status_code == 422
        for body in NOT_JSON.values():
            assert api.http.post(SEARCH, content=body, headers=JSON).status_code == 400
        for path, names in BAD_PARAMETERS.items():
            for name, texts in names.items():
                assert api.http.get(f"{path}?{urlencode({**GOOD, name: texts[0]})}").status_code == 422
        for _ in range(20):
            assert api.http.post(SEARCH, content=os.urandom(200), headers=JSON).status_code in (400, 422)
        assert api.http.post(SEARCH, content=b" " * 10_000_000, headers=JSON).status_code == 413
        assert answer() == before
        assert list(Tool.objects.order_by("id").values()) == rows
