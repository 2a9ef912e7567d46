"""Results as the caller may rely on them: checked output, declared errors, honest unknowns."""

from __future__ import annotations

from typing import Any

import pytest

from contextos.core.envelopes import ResultStatus
from contextos.core.errors import coded_error
from gateway.connectors.base import Reply, ReplyKind
from gateway.critic import Verdict
from gateway.normalise import normalise_fault, normalise_output, normalise_tool_error
from registry.validation import compile_schema

SCHEMA = {
    "type": "object",
    "properties": {"refund_id": {"type": "string"}},
    "required": ["refund_id"],
}


def _output(value: Any) -> Reply:
    return Reply(kind=ReplyKind.OUTPUT, output=value)


def test_output_that_matches_is_ok() -> None:
    result = normalise_output(
        _output({"refund_id": "r"}),
        output_validator=compile_schema(SCHEMA),
        evidence_keys=("refund_id",),
        effect_possible=True,
    )
    assert result.status is ResultStatus.OK
    assert result.score.verdict is Verdict.ACCEPT


def test_output_that_does_not_match_is_a_protocol_failure_without_its_values() -> None:
    result = normalise_output(
        _output({"refund_id": 4111111111111111}),
        output_validator=compile_schema(SCHEMA),
        evidence_keys=(),
        effect_possible=False,
    )
    assert result.status is ResultStatus.FAILED
    assert result.output is None
    assert result.error is not None
    assert result.error["kind"] == "protocol"
    assert "4111111111111111" not in str(result.error)


@pytest.mark.parametrize("value", [float("nan"), {"a": 2**60}, "\ud800", "a\x00b"])
def test_output_that_cannot_be_stored_is_refused(value: Any) -> None:
    result = normalise_output(
        _output(value), output_validator=None, evidence_keys=(), effect_possible=False
    )
    assert result.error is not None
    assert result.error["code"] == "output.unstorable"


def test_a_declared_error_has_its_declared_kind_and_remediation() -> None:
    declared = {"UPSTREAM_TIMEOUT": {"kind": "timeout", "retryable": True, "remediation": "Wait."}}
    reply = Reply(kind=ReplyKind.TOOL_ERROR, error={"code": "UPSTREAM_TIMEOUT", "message": "m"})
    result = normalise_tool_error(reply, declared=declared, attempts_left=1)
    assert result.error is not None
    assert (result.error["kind"], result.error["remediation"]) == ("timeout", "Wait.")
    assert result.score.verdict is Verdict.RETRY


def test_an_undeclared_error_is_the_caller_s_to_mend() -> None:
    reply = Reply(kind=ReplyKind.TOOL_ERROR, error={"code": "X", "message": "m"})
    result = normalise_tool_error(reply, declared={}, attempts_left=0)
    assert result.error is not None
    assert result.error["kind"] == "validation"
    assert result.score.verdict is Verdict.REPLAN


def test_a_fault_after_a_possible_effect_is_an_unknown_outcome() -> None:
    fault = coded_error("function.timeout")
    unsure = normalise_fault(fault, effect_possible=True, attempts_left=3)
    sure = normalise_fault(fault, effect_possible=False, attempts_left=1)
    assert unsure.status is ResultStatus.UNKNOWN_OUTCOME
    assert unsure.score.verdict is Verdict.ESCALATE
    assert (sure.status, sure.score.verdict) == (ResultStatus.FAILED, Verdict.RETRY)


def test_output_deeper_than_anybody_reads_back_is_refused() -> None:
    value: Any = "x"
    for _ in range(65):
        value = [value]
    result = normalise_output(
        _output(value), output_validator=None, evidence_keys=(), effect_possible=False
    )
    assert result.error is not None
    assert result.error["code"] == "output.unstorable"


def test_a_refusal_in_words_no_database_holds_is_kept_all_the_same() -> None:
    reply = Reply(
        kind=ReplyKind.TOOL_ERROR,
        error={"code": "NO\x00", "message": "not \ud800 today", "remediation": "a\x00b"},
    )
    result = normalise_tool_error(reply, declared={}, attempts_left=0)
    assert result.status is ResultStatus.FAILED
    assert result.error is not None
    assert result.error["code"] == "NO\ufffd"
    assert result.error["message"] == "not \ufffd today"
    assert result.error["remediation"] == "a\ufffdb"
