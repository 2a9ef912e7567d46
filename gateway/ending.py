"""Ends an attempt in one write: state, record, output, evidence and budget, or nothing at all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from audit.decision_record import DecisionFacts, DecisionStatus
from audit.decisions import prepare_decision
from audit.one_statement import Update, Write, write_together
from audit.payloads import SealedPayload, seal_payload
from contextos.core.canonical import Frame, frame_around
from contextos.core.changing import changed
from contextos.core.clock import utcnow
from contextos.core.envelopes import ResultStatus, ToolResultEnvelope
from contextos.core.errors import coded_error
from gateway.attempts import Attempt
from gateway.budgets import settlement
from gateway.critic import evidence_value, has_evidence
from gateway.hashes import Kept, result_hash
from gateway.minting import Minted, mint
from gateway.models import ToolCall
from gateway.normalise import Normalised
from gateway.states import CALLS, CallState
from gateway.tracing import attempt_span, measured

MOST_CENTS = 10**12
_NO_OUTPUT = b"null"
STATUS_OF_RESULT = {
    ResultStatus.OK: (CallState.OK, DecisionStatus.EXECUTED),
    ResultStatus.FAILED: (CallState.FAILED, DecisionStatus.FAILED),
    ResultStatus.REJECTED: (CallState.REJECTED, DecisionStatus.REJECTED),
    ResultStatus.CANCELLED: (CallState.CANCELLED, DecisionStatus.CANCELLED),
    ResultStatus.UNKNOWN_OUTCOME: (CallState.UNKNOWN_OUTCOME, DecisionStatus.UNKNOWN),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How a call ends, apart from what the tool said."""

    latency_ms: int | None = None
    dead_letter: bool = False
    waited_ms: int = 0  # on people, which costs the run no time
    keeps_transcript: bool = True
    status: DecisionStatus | None = None  # where the record says more than the envelope


def finish(attempt: Attempt, outcome: Normalised, ending: Ending) -> dict[str, Any]:
    """Terminal state and terminal record (or UNKNOWN); the envelope as callers get it."""
    call = attempt.call
    state, usual = STATUS_OF_RESULT[outcome.status]
    status = ending.status or usual
    CALLS.check(call.state, state)
    output = _sealed_output(attempt, outcome)
    minted = _minted(attempt, outcome)
    envelope = result_envelope(attempt, outcome, ending.latency_ms, minted.ref if minted else None)
    frame = frame_around("output", envelope)
    transcript = _transcript(attempt, outcome, ending, output) if ending.keeps_transcript else None
    hashed = result_hash(envelope, Kept.by(output, transcript), frame=frame)
    facts = last_row(attempt, outcome, status, envelope, hashed)
    writes: list[Write] = [
        move(call, state, facts, {**_final(attempt, outcome, ending), **_kept(frame, output)})
    ]
    writes += prepare_decision(facts, after="call").writes
    writes += [output.write] if output else []
    writes += [transcript.write] if transcript else []
    writes += minted.writes if minted else ()
    if state is not CallState.UNKNOWN_OUTCOME:
        cost = cost_of(attempt, outcome)
        writes.append(settlement(call, cost_cents=cost, waited_ms=ending.waited_ms))
    with attempt_span("record", attempt):
        if "call" not in write_together(*writes):
            raise coded_error("call.lost_lease")
    measured(attempt, outcome, ending.latency_ms)
    return envelope


def cost_of(attempt: Attempt, outcome: Normalised) -> int:
    """What is booked: what the tool said, what the manifest points at, else the whole reserve."""
    if outcome.cost_cents is not None:
        return outcome.cost_cents
    pointer = (attempt.declaration.get("cost") or {}).get("actual_pointer")
    if isinstance(pointer, str) and outcome.output is not None:
        stated = evidence_value(outcome.output, pointer)
        if isinstance(stated, int) and not isinstance(stated, bool) and stated >= 0:
            return min(stated, MOST_CENTS)
    return attempt.call.reserved_cents if outcome.status is ResultStatus.OK else 0


