"""The error model, row by row: which failure becomes which status, kind and advice (C13)."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import pytest

from contextos.core.envelopes import ResultStatus
from contextos.core.errors import ContextOSError, ErrorKind, catalogue, coded_error, http_status
from gateway.answers import REJECTING
from gateway.connectors.base import Reply, ReplyKind
from gateway.critic import Verdict
from gateway.normalise import (
    Normalised,
    normalise_cancelled,
    normalise_fault,
    normalise_output,
    normalise_tool_error,
)
from gateway.upstream_words import fault_for_caller, said_by_tool
from registry.validation import compile_schema


@dataclass(frozen=True)
class Row:
    """One failure and what is made of it: for a read, and for a write that may have happened."""

    name: str
    came_back: Reply | ContextOSError
    kind: str
    retryable: bool
    verdict: Verdict
    after_write: ResultStatus
    verdict_after_write: Verdict


def _tool(**error: Any) -> Reply:
    return Reply(kind=ReplyKind.TOOL_ERROR, error=error)


TIMED_OUT = {
    "code": "UPSTREAM_TIMEOUT",
    "kind": "timeout",
    "retryable": True,
    "remediation": "Wait.",
}
FAILED, UNKNOWN = ResultStatus.FAILED, ResultStatus.UNKNOWN_OUTCOME
RETRY, REPLAN, ESCALATE = Verdict.RETRY, Verdict.REPLAN, Verdict.ESCALATE
TABLE = [
    Row(
        "the protocol: an unknown tool, a malformed message, a method nobody has",
        coded_error("function.unknown"),
        *("protocol", False, ESCALATE, UNKNOWN, ESCALATE),
    ),
    Row(
        "a business rule: the tool says no in words a planner can act on",
        _tool(code="ALREADY_REFUNDED", message="The transaction was refunded before."),
        *("validation", False, REPLAN, FAILED, REPLAN),
    ),
    Row(
        "a timeout that the tool itself tells of",
        _tool(code="UPSTREAM_TIMEOUT", message="The bank did not answer."),
        *("timeout", True, RETRY, FAILED, RETRY),
    ),
    Row(
        "a timeout on the way",
        coded_error("function.timeout"),
        *("timeout", True, RETRY, UNKNOWN, ESCALATE),
    ),
    Row(
        "a connection that failed",
        coded_error("egress.connect_failed"),
        *("upstream", True, RETRY, UNKNOWN, ESCALATE),
    ),
    Row(
        "an address that may not be reached",
        coded_error("egress.host_not_allowed"),
        *("egress", False, ESCALATE, UNKNOWN, ESCALATE),
    ),
    Row(
        "an answer that is not what was reviewed",
        Reply(kind=ReplyKind.OUTPUT, output={"surprise": 1}),
        *("protocol", False, ESCALATE, UNKNOWN, ESCALATE),
    ),
]


def _became(came_back: Reply | ContextOSError, *, write: bool) -> Normalised:
    if isinstance(came_back, ContextOSError):
        return normalise_fault(came_back, effect_possible=write, attempts_left=1)
    if came_back.kind is ReplyKind.TOOL_ERROR:
        declared = {str(TIMED_OUT["code"]): TIMED_OUT}
        return normalise_tool_error(came_back, declared=declared, attempts_left=1)
    return normalise_output(
        came_back,
        output_validator=compile_schema({"type": "object", "required": ["order_id"]}),
        evidence_keys=(),
        effect_possible=write,
    )


@pytest.mark.proves("C13")
@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)
def test_each_failure_has_its_kind_its_retryability_and_its_advice(row: Row) -> None:
    read, write = _became(row.came_back, write=False), _became(row.came_back, write=True)
    assert read.error is not None
    assert (read.status, read.error["kind"], read.error["retryable"]) == (
        FAILED,
        row.kind,
        row.retryable,
    )
    assert read.error["remediation"].endswith(".")
    assert read.error["message"]
    assert read.score.verdict is row.verdict
    assert (write.status, write.score.verdict) == (row.after_write, row.verdict_after_write)


def test_a_cancelled_call_is_no_failure() -> None:
    ended = normalise_cancelled("Not needed any more.")
    assert (ended.status, ended.score.verdict) == (ResultStatus.CANCELLED, Verdict.REPLAN)


# The table of HTTP answers: what a refusal before the claim says, by its kind.
STATUS_OF_KIND = {
    ErrorKind.RATE_LIMITED: {429, 503},  # 503 where the far side says so
    ErrorKind.BUDGET: {429},
    ErrorKind.CIRCUIT_OPEN: {503},
    ErrorKind.DRIFT: {409, 503},
}


@pytest.mark.proves("C13")
def test_every_code_of_the_catalogue_says_what_to_do_next() -> None:
    for spec in catalogue():
        assert spec.title, spec.code
        assert not spec.title.endswith("."), spec.code
        assert spec.remediation.rstrip("`").endswith("."), spec.code
        assert 200 <= spec.http_status < 600, spec.code
        allowed = STATUS_OF_KIND.get(spec.kind)
        assert allowed is None or spec.http_status in allowed or spec.http_status == 200, spec.code


@pytest.mark.parametrize(
    "code",
    ["rate.limited", "circuit.open", "adapter.busy", "loop.detected", "idempotency.in_flight"],
)
def test_what_passes_with_time_is_retryable(code: str) -> None:
    error = coded_error(code)
    assert error.retryable
    assert http_status(error) in (409, 429, 503)
    assert error.kind not in REJECTING


# --- nothing of the inside comes out --------------------------------------------------------------
PYTHON_TRACE = """Refund failed
Traceback (most recent call last):
  File "/srv/payments/app.py", line 12, in refund
    ^^^^^^^^
