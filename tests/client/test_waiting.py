"""Waiting for a call: as long as asked, at the pace the gateway asks for, through its faults."""

from __future__ import annotations

from typing import Any

import pytest

from contextos_client import Client, Refused, Retry, Status, Unreachable
from tests.client.gateways import FakeTime, Step, client_of, drops, result, says, scripted

TASK = {"task_id": "task_1", "state": "working", "poll_after_ms": 1500}
CALL = "tool_00000000000000000000000001"


def _record(status: str, headers: str = "", **more: Any) -> Step:
    return says({"call": {}, "result": result(status, **more)}, headers=headers)


WORKING = _record("deferred", task=TASK)
DONE = _record("ok")


def test_a_call_is_looked_at_until_it_ends_and_no_longer() -> None:
    time = FakeTime()
    with scripted(WORKING, WORKING, DONE) as script:
        ended = client_of(script, time).wait_for(CALL, seconds=60)
    assert ended.status is Status.OK
    assert time.pauses == [1.5, 1.5]
    assert len(script.requests) == 3


def test_the_longer_of_header_and_task_sets_the_pace() -> None:
    time = FakeTime()
    with scripted(_record("deferred", "Retry-After: 4\r\n", task=TASK), DONE) as script:
        client_of(script, time).wait_for(CALL, seconds=60)
    assert time.pauses == [4.0]


def test_without_advice_the_pauses_grow_and_stay_bounded() -> None:
    time = FakeTime()
    with scripted(*[_record("paused", kind="approval")] * 12, DONE) as script:
        client_of(script, time).wait_for(CALL, seconds=600)
    assert time.pauses[0] < time.pauses[2] < time.pauses[4]
    assert max(time.pauses) <= Retry().longest_pause * 1.2


def test_the_time_is_up_with_a_last_look_and_the_result_as_it_stands() -> None:
    time = FakeTime()
    with scripted(WORKING) as script:
        last = client_of(script, time).wait_for(CALL, seconds=4)
    assert last.is_waiting
    assert last.status is Status.DEFERRED
    assert sum(time.pauses) == 4


@pytest.mark.parametrize("ended", ["ok", "failed", "cancelled", "rejected", "unknown_outcome"])
def test_every_end_ends_the_waiting(ended: str) -> None:
    with scripted(_record(ended)) as script:
        assert client_of(script).wait_for(CALL, seconds=60).status == ended


@pytest.mark.parametrize(
    "asking",
    [
        _record("paused", kind="input", input_request={"message": "Which month?"}),
        _record("deferred", task={**TASK, "state": "input_required"}),
    ],
    ids=["kind", "task-state"],
)
def test_a_call_that_asks_for_input_comes_back_at_once(asking: Step) -> None:
    with scripted(asking) as script:
        asked = client_of(script).wait_for(CALL, seconds=60)
    assert asked.needs_input
    assert asked.is_waiting


def test_waiting_outlives_a_gateway_that_restarts() -> None:
    busy = says(result("failed", kind="internal"), 503)
    throttled = says(result("failed", kind="rate_limited"), 429, "Retry-After: 2\r\n")
    with scripted(drops, drops, busy, busy, throttled, WORKING, DONE) as script:
        assert client_of(script).wait_for(CALL, seconds=60).ok


def test_a_gateway_that_stays_away_is_unreachable_when_the_time_is_up() -> None:
    time = FakeTime()
    with scripted(drops) as script, pytest.raises(Unreachable):
        client_of(script, time).wait_for(CALL, seconds=9)
    assert sum(time.pauses) == pytest.approx(9)


def test_a_refusal_ends_the_waiting_at_once() -> None:
    refused = says(result("rejected", kind="policy", code="call.unknown"), 404)
    with scripted(refused) as script, pytest.raises(Refused):
        client_of(script).wait_for(CALL, seconds=60)
    assert len(script.requests) == 1


def test_a_call_without_a_result_yet_is_waited_for() -> None:
    nothing = says({"call": {}, "result": None})
    with scripted(nothing, DONE) as script:
        assert client_of(script).wait_for(CALL, seconds=60).ok
    with scripted(nothing) as script, pytest.raises(Unreachable, match="told nothing"):
        client_of(script).wait_for(CALL, seconds=2)


def test_the_gateway_is_asked_to_hold_its_answer_back_but_never_beyond_the_time() -> None:
    with scripted(WORKING, DONE) as script:
        client_of(script).wait_for(CALL, seconds=300)
        client_of(script).wait_for(CALL, seconds=1.5)
        client_of(script).wait_for(CALL, seconds=0.5)
    assert script.headers(0)["prefer"] == "wait=2"
    assert script.headers(2)["prefer"] == "wait=1"
    assert "prefer" not in script.headers(3)


def test_one_call_or_look_is_held_back_thirty_seconds_at_most() -> None:
    with scripted(DONE) as script:
        client_of(script).get_call(CALL, wait=300)
    assert script.headers()["prefer"] == "wait=30"


def test_where_an_mcp_url_is_given_the_waiting_happens_there() -> None:
    with scripted(says(result("deferred", task=TASK), 202)) as web, scripted(DONE) as long_polls:
        client = Client(web.url, "agent-token", mcp_url=f"{long_polls.url}/mcp")
        started = client.call("run_1", "reports.build", {}, wait=3)
        assert client.wait_for(started, seconds=9).ok
    assert web.headers()["prefer"] == "wait=3"
    assert long_polls.requests[0].startswith(b"GET /api/v1/tool-calls/tool_")


def test_a_refused_call_has_nothing_to_wait_for() -> None:
    with scripted(says(result("ok", tool_call_id=None))) as script:
        client = client_of(script)
        with pytest.raises(ValueError, match="names no call"):
            client.wait_for(client.call("run_1", "orders.lookup", {}), seconds=1)
