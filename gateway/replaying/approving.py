"""Is what people said yes to what was decided? The digest once more, and the votes on it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from audit.decision_record import DecisionStatus, facts_of
from gateway.context import CallContext
from gateway.gating import approval_digest
from gateway.replaying.findings import DiffType, Findings, ReplayStep
from gateway.replaying.recorded import RecordedDecision

_POLICY = DiffType.POLICY


def check_approvals(context: CallContext, decision: RecordedDecision, findings: Findings) -> None:
    """Recompute the digest and hold it against the request, the record and every vote."""
    if context.gate is None:
        return
    kept = decision.approval
    if kept is None or kept.gate_digest is None:
        findings.take("The version of the gate is not kept here; its digest was not recomputed.")
        return
    if kept.gate_id != context.gate.gate_id:
        message = "The request stood at another gate than policy named."
        findings.differ(_POLICY, "/approval/gate", context.gate.gate_id, kept.gate_id, message)
    digest = _digest(context, decision)
    if digest != kept.digest:
        message = "The digest that people were shown is not that of what was decided."
        findings.differ(_POLICY, "/approval/digest", kept.digest, digest, message)
    for at, row in enumerate(decision.rows):
        for recorded in row.record["approvals"]:
            _check_recorded(recorded, digest, f"/rows/{at}/approvals", findings)
    _check_quorum(decision, kept.needed, findings)
    findings.passed(ReplayStep.GATE)


def _digest(context: CallContext, decision: RecordedDecision) -> str:
    if context.decision is None or context.gate is None:
        raise LookupError("the call is not routed to a gate")
    facts = facts_of({**decision.first})
    return approval_digest(
        tenant_id=decision.tenant_id,
        capability=context.capability,
        args_commitment=str(decision.first["args_commitment"]),
        decision=context.decision,
        chain=facts.principal_chain,
        gate=context.gate,
    )


def _check_recorded(
    recorded: Mapping[str, Any], digest: str, place: str, findings: Findings
) -> None:
    if recorded.get("digest") != digest:
        message = "The record names another digest than what was decided has."
        findings.differ(_POLICY, f"{place}/digest", recorded.get("digest"), digest, message)
    for at, vote in enumerate(recorded["votes"]):
        if vote.get("digest") != digest:
            message = "A vote was cast on something else than what was decided."
            path = f"{place}/votes/{at}/digest"
            findings.differ(_POLICY, path, vote.get("digest"), digest, message)


def _check_quorum(decision: RecordedDecision, needed: int, findings: Findings) -> None:
    """Enough different people, none of whom had asked for it."""
    for at, row in enumerate(decision.rows):
        if row.record["status"] != DecisionStatus.APPROVED:
            continue
        for recorded in row.record["approvals"]:
            yes = {vote["approver"] for vote in recorded["votes"] if vote["verdict"] == "approve"}
            asked = {link["id"] for link in row.record["principal_chain"]}
            if len(yes - asked) < needed:
                message = f"{needed} people other than the caller had to agree."
                path = f"/rows/{at}/approvals/votes"
                findings.differ(_POLICY, path, needed, len(yes - asked), message)