ValueError: bank said no"""
JAVA_TRACE = """Refund failed
\tat com.bank.Ledger.book(Ledger.java:120)
\tat com.bank.Api.refund(Api.java:12)
\t... 14 more"""


@pytest.mark.proves("C13")
@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("GET https://payments.internal/v1?key=abc failed", "GET [address] failed"),
        ("cannot reach 10.2.3.4:5432 today", "cannot reach [address] today"),
        ("dial [fd00::12:1]:443 refused", "dial [address] refused"),
        ("connect to ledger-db.corp:5432", "connect to [address]"),
        ("connection to redis:6379 lost", "connection to [address] lost"),
        ("no route to bank.example.com.", "no route to [address]."),
        ("read /etc/contextos/keys/k1.pem failed", "read [path] failed"),
        ("Authorization: Bearer abcdefghijklmnopqrstuvwx0123", "Authorization: [redacted]"),
        ("one\x1b[31mred\x07 two\r\nthree\u202eevil", "one [31mred two three evil"),
        (PYTHON_TRACE, "Refund failed ValueError: bank said no"),
        (JAVA_TRACE, "Refund failed"),
        # What a planner needs to mend its call stays as it was.
        ("amount:1500 is above 1000 at 12:30:45", "amount:1500 is above 1000 at 12:30:45"),
        ("/items/0/amount must be <= 20000", "/items/0/amount must be <= 20000"),
        ("orders.lookup needs ord_0001 (3.5 kg)", "orders.lookup needs ord_0001 (3.5 kg)"),
    ],
)
def test_a_tool_s_words_come_without_what_lies_behind_it(said: str, shown: str) -> None:
    assert said_by_tool(said) == shown


def test_the_door_s_own_faults_name_no_host_to_the_caller() -> None:
    fault = coded_error(
        "egress.connect_failed",
        message="payments.internal (10.2.3.4) refused the connection.",
        data={"host": "payments.internal", "address": "10.2.3.4", "status": 502},
    )
    error = fault_for_caller(fault)
    assert "payments.internal" not in str(error)
    assert "10.2.3.4" not in str(error)
    assert error["details"] == {"status": 502}


@pytest.mark.parametrize("bad", ["a:" * 50_000, "1." * 50_000, "http:" * 20_000, "-a." * 40_000])
def test_words_made_to_be_slow_are_not(bad: str) -> None:
    started = time.thread_time()  # a busy machine makes no words slow
    assert len(said_by_tool(bad)) <= 2000
    assert time.thread_time() - started < 0.5
