"""Envelopes: exactly the members of the contract, and only chains that authority can rest on."""

from dataclasses import FrozenInstanceError
from typing import Any

import pytest

from contextos.core.canonical import canonicalise
from contextos.core.envelopes import (
    PrincipalKind,
    PrincipalRef,
    ResultStatus,
    ToolCallEnvelope,
    ToolResultEnvelope,
    check_principal_chain,
)
from contextos.core.errors import ContextOSError, coded_error, tool_error
from contextos.core.modes import ApprovalMode

USER = PrincipalRef(kind=PrincipalKind.USER, id="ann", tenant_id="t", display="Ann")
AGENT = PrincipalRef(kind=PrincipalKind.AGENT, id="support", tenant_id="t")

REQUIRED_OF_A_CALL = {
    "envelope_version",
    "tool_call_id",
    "run_id",
    "trace_id",
    "capability_id",
    "args",
    "principal_chain",
    "approval_mode_requested",
    "approval_mode_effective",
    "approval_mode_highest",
    "evidence_refs",
}
OPTIONAL_OF_A_CALL = {
    "session_id",
    "policy_decision_id",
    "idempotency_key",
    "auth_ref",
    "metadata",
}
REQUIRED_OF_A_RESULT = {
    "envelope_version",
    "tool_call_id",
    "run_id",
    "trace_id",
    "capability_id",
    "status",
    "policy_decision_id",
    "latency_ms",
    "attempts",
}


def call(**changes: Any) -> ToolCallEnvelope:
    members: dict[str, Any] = {
        "tool_call_id": "tool_1",
        "run_id": "run_1",
        "trace_id": "0" * 32,
        "capability_id": "payments.issue_refund",
        "args": {"amount_cents": 4200},
        "principal_chain": (USER, AGENT),
        "approval_mode_requested": ApprovalMode.DESTRUCTIVE,
        "approval_mode_effective": ApprovalMode.DELEGATED,
        "approval_mode_highest": ApprovalMode.DESTRUCTIVE,
    }
    return ToolCallEnvelope(**members | changes)


def result(**changes: Any) -> ToolResultEnvelope:
    members: dict[str, Any] = {
        "tool_call_id": "tool_1",
        "run_id": "run_1",
        "trace_id": "0" * 32,
        "capability_id": "payments.issue_refund",
        "status": ResultStatus.OK,
    }
    return ToolResultEnvelope(**members | changes)


@pytest.mark.proves("C2")
def test_a_call_has_exactly_the_members_of_the_contract() -> None:
    assert set(call().as_dict()) == REQUIRED_OF_A_CALL
    full = call(
        session_id="s",
        policy_decision_id="pol_1",
        idempotency_key="ik_1",
        auth_ref="claim_hash:sha256:0",
        metadata={"plan_id": "plan_1"},
    )
    assert set(full.as_dict()) == REQUIRED_OF_A_CALL | OPTIONAL_OF_A_CALL
    assert full.as_dict()["envelope_version"] == "contextos.tool_call.v1"


@pytest.mark.proves("C2")
def test_a_result_names_what_is_not_known_yet_as_null() -> None:
    body = result(status=ResultStatus.PAUSED).as_dict()
    assert set(body) >= REQUIRED_OF_A_RESULT
    assert body["envelope_version"] == "contextos.tool_result.v1"
    assert body["status"] == "paused"
    assert body["policy_decision_id"] is None
    assert body["output"] is None
    assert not {"approval", "task", "input_request", "error", "critic"} & set(body)


def test_a_result_carries_what_is_known() -> None:
    error = tool_error(coded_error("circuit.open", retry_after_ms=1000))
    body = result(
        status=ResultStatus.FAILED,
        error=error,
        mutations=({"kind": "refund", "ref": "r1"},),
        evidence_refs=("ev_1",),
    ).as_dict()
    assert body["error"]["code"] == "circuit.open"
    assert body["mutations"] == [{"kind": "refund", "ref": "r1"}]
    assert body["evidence_refs"] == ["ev_1"]


def test_the_statuses_are_those_of_the_contract() -> None:
    assert " ".join(ResultStatus) == (
        "ok failed paused rejected deferred cancelled unknown_outcome"
    )


def test_envelopes_can_be_hashed_as_they_are() -> None:
    assert canonicalise(call().as_dict())
    assert canonicalise(result(output={"refund_id": "r1"}).as_dict())


def test_envelopes_do_not_change_after_they_are_made() -> None:
    with pytest.raises(FrozenInstanceError):
        call().run_id = "run_2"  # type: ignore[misc]


def test_only_an_ok_result_has_output() -> None:
    with pytest.raises(ValueError, match="output"):
        result(status=ResultStatus.FAILED, output={})


@pytest.mark.proves("C4")
def test_a_mode_above_the_highest_can_not_be_put_in_an_envelope() -> None:
    with pytest.raises(ValueError, match="exceed"):
        call(approval_mode_highest=ApprovalMode.NETWORK)


def test_a_chain_is_written_outermost_first() -> None:
    assert call().as_dict()["principal_chain"] == [
        {"kind": "user", "id": "ann", "tenant_id": "t", "display": "Ann"},
        {"kind": "agent", "id": "support", "tenant_id": "t"},
    ]
    assert check_principal_chain([USER, AGENT]) == (USER, AGENT)


@pytest.mark.proves("C6")
@pytest.mark.parametrize(
    "chain",
    [
        [],
        [AGENT, AGENT],
        [USER, PrincipalRef(kind=PrincipalKind.AGENT, id="spy", tenant_id="other")],
        [PrincipalRef(kind=PrincipalKind.AGENT, id="", tenant_id="t")],
        [PrincipalRef(kind=PrincipalKind.AGENT, id=str(n), tenant_id="t") for n in range(17)],
    ],
)
def test_a_chain_that_authority_can_not_rest_on_is_refused(chain: list[PrincipalRef]) -> None:
    with pytest.raises(ContextOSError) as caught:
        check_principal_chain(chain)
    assert caught.value.code == "principal.invalid"
    with pytest.raises(ContextOSError):
        call(principal_chain=tuple(chain))