def requeue(attempt: Attempt, *, pause: timedelta, lost: bool = False, doubt: str = "") -> None:
    """Put the call back for another attempt with the same key; `doubt` names what is not known."""
    call = attempt.call
    values: dict[str, Any] = {"state": CallState.QUEUED.value, "due_at": utcnow() + pause}
    if doubt:
        values["error_code"] = doubt[:100]
    back = Update(
        name="call",
        table=ToolCall._meta.db_table,
        values={**values, "worker": "", "lease_until": None, "deadline_at": None},
        add={"losses": int(lost)},
        where=held(call),
    )
    if "call" not in write_together(back):
        raise coded_error("call.lost_lease")


def held(call: ToolCall) -> dict[str, Any]:
    """The row as this worker knows it: another state or holder means that it was taken over."""
    return {"tool_call_id": call.tool_call_id, "state": str(call.state), "worker": call.worker}


def move(
    call: ToolCall, state: CallState, facts: DecisionFacts, values: Mapping[str, Any]
) -> Update:
    """The compare-and-set that carries a call into its next state, its lease given back."""
    return Update(
        name="call",
        table=ToolCall._meta.db_table,
        values={
            "state": state.value,
            "records": facts.seq,
            "lease_until": None,
            "due_at": None,
            **values,
        },
        where=held(call),
    )


def next_row(attempt: Attempt, status: DecisionStatus, **changes: Any) -> DecisionFacts:
    """The decision's next row: what the last one said, and what is new."""
    facts, attempts = attempt.facts, attempt.call.attempts
    new: dict[str, Any] = {"seq": facts.seq + 1, "created_at": utcnow(), "attempts": attempts}
    return changed(facts, status=status, **{**new, **changes})


def _final(attempt: Attempt, outcome: Normalised, ending: Ending) -> dict[str, Any]:
    unknown = outcome.status is ResultStatus.UNKNOWN_OUTCOME
    return {
        "attempts": attempt.call.attempts,  # a quick call counts its own in memory
        "error_code": str((outcome.error or {}).get("code", ""))[:100],
        "dead_letter": ending.dead_letter,
        "finished_at": None if unknown else utcnow(),
    }


def _kept(frame: Frame, output: SealedPayload | None) -> dict[str, Any]:
    return {
        "result": frame.holding(_NO_OUTPUT).decode(),
        "output_payload": output.payload_id if output else "",
    }


def _seal(attempt: Attempt, kind: str, value: Any) -> SealedPayload:
    call = attempt.call
    return seal_payload(
        tenant_id=call.tenant_id,
        decision_id=call.decision_id,
        kind=kind,
        value=value,
        after="call",
    )


def _sealed_output(attempt: Attempt, outcome: Normalised) -> SealedPayload | None:
    return None if outcome.output is None else _seal(attempt, "output", outcome.output)


def _transcript(
    attempt: Attempt, outcome: Normalised, ending: Ending, output: SealedPayload | None
) -> SealedPayload:
    """What came back, for replay; an output that is stored already is only pointed at."""
    said = {
        "attempt": attempt.call.attempts,
        "status": outcome.status.value,
        "upstream_status": outcome.upstream_status,
        "cost_cents": outcome.cost_cents,
        "latency_ms": ending.latency_ms,
        "error": None if outcome.error is None else dict(outcome.error),
        "output_payload": output.payload_id if output else None,
        "rejected_output": outcome.rejected_output,
    }
    if outcome.mutations:
        said["mutations"] = [dict(change) for change in outcome.mutations]
    return _seal(attempt, "transcript", said)


def evidence_in(attempt: Attempt, outcome: Normalised) -> dict[str, Any]:
    """The declared keys that a result really carries, with their values."""
    if outcome.status is not ResultStatus.OK:
        return {}
    declared = attempt.declaration.get("evidence_keys") or []
    found = [key for key in declared if has_evidence(outcome.output, key)]
    return {key: evidence_value(outcome.output, key) for key in found}


