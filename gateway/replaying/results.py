"""The result once more, from the recorded transcript: normalise, redact, judge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

from audit.decision_record import DecisionFacts, DecisionStatus
from contextos.core.clock import parse_time
from contextos.core.envelopes import ResultStatus
from gateway.attempts import Attempt
from gateway.connectors.base import Reply, ReplyKind
from gateway.context import CallContext
from gateway.critic import RECONCILED, CriticFinding, Score, Verdict, score_failure, score_unknown
from gateway.ending import STATUS_OF_RESULT
from gateway.execution import HARMLESS, answered, attempts_left, said_no
from gateway.hashes import Kept
from gateway.mutations import judged_changes
from gateway.normalise import Normalised
from gateway.redacting import noted
from gateway.replaying.findings import DiffType, Findings
from gateway.replaying.recorded import KeptValue, RecordedDecision

_UNREADABLE = ("output.schema", "output.unstorable")
_RESULT_OF = {status: result for result, (_, status) in STATUS_OF_RESULT.items()} | {
    DecisionStatus.EXPIRED: ResultStatus.REJECTED
}


@dataclass(frozen=True, slots=True)
class Ended:
    """How one row ended the call, as far as it was kept."""

    row: Mapping[str, Any]
    said: Mapping[str, Any]  # the transcript; empty where none is kept
    output: KeptValue | None
    latency_ms: int | None
    latency_known: bool
    kept: Kept  # what the hash of the result was taken with
    mutations: Sequence[Mapping[str, str]] = ()  # what the tool said it changed


def attempt_of(context: CallContext, decision: RecordedDecision, facts: DecisionFacts) -> Attempt:
    """The attempt that a row ended; `facts` is the row before, with the number of attempts."""
    call = decision.call
    if call is None or context.decision is None:
        raise LookupError("the call is not kept")
    if (call.attempts, call.is_write) != (facts.attempts, context.is_write):
        call = copy(call)  # it was tried again after this row
        call.attempts, call.is_write = facts.attempts, context.is_write
    return Attempt(
        call=call,
        capability=context.capability,
        args=context.args,
        facts=facts,
        policy_decision_id=context.decision.policy_decision_id,
        key=context.key,
        environment=context.run.environment if context.run else "",
        approved_at=parse_time(decision.first["created_at"]),
        bundles=context.compiled.bundles if context.compiled else (),
    )


def ended_by(decision: RecordedDecision, at: int, findings: Findings) -> Ended:
    """What is kept of the ending that a row tells of."""
    row = decision.rows[at].record
    transcript = _transcript(decision, row)
    said = dict(transcript.value) if transcript else None
    output = _output(decision, said, row)
    salted = output or transcript
    kept = decision.stored_result if at == len(decision.rows) - 1 else None
    known = said is not None and "latency_ms" in said
    latency = (said or {}).get("latency_ms") if known else (kept or {}).get("latency_ms")
    if said is not None and not known:
        findings.take("How long the call took was read from the stored result.")
    changes = (said or {}).get("mutations") or ()
    if not changes and (kept or {}).get("mutations"):
        # Earlier versions kept them there alone; the hash of the result tells whether they stand.
        changes = (kept or {})["mutations"]
        findings.take("What the tool said it changed was read from the stored result.")
    return Ended(
        row=row,
        said=said or {},
        output=output,
        latency_ms=latency,
        latency_known=known or kept is not None or said is None,
        kept=Kept(output.commitment if output else None, salted.salt if salted else b""),
        mutations=changes,
    )


def _transcript(decision: RecordedDecision, row: Mapping[str, Any]) -> KeptValue | None:
    wanted = _RESULT_OF.get(DecisionStatus(row["status"]))
    for kept in decision.by_kind.get("transcript", ()):
        said = kept.value
        if said["attempt"] == row["attempts"] and said["status"] == wanted:
            return kept
    return None


def _output(
    decision: RecordedDecision, said: Mapping[str, Any] | None, row: Mapping[str, Any]
) -> KeptValue | None:
    if row["status"] != DecisionStatus.EXECUTED:
        return None
    named = (said or {}).get("output_payload")
    outputs = decision.by_kind.get("output", ())
    if named is not None:
        return next((kept for kept in outputs if kept.payload_id == named), None)
    return outputs[-1] if outputs and said is None else None


# --- normalise once more -------------------------------------------------------------------------
def outcome_again(attempt: Attempt, ended: Ended, findings: Findings) -> Normalised:
    """What the call came to, from what was brought back then."""
    row = ended.row
    if _is_reconciled(row):
        findings.take("What a person found out about the outcome was read from the record.")
        return _reconciled(row, ended)
    outcome = _brought_back(attempt, ended, findings)
    return judged_changes(attempt, replace(outcome, mutations=tuple(ended.mutations)))


def _brought_back(attempt: Attempt, ended: Ended, findings: Findings) -> Normalised:
    row = ended.row
    if row["status"] == DecisionStatus.EXECUTED:
        return _accepted(attempt, ended, findings)
    error = dict(ended.said.get("error") or row["error"] or {})
    if ended.said and "message" not in (row["error"] or {}):
        # In the tool's own words, which stand in the transcript alone.
        return said_no(attempt, _reply(ended, ReplyKind.TOOL_ERROR, error=error))
    if error.get("code") in _UNREADABLE and ended.said.get("rejected_output") is not None:
        return _unreadable(attempt, ended, error)
    return _failed(attempt, ended, error, findings)


def _is_reconciled(row: Mapping[str, Any]) -> bool:
    score = row["scorecard"] or {}
    return any(item.get("code") == RECONCILED for item in score.get("findings", ()))


def _reconciled(row: Mapping[str, Any], ended: Ended) -> Normalised:
    status = _RESULT_OF[DecisionStatus(row["status"])]
    verdict = Verdict.ACCEPT if status is ResultStatus.OK else Verdict.REPLAN
    findings = tuple(
        CriticFinding(item["code"], item["message"]) for item in row["scorecard"]["findings"]
    )
    return Normalised(
        status=status,
        score=Score(verdict, findings),
        output=ended.output.value if ended.output else None,
        error=row["error"],
        upstream_status="reconciled",
    )


def _accepted(attempt: Attempt, ended: Ended, findings: Findings) -> Normalised:
    removed = tuple(ended.row["redactions"])
    reply = _reply(ended, ReplyKind.OUTPUT, output=ended.output.value if ended.output else None)
    if removed:
        findings.take("Where policy hid values the output was not held against its schema again.")
    validator = None if removed else attempt.capability.output_validator
    outcome = answered(attempt, reply, validator)
    return noted(outcome, removed) if removed else outcome


def _reply(ended: Ended, kind: ReplyKind, **came: Any) -> Reply:
    said = ended.said
    return Reply(
        kind=kind,
        upstream_status=said.get("upstream_status"),
        cost_cents=said.get("cost_cents"),
        **came,
    )


def _unreadable(attempt: Attempt, ended: Ended, error: Mapping[str, Any]) -> Normalised:
    reply = _reply(ended, ReplyKind.OUTPUT, output=ended.said["rejected_output"])
    removed = tuple(ended.row["redactions"])
    outcome = answered(attempt, reply, attempt.capability.output_validator)
    if not removed:
        return outcome
    # The hidden values may be what the schema was against: what it said then counts.
    return noted(replace(outcome, error=error), removed)


def _failed(
    attempt: Attempt, ended: Ended, error: Mapping[str, Any], findings: Findings
) -> Normalised:
    """A fault on the way, a cancellation, or a refusal after the call had been accepted."""
    status = _status_of_failure(attempt, ended, error, findings)
    return Normalised(
        status=status,
        score=_score(attempt, ended, status, error),
        error=error,
        upstream_status=ended.said.get("upstream_status"),
        cost_cents=ended.said.get("cost_cents"),
        redactions=tuple(ended.row["redactions"]),
    )


def _status_of_failure(
    attempt: Attempt, ended: Ended, error: Mapping[str, Any], findings: Findings
) -> ResultStatus:
    recorded = _RESULT_OF[DecisionStatus(ended.row["status"])]
    if not ended.said:
        return recorded
    if not attempt.call.is_write:
        return recorded if recorded is ResultStatus.CANCELLED else ResultStatus.FAILED
    sent = (error.get("details") or {}).get("request_sent", True)
    if error.get("code") in HARMLESS or sent is False:
        findings.take("Whether an earlier attempt may have had its effect was read from the row.")
        return recorded
    return recorded if recorded is ResultStatus.CANCELLED else ResultStatus.UNKNOWN_OUTCOME


def _score(attempt: Attempt, ended: Ended, status: ResultStatus, error: Mapping[str, Any]) -> Score:
    if status is ResultStatus.UNKNOWN_OUTCOME:
        return score_unknown()
    if status is ResultStatus.CANCELLED:
        finding = CriticFinding(str(error["code"]), str(error["message"]))
        return Score(Verdict.REPLAN, (finding,))
    left = attempts_left(attempt) if ended.said else 0
    return score_failure(error, attempts_left=left)


def check_result(decision: RecordedDecision, envelope: Mapping[str, Any], found: Findings) -> None:
    """Is the answer that callers are given the one that was worked out?"""
    kept = decision.stored_result
    if kept is None:
        return
    mine = {**envelope, "output": None}
    for name in sorted({*kept, *mine}):
        if kept.get(name) != mine.get(name):
            message = f"The stored answer says something else in {name} than the transcript gives."
            found.differ(
                DiffType.TRANSCRIPT, f"/result/{name}", kept.get(name), mine.get(name), message
            )
