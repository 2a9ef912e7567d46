"""Every row of the contract's status table, and what the client makes of it."""

from __future__ import annotations

import pickle
from dataclasses import dataclass

import pytest

from contextos.core import envelopes
from contextos.core.error_kinds import ErrorKind as ProductKind
from contextos_client import (
    ContextOSError,
    ErrorKind,
    InvalidCall,
    KeyInFlight,
    NotAccepted,
    Refused,
    Status,
    TooMany,
    Unavailable,
    WrongState,
)
from tests.client.gateways import TRACE, Step, client_of, problem, result, says, scripted


@dataclass(frozen=True)
class Row:
    """One line of the table: what is sent, and what the caller gets."""

    http: int
    status: str
    kind: str
    becomes: type[ContextOSError] | None = None  # None: it is returned
    code: str = "x.y"

    def __str__(self) -> str:
        return f"{self.http}-{self.status}-{self.kind or 'none'}"


RETURNED = [
    Row(200, "ok", ""),
    Row(200, "failed", "upstream"),
    Row(200, "failed", "timeout"),
    Row(200, "failed", "validation"),
    Row(200, "failed", "protocol"),
    Row(200, "failed", "egress"),
    Row(200, "unknown_outcome", "timeout"),
    Row(200, "cancelled", ""),
    Row(202, "paused", "approval"),
    Row(202, "paused", "scope_step_up"),
    Row(202, "paused", "input"),
    Row(202, "deferred", ""),
]
RAISED = [
    Row(400, "failed", "protocol", InvalidCall),
    Row(400, "failed", "idempotency", InvalidCall, "idempotency.missing"),
    Row(401, "rejected", "auth", NotAccepted),
    Row(403, "rejected", "auth", Refused),
    Row(403, "rejected", "policy", Refused),
    Row(403, "rejected", "approval", Refused),
    Row(404, "rejected", "policy", Refused, "capability.unknown"),
    Row(409, "failed", "idempotency", KeyInFlight, "idempotency.in_flight"),
    Row(409, "failed", "validation", WrongState, "call.already_ended"),
    Row(422, "failed", "validation", InvalidCall),
    Row(422, "failed", "idempotency", InvalidCall, "idempotency.conflict"),
    Row(429, "failed", "rate_limited", TooMany),
    Row(429, "failed", "budget", TooMany),
    Row(503, "failed", "circuit_open", Unavailable),
    Row(503, "failed", "drift", Unavailable),
    Row(503, "failed", "internal", Unavailable),
]
# Not rows of the contract, but a client may meet them.
BEYOND_THE_CONTRACT = [
    Row(409, "failed", "protocol", WrongState, "state.transition_refused"),
    Row(413, "failed", "protocol", InvalidCall),
    Row(500, "failed", "internal", Unavailable),
]
RAISED += BEYOND_THE_CONTRACT


def _fault_of(step: Step) -> ContextOSError:
    with scripted(step) as script, pytest.raises(ContextOSError) as caught:
        client_of(script, attempts=1).call("run_1", "orders.lookup", {})
    return caught.value


def test_the_words_of_the_contract_are_all_there_and_no_others() -> None:
    assert set(map(str, Status)) == set(map(str, envelopes.ResultStatus))
    assert set(map(str, ErrorKind)) == set(map(str, ProductKind))


def test_the_table_speaks_of_every_status_and_every_kind() -> None:
    rows = RETURNED + RAISED
    assert {row.status for row in rows} == set(map(str, Status))
    assert {row.kind for row in rows if row.kind} == set(map(str, ErrorKind))


@pytest.mark.proves("C2", "C13")
@pytest.mark.parametrize("row", RETURNED, ids=str)
def test_what_was_invoked_or_waits_is_returned_and_never_raised(row: Row) -> None:
    with scripted(says(result(row.status, kind=row.kind), row.http)) as script:
        answer = client_of(script).call("run_1", "orders.lookup", {})
    assert answer.status == row.status
    assert (answer.error.kind if answer.error else "") == row.kind
    assert answer.ok == (row.status == "ok")
    assert answer.is_waiting == (row.http == 202)


@pytest.mark.proves("C13")
@pytest.mark.parametrize("row", RAISED, ids=str)
def test_each_refusal_is_its_own_exception_and_carries_the_envelope(row: Row) -> None:
    body = result(row.status, kind=row.kind, code=row.code)
    fault = _fault_of(says(body, row.http, "Retry-After: 7\r\n"))
    assert type(fault) is row.becomes
    assert (fault.http_status, fault.code, fault.kind) == (row.http, row.code, row.kind)
    assert (fault.message, fault.remediation) == ("What happened.", "What to do.")
    assert fault.result is not None
    assert (fault.result.status, fault.result.raw) == (row.status, body)
    assert (fault.retry_after, fault.traceparent) == (7.0, TRACE)


@pytest.mark.proves("C13")
@pytest.mark.parametrize("row", RAISED, ids=str)
def test_problem_details_become_the_same_exceptions(row: Row) -> None:
    body = problem(row.http, row.kind, row.code)
    fault = _fault_of(says(body, row.http, media="application/problem+json"))
    assert type(fault) is row.becomes
    assert (fault.code, fault.kind, fault.message) == (row.code, row.kind, "What happened.")
    assert fault.result is None
    assert fault.facts.raw == body


def test_the_longer_of_header_and_envelope_says_when_to_come_back() -> None:
    body = result("failed", kind="rate_limited")
    body["error"]["retry_after_ms"] = 12_500
    assert _fault_of(says(body, 429, "Retry-After: 7\r\n")).retry_after == 12.5


def test_an_exception_crosses_a_process_border() -> None:
    fault = _fault_of(says(result("rejected", kind="policy", code="policy.denied"), 403))
    again = pickle.loads(pickle.dumps(fault))
    assert type(again) is Refused
    assert str(again) == str(fault) == "policy.denied: What happened."
    assert again.result == fault.result