def _minted(attempt: Attempt, outcome: Normalised) -> Minted | None:
    values = evidence_in(attempt, outcome)
    return mint(attempt, values) if values else None


def result_envelope(
    attempt: Attempt, outcome: Normalised, latency_ms: int | None, evidence_ref: str | None
) -> dict[str, Any]:
    """The envelope of an ended call; it depends on nothing else."""
    call = attempt.call
    return ToolResultEnvelope(
        tool_call_id=call.tool_call_id,
        run_id=call.run_id,
        trace_id=attempt.facts.trace_id,
        capability_id=call.capability_id,
        status=outcome.status,
        policy_decision_id=attempt.policy_decision_id,
        latency_ms=latency_ms,
        attempts=call.attempts,
        output=outcome.output,
        evidence_refs=(evidence_ref,) if evidence_ref else (),
        mutations=outcome.mutations,
        decision_id=call.decision_id,
        approval=_approval(attempt),
        task=_ended_task(call, outcome.status),
        critic=_critic(attempt, outcome),
        metrics={
            "latency_ms": latency_ms,
            "retry_count": max(0, call.attempts - 1),
            "upstream_status": outcome.upstream_status,
            "cost_cents": outcome.cost_cents,
        },
        adapter={
            "adapter_id": call.adapter_id,
            "version": call.adapter_version,
            "manifest_hash": attempt.capability.manifest_hash,
        },
        error=outcome.error,
    ).as_dict()


def _approval(attempt: Attempt) -> dict[str, Any] | None:
    """What people were asked, and how that ended: a yes is used up by the call that it let run."""
    asked = next((item for item in attempt.facts.approvals if item.get("approval_id")), None)
    if asked is None:
        return None
    state = "consumed" if asked["state"] == "approved" else asked["state"]
    return {"gate": asked["gate"], "approval_id": asked["approval_id"], "state": state}


def _critic(attempt: Attempt, outcome: Normalised) -> dict[str, Any]:
    """The score; an answer from the fallback says so, since it may be older or poorer."""
    score, asked_for = outcome.score.as_dict(), attempt.fallback_for
    if asked_for is None:
        return score
    words = f"{asked_for} rests; {attempt.call.capability_id} answered in its place."
    return {**score, "findings": [*score["findings"], {"code": "fallback.used", "message": words}]}


_TASK_ENDS = {
    ResultStatus.OK: "completed",
    ResultStatus.FAILED: "failed",
    ResultStatus.CANCELLED: "cancelled",
}


def _ended_task(call: ToolCall, status: ResultStatus) -> dict[str, Any] | None:
    if call.task is None or status not in _TASK_ENDS:
        return None
    return {"task_id": call.task["task_id"], "state": _TASK_ENDS[status], "poll_after_ms": 0}


def _recorded_error(outcome: Normalised) -> Mapping[str, Any] | None:
    """A record can't be erased: what a tool wrote stays in the transcript, by commitment."""
    if outcome.error is None or not outcome.in_tools_words:
        return outcome.error
    return {name: outcome.error[name] for name in ("kind", "code", "retryable")}


def _recorded_score(outcome: Normalised) -> dict[str, Any]:
    score = outcome.score.as_dict()
    if not outcome.in_tools_words:
        return score
    return {**score, "findings": [{"code": item["code"]} for item in score["findings"]]}


def last_row(
    attempt: Attempt,
    outcome: Normalised,
    status: DecisionStatus,
    envelope: Mapping[str, Any],
    hashed: str,
) -> DecisionFacts:
    """The row that ends a decision, with its output only in the hash of the commitment to it."""
    return next_row(
        attempt,
        status,
        tool_result_hash=hashed,
        error=_recorded_error(outcome),
        cost_cents=outcome.cost_cents,
        scorecard=_recorded_score(outcome),
        redactions=outcome.redactions,
        evidence_refs=(*attempt.facts.evidence_refs, *envelope["evidence_refs"]),
    )
