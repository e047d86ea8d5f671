"""How long a command waits for a gateway, and what it says of a call that nobody answered."""

from collections.abc import Iterator

import pytest

from cli.errors import Failure
from cli.gateway import Gateway, NotReachable
from tests.cli.gateway_stand_in import StandIn, stand_in
from tests.cli.terminal import invoked

DONE = {"content": [{"type": "text", "text": "done"}], "isError": False}


@pytest.fixture
def gateway() -> Iterator[StandIn]:
    with stand_in() as server:
        server.answers["/tools/files__read"] = (200, "application/json", DONE)
        server.answers["/ready"] = (200, "application/json", {})
        yield server


def test_a_call_may_take_longer_than_any_other_answer(gateway: StandIn) -> None:
    gateway.thinks = 1.0
    asked = Gateway(gateway.url, seconds=0.2)
    assert asked.call("/tools/files__read", {}) == DONE
    with pytest.raises(NotReachable) as caught:
        asked.get("/ready")
    assert caught.value.exit_code == 3


def test_a_gateway_that_goes_away_during_a_call_may_have_made_it(gateway: StandIn) -> None:
    gateway.hangs = True
    gateway.released.set()  # hangs up without an answer
    with pytest.raises(Failure, match="was lost before it answered") as caught:
        Gateway(gateway.url).call("/tools/files__read", {})
    assert caught.value.exit_code == 1
    assert "may have been done" in caught.value.hint


@pytest.mark.parametrize(
    ("status", "code", "maybe"), [(504, 1, True), (502, 1, False), (503, 3, False), (429, 3, False)]
)
def test_only_a_call_that_was_not_made_may_be_repeated(gateway: StandIn, status: int, code: int, maybe: bool) -> None:
    error = {"error": {"code": "X", "message": "files did not answer in time."}}
    gateway.answers["/tools/files__read"] = (status, "application/json", error)
    done = invoked("call", "files__read", "--gateway", gateway.url)
    assert done.returncode == code
    assert ("may have been done" in done.stderr) is maybe


def test_nobody_listens() -> None:
    done = invoked("call", "files__read", "--gateway", "http://127.0.0.1:9")
    assert done.returncode == 3
    assert "may have been done" not in done.stderr
