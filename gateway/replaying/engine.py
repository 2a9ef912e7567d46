"""One decision taken again from its record alone, and how it compares (E4)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import structlog

import contextos
from contextos.core.errors import ContextOSError, spec_for
from gateway.context import CallContext
from gateway.pipeline import Stamp
from gateway.replaying.approving import check_approvals
from gateway.replaying.deciding import (
    Decided,
    args_not_kept,
    at_gate,
    opened_context,
    steps_again,
)
from gateway.replaying.findings import (
    UNREADABLE,
    DiffType,
    Findings,
    NotReplayable,
    ReplayResult,
    ReplayStep,
)
from gateway.replaying.integrity import check_rows, check_values
from gateway.replaying.rebuilding import check_all_rows, check_refusal
from gateway.replaying.recorded import RecordedDecision
from gateway.replaying.surroundings import Surroundings, terms_of

# Refusals that follow from documents, arguments and inputs alone.
_BY_RESOLVING = frozenset(
    {"capability.unknown", "permission.denied", "policy.no_bundle", "policy.bundle_missing"}
)
_BY_VALIDATING = frozenset(
    {
        "args.schema",
        "args.constraint",
        "json.integer_too_large",
        "idempotency.missing",
        "idempotency.malformed",
    }
)
_BY_PERMISSION = frozenset({"mode.above_permission"})
log = structlog.get_logger(__name__)


def replay_decision(decision: RecordedDecision, surroundings: Surroundings) -> ReplayResult:
    """Equal, different in named ways, or not to be had any more."""
    findings = Findings()
    try:
        check_rows(decision, findings)
        check_values(decision, findings)
        _note_build(decision, findings)
        _again(decision, surroundings, findings)
    except NotReplayable:
        pass
    except UNREADABLE as fault:
        log.warning("a decision can't be read", decision_id=decision.decision_id, exc_info=True)
        said = fault.message if isinstance(fault, ContextOSError) else type(fault).__name__
        message = f"What is kept of the decision is not of the form it is written in: {said}"
        findings.spoil(DiffType.TAMPER, "/recorded", None, None, message)
    return findings.result()


def _again(decision: RecordedDecision, surroundings: Surroundings, findings: Findings) -> None:
    terms = terms_of(decision)
    refused = _refusal_in(decision)
    if terms is None or (terms.bundles is None and refused is not None):
        _from_record(decision, refused or {}, findings)
        return
    compiled = surroundings.compiled(terms, findings)
    context = opened_context(decision, terms, compiled)
    inputs, stamp = _kept_inputs(decision)
    decided = steps_again(context, inputs, stamp)
    _note_steps(decided, findings)
    if refused is not None:
        _compare_refusal(decision, context, decided, refused, findings)
    else:
        _compare_call(decision, decided, findings)


def _note_build(decision: RecordedDecision, findings: Findings) -> None:
    """A build may have learnt a rule since; whoever reads a difference should know."""
    build = decision.first["lineage"]["runtime_build"]
    if build != contextos.__version__:
        findings.take(f"Decided by build {build}, taken again by build {contextos.__version__}.")


def _refusal_in(decision: RecordedDecision) -> Mapping[str, Any] | None:
    """Why the call was not let in; None where it was."""
    first = decision.first
    error: Mapping[str, Any] | None = first["error"] if first["status"] == "REJECTED" else None
    return error


def _kept_inputs(decision: RecordedDecision) -> tuple[Mapping[str, Any] | None, Stamp]:
    said = decision.first["policy_decision"] or {}
    stamp = Stamp(said.get("policy_decision_id"), said.get("evaluated_at"), said.get("inputs_hash"))
    kept = decision.newest("inputs")
    return (kept.value if kept is not None else None), stamp


def _note_steps(decided: Decided, findings: Findings) -> None:
    findings.passed(ReplayStep.RESOLVE)
    if decided.context.permitted is not None:
        findings.passed(ReplayStep.VALIDATE)
    if decided.context.decision is not None:
        findings.passed(ReplayStep.POLICY)


# --- a call that was let in ----------------------------------------------------------------------
def _compare_call(decision: RecordedDecision, decided: Decided, findings: Findings) -> None:
    if decided.refusal is not None:
        _other_outcome(decided, "let in", decided.refusal.code, findings)
        return
    context = at_gate(decided.context, decision)
    check_approvals(context, decision, findings)
    check_all_rows(context, decision, findings)


def _other_outcome(decided: Decided, expected: str, found: str, findings: Findings) -> None:
    """The steps end elsewhere: what follows from them would only repeat it."""
    by_policy = decided.context.decision is not None
    kind = DiffType.POLICY if by_policy else DiffType.MANIFEST
    path = "/policy_decision" if by_policy else "/capability"
    said = decided.refusal.message if decided.refusal else "Nothing refuses the call."
    message = f"Taken again, the decision comes out otherwise: {said}"
    findings.differ(kind, path, expected, found, message)


# --- a call that was refused ---------------------------------------------------------------------
def _compare_refusal(
    decision: RecordedDecision,
    before: CallContext,
    decided: Decided,
    refused: Mapping[str, Any],
    findings: Findings,
) -> None:
    code, refusal = str(refused["code"]), decided.refusal
    found = refusal.code if refusal is not None else None
    if found != code:
        if refusal is not None or (_is_pure(code, decision) and not args_not_kept(before)):
            _other_outcome(decided, code, found or "let in", findings)
            return
        findings.take(_why_taken(code))
    check_refusal(_as_far_as_then(decision, before, decided), decision, refused, findings)


def _is_pure(code: str, decision: RecordedDecision) -> bool:
    """Whether documents, arguments and inputs alone have to lead to this refusal."""
    if decision.first["policy_decision"] is not None:
        spoken = str(decision.first["policy_decision"]["reason"]).partition(":")[0]
        denied = not decision.first["policy_decision"]["allowed"]
        pure = code == "policy.obligation_unmet" or (denied and code == spoken)
        return pure or code in _BY_VALIDATING or code in _BY_PERMISSION
    return code in _BY_RESOLVING or code in _BY_VALIDATING or code == "policy.denied_by_rule"


def _as_far_as_then(
    decision: RecordedDecision, before: CallContext, decided: Decided
) -> CallContext:
    """A refusal's row tells only what was known when it was refused."""
    return before if decision.first["capability"]["class"] is None else decided.context


def _from_record(
    decision: RecordedDecision, refused: Mapping[str, Any], findings: Findings
) -> None:
    """What the refusal was measured against is not kept: the record stands for itself."""
    code = str(refused.get("code") or "")
    findings.take(_why_taken(code))
    if decision.run is None and decision.first["run_id"] is not None:
        findings.take("The run is not kept any more.")
    check_refusal(opened_context(decision, None, None), decision, refused, findings)


def _why_taken(code: str) -> str:
    try:
        title = spec_for(code).title
    except LookupError:
        title = code or "The refusal"
    return (
        f"“{title}” depends on the state of that moment, which no decision can carry; "
        "that it was so is taken from the record."
    )
