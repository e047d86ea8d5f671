"""The port to language models, against a real endpoint that misbehaves in every way it can."""

from collections.abc import Iterator

import pytest

from llm import registry
from llm.errors import ModelFailed
from llm.limits import Limits
from llm.types import Answer, ChatModel, ChatOptions, Usage
from tests.chat_server import ChatServer, chat_server, filed

SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "required": ["assignments", "suggestion"],
    "properties": {"assignments": {"type": "array"}, "suggestion": {"type": ["object", "null"]}},
}


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with chat_server() as running:
        yield running


def ask(server: ChatServer, *modes: str, timeout: float = 5) -> Answer:
    server.modes = list(modes)
    return model(server, timeout).complete_json("Be brief.", "Which?", SCHEMA)


def model(server: ChatServer, timeout: float = 5) -> ChatModel:
    return registry.load("tiny", ChatOptions(base_url=server.url, timeout=timeout))


def test_a_good_answer_comes_with_what_it_cost(server: ChatServer) -> None:
    answer = ask(server, "ok")
    assert answer.data == filed(("weather", 0.9))
    assert answer.usage == Usage(100, 20)


def test_the_request_asks_for_a_strict_schema(server: ChatServer) -> None:
    ask(server, "ok")
    [request] = server.requests
    assert request["model"] == "tiny"
    assert request["temperature"] == 0
    assert [m["content"] for m in request["messages"]] == ["Be brief.", "Which?"]
    asked = request["response_format"]["json_schema"]
    assert (asked["strict"], asked["schema"]) == (True, SCHEMA)


@pytest.mark.parametrize("mode", ["broken", "wrong_shape", "empty", "refusal", "busy", "fail", "hang"])
def test_one_retry_helps(server: ChatServer, mode: str) -> None:
    assert ask(server, mode, "ok", timeout=1.5 if mode == "hang" else 20).data == filed(("weather", 0.9))
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("mode", "message"),
    [
        ("broken", "no valid JSON"),
        ("wrong_shape", "does not fit the schema at 'assignments'"),
        ("empty", "wrong form"),
        ("refusal", "refused"),
        ("busy", "429"),
        ("fail", "status 500"),
        ("hang", "within 0.3 s"),
    ],
)
def test_after_the_second_failure_it_says_why(server: ChatServer, mode: str, message: str) -> None:
    with pytest.raises(ModelFailed, match=message) as caught:
        ask(server, mode, timeout=0.3 if mode == "hang" else 20)
    assert len(server.requests) == 2
    assert "secret" not in caught.value.message


@pytest.mark.parametrize("mode", ["denied", "full"])
def test_what_would_be_refused_again_is_not_sent_again(server: ChatServer, mode: str) -> None:
    with pytest.raises(ModelFailed):
        ask(server, mode)
    assert len(server.requests) == 1


def test_an_answer_that_was_of_no_use_is_paid_for_too(server: ChatServer) -> None:
    assert ask(server, "broken", "ok").usage == Usage(200, 40)
    with pytest.raises(ModelFailed) as caught:
        ask(server, "refusal")
    assert caught.value.usage == Usage(200, 40)


def test_nobody_there_is_a_failure_too() -> None:
    options = ChatOptions(base_url="http://127.0.0.1:9/v1", timeout=1)
    with pytest.raises(ModelFailed, match="not reachable"):
        registry.load("tiny", options).complete_json("", "", SCHEMA)


@pytest.mark.parametrize(
    ("spec", "name"), [("openai:gpt-x", "gpt-x"), ("qwen3:8b", "qwen3:8b"), ("org/model", "org/model")]
)
def test_a_colon_in_a_name_is_part_of_it(spec: str, name: str) -> None:
    assert registry.load(spec, ChatOptions()).name == name


class TestLimits:
    def test_a_minute_has_so_many_calls_and_no_more(self) -> None:
        now = [0.0]
        waited: list[float] = []

        def sleep(seconds: float) -> None:
            waited.append(seconds)
            now[0] += seconds

        limits = Limits(concurrency=4, per_minute=2, clock=lambda: now[0], sleep=sleep)
        for _ in range(5):
            with limits.slot():
                now[0] += 1
        assert waited == [58.0, 58.0]
        assert now[0] == 121

    def test_only_so_many_are_under_way_at_once(self) -> None:
        limits = Limits(concurrency=1, per_minute=0)
        with limits.slot():
            assert not limits._slots.acquire(blocking=False)
        assert limits._slots.acquire(blocking=False)
