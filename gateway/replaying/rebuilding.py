"""The rows of a decision written once more, and held against those that were recorded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from audit.decision_record import TERMINAL, DecisionFacts, DecisionStatus, as_record, facts_of
from contextos.core.canonical import digest
from gateway.accepting import call_envelope, first_rows
from gateway.context import CallContext
from gateway.ending import evidence_in, last_row, result_envelope
from gateway.hashes import Kept, call_hash, result_hash
from gateway.idempotency import fingerprint
from gateway.recording import decision_facts
from gateway.replaying.findings import DiffType, Findings, ReplayStep, differing
from gateway.replaying.recorded import KeptValue, RecordedDecision
from gateway.replaying.results import Ended, attempt_of, check_result, ended_by, outcome_again
from gateway.replays import scope_of

_ENDING = TERMINAL | {DecisionStatus.UNKNOWN}
_TYPES = {
    "policy_decision": DiffType.POLICY,
    "approvals": DiffType.POLICY,
    "redactions": DiffType.POLICY,
    "capability": DiffType.MANIFEST,
    "lineage": DiffType.MANIFEST,
    "decision_key": DiffType.MANIFEST,
    "controls_active": DiffType.MANIFEST,
    "evidence_refs": DiffType.EVIDENCE,
    "scorecard": DiffType.SCORE,
    "tool_call_hash": DiffType.TRANSCRIPT,
    "tool_result_hash": DiffType.TRANSCRIPT,
    "error": DiffType.TRANSCRIPT,
    "attempts": DiffType.TRANSCRIPT,
    "cost_cents": DiffType.TRANSCRIPT,
    "status": DiffType.TRANSCRIPT,
    "outcome": DiffType.TRANSCRIPT,
}


def check_refusal(
    context: CallContext, decision: RecordedDecision, error: Mapping[str, Any], found: Findings
) -> None:
    """A call that was not let in has one row."""
    facts = decision_facts(
        context,
        decision_id=decision.decision_id,
        seq=1,
        status=DecisionStatus.REJECTED,
        error=dict(error),
        args_commitment=decision.first["args_commitment"],
        repeat_count=decision.first["repeat_count"],
    )
    _compare(facts, decision, 0, found)
    found.passed(ReplayStep.ROWS)


def check_all_rows(context: CallContext, decision: RecordedDecision, found: Findings) -> None:
    """Every row of a call that was let in, each built on the one before."""
    began, rows = _began(context, decision, found), decision.rows
    for at, facts in enumerate(began[: len(rows)]):
        _compare(facts, decision, at, found)
    if len(began) > len(rows):
        wanted = [facts.status.value for facts in began]
        message = "The decision has fewer rows than it begins with."
        found.differ(DiffType.TAMPER, "/rows", wanted, len(rows), message)
        return
    facts = began[-1]
    for at in range(len(began), len(rows)):
        facts = _next(context, decision, at, facts, found)
        _compare(facts, decision, at, found)
    found.passed(ReplayStep.ROWS)


# --- how it begins -------------------------------------------------------------------------------
def _began(
    context: CallContext, decision: RecordedDecision, found: Findings
) -> list[DecisionFacts]:
    return first_rows(
        context,
        decision_id=decision.decision_id,
        args_commitment=decision.first["args_commitment"],
        idempotency=_idempotency(context, decision, found),
        tool_call_hash=_call_hash(context, decision, found),
    )


def _call_hash(context: CallContext, decision: RecordedDecision, found: Findings) -> str | None:
    if decision.call is None:
        found.take("The call itself is not kept any more; its hash was read from the record.")
        recorded: str | None = decision.first["tool_call_hash"]
        return recorded
    envelope, commitment = (
        call_envelope(context, decision.call.tool_call_id),
        decision.first["args_commitment"],
    )
    args = decision.newest("args")
    plainly = digest({**envelope, "args": commitment})
    # Records of earlier versions have the agent's other words in it as they were.
    if args is None or not args.salt or plainly == decision.first["tool_call_hash"]:
        return plainly
    return call_hash(envelope, commitment=commitment, salt=args.salt)


def _idempotency(
    context: CallContext, decision: RecordedDecision, found: Findings
) -> Mapping[str, Any] | None:
    recorded: Mapping[str, Any] | None = decision.first["idempotency"]
    if context.key is None or recorded is None:
        return None if context.key is None else {"key_hash": _key_hash(context)}
    if decision.salt_of_key is None:
        found.take("The salt of the key is forgotten; its fingerprint was read from the record.")
        mark = recorded["fingerprint"]
    else:
        mark = fingerprint(decision.salt_of_key, context.args)
    return {"key_hash": _key_hash(context), "fingerprint": mark, "replayed": False}


def _key_hash(context: CallContext) -> str:
    return scope_of(context).hash_of(context.key or "")


# --- how it goes on ------------------------------------------------------------------------------
def _next(
    context: CallContext,
    decision: RecordedDecision,
    at: int,
    before: DecisionFacts,
    found: Findings,
) -> DecisionFacts:
    record = decision.rows[at].record
    status = DecisionStatus(record["status"])
    # Whom the attempt was with, and with which credential, only the record can tell.
    base = replace(
        before,
        seq=before.seq + 1,
        status=status,
        attempts=record["attempts"],
        egress=record["egress"],
        credentials=record["credentials"],
        lineage=replace(before.lineage, server=record["lineage"]["server"]),
        approvals=record["approvals"],
    )
    if status in _ENDING:
        return _ended(context, decision, at, base, found)
    return replace(base, error=record["error"])


def _ended(
    context: CallContext, decision: RecordedDecision, at: int, base: DecisionFacts, found: Findings
) -> DecisionFacts:
    if decision.call is None:
        found.take("The call itself is not kept any more; its result was read from the record.")
        return facts_of(decision.rows[at].record)
    ended = ended_by(decision, at, found)
    before = replace(base, seq=base.seq - 1)
    attempt = attempt_of(context, decision, before)
    outcome = outcome_again(attempt, ended, found)
    ref = _evidence_ref(decision, at)
    envelope = _told_then(ended, result_envelope(attempt, outcome, ended.latency_ms, ref))
    hashed = result_hash(envelope, _as_then(ended, envelope))
    facts = last_row(attempt, outcome, base.status, envelope, hashed)
    _check_evidence(decision, evidence_in(attempt, outcome), ref, found)
    if at == len(decision.rows) - 1:
        check_result(decision, envelope, found)
    found.passed(ReplayStep.RESULT)
    return _with_known_hash(facts, ended, found)


def _told_then(ended: Ended, envelope: dict[str, Any]) -> dict[str, Any]:
    """Results of earlier versions did not say what people were asked."""
    without = {name: value for name, value in envelope.items() if name != "approval"}
    is_earlier = result_hash(without, _as_then(ended, without)) == ended.row["tool_result_hash"]
    return without if is_earlier else envelope


def _as_then(ended: Ended, envelope: Mapping[str, Any]) -> Kept:
    """Records of earlier versions have what the tool said in their hash as it was."""
    plainly = Kept(ended.kept.commitment)
    is_earlier = result_hash(envelope, plainly) == ended.row["tool_result_hash"]
    return plainly if is_earlier else ended.kept


def _with_known_hash(facts: DecisionFacts, ended: Ended, found: Findings) -> DecisionFacts:
    if ended.latency_known:
        return facts
    found.take("How long an overtaken attempt took is not kept; the hash of its result was read.")
    return replace(facts, tool_result_hash=ended.row["tool_result_hash"])


def _evidence_ref(decision: RecordedDecision, at: int) -> str | None:
    before = set(decision.rows[at - 1].record["evidence_refs"])
    new = [ref for ref in decision.rows[at].record["evidence_refs"] if ref not in before]
    return str(new[0]) if new else None


def _check_evidence(
    decision: RecordedDecision, values: Mapping[str, Any], ref: str | None, found: Findings
) -> None:
    """One reference per result, over the declared keys that it really carries."""
    if bool(values) != (ref is not None):
        message = "The result carries other evidence than the record names."
        found.differ(DiffType.EVIDENCE, "/evidence", ref, sorted(values), message)
        return
    if ref is None:
        return
    found.passed(ReplayStep.EVIDENCE)
    kept = next((item for item in decision.evidence if item.evidence_ref == ref), None)
    if kept is None:
        found.differ(DiffType.EVIDENCE, f"/evidence/{ref}", ref, None, "The evidence is gone.")
        return
    if list(kept.keys) != list(values):
        message = "The evidence names other keys than the result carries."
        found.differ(
            DiffType.EVIDENCE, f"/evidence/{ref}/keys", list(kept.keys), list(values), message
        )
    stored = _stored(decision, kept.commitment)
    if stored is None or stored.value != values:
        message = "The evidence that is kept is not what the result carries."
        found.differ(
            DiffType.EVIDENCE, f"/evidence/{ref}/commitment", kept.commitment, None, message
        )


def _stored(decision: RecordedDecision, commitment: str) -> KeptValue | None:
    kept = decision.by_kind.get("evidence", ())
    return next((value for value in kept if value.commitment == commitment), None)


# --- the comparison ------------------------------------------------------------------------------
def _compare(facts: DecisionFacts, decision: RecordedDecision, at: int, found: Findings) -> None:
    """Member by member, but for what no replay can find out: when it was written and by whom."""
    record, mine = decision.rows[at].record, as_record(facts)
    mine.update(created_at=record["created_at"], span_id=record["span_id"])
    mine["lineage"]["runtime_build"] = record["lineage"]["runtime_build"]
    for name in differing(record, mine, skip=("record_hash",)):
        _differ(name, f"/rows/{at}/{name}", record.get(name), mine.get(name), found)


def _differ(name: str, place: str, expected: Any, got: Any, found: Findings) -> None:
    kind = _TYPES.get(name, DiffType.TAMPER)
    if not isinstance(expected, Mapping) or not isinstance(got, Mapping):
        found.differ(kind, place, expected, got, _words(name))
        return
    for member in differing(expected, got):
        path = f"{place}/{member}"
        found.differ(kind, path, expected.get(member), got.get(member), _words(f"{name}.{member}"))


def _words(name: str) -> str:
    return f"The record says something else about {name} than the replay comes to."
