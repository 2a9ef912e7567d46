"""Unknown outcomes: a person records what really happened, or lets the same key run again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import transaction

from audit.services import record_event
from contextos.core.clock import utcnow
from contextos.core.envelopes import ResultStatus
from contextos.core.errors import ContextOSError, coded_error, tool_error
from contextos.core.events import Actor
from gateway.attempts import Attempt, ending_from_row
from gateway.critic import RECONCILED, CriticFinding, Score, Verdict
from gateway.dispatch import dispatch
from gateway.ending import Ending, finish
from gateway.models import ToolCall
from gateway.normalise import Normalised
from gateway.states import CallState

LEAST_EVIDENCE = 10
MAX_TEXT = 2000


@transaction.atomic
def record_outcome(
    *,
    tenant_id: str,
    tool_call_id: str,
    actor: Actor,
    happened: bool,
    evidence: str,
    output: Mapping[str, Any] | None = None,
) -> ToolCall:
    """Append the terminal row: later replays answer this."""
    stated = _stated(evidence)
    attempt = ending_from_row(_unknown(tenant_id, tool_call_id))
    if output is not None:
        _check_output(attempt, output, happened=happened)
    outcome = _happened(stated, output) if happened else _did_not_happen(stated)
    _ended(attempt, outcome)
    _told(attempt, actor, "call.reconciled", {"happened": happened, "evidence": stated})
    return ToolCall.objects.get(pk=tool_call_id)


@transaction.atomic
def run_again(*, tenant_id: str, tool_call_id: str, actor: Actor, reason: str) -> ToolCall:
    """Another attempt with the same key, where the adapter turns a repeat into the first answer."""
    stated = _stated(reason)
    attempt = ending_from_row(_unknown(tenant_id, tool_call_id))
    if attempt.gone is not None:
        raise attempt.gone
    if not attempt.may_run_again:
        raise coded_error("reconcile.not_deduplicated")
    rows = ToolCall.objects.filter(pk=tool_call_id, state=CallState.UNKNOWN_OUTCOME)
    afresh = {"result": "", "worker": "", "losses": 0, "cancel_reason": ""}
    if not rows.update(state=CallState.QUEUED, due_at=utcnow(), **afresh):
        raise coded_error("call.just_moved")
    _told(attempt, actor, "call.run_again", {"reason": stated})
    transaction.on_commit(lambda: dispatch(tool_call_id))
    return ToolCall.objects.get(pk=tool_call_id)


def _unknown(tenant_id: str, tool_call_id: str) -> ToolCall:
    calls = ToolCall.objects.select_related("run")
    call = calls.filter(pk=tool_call_id, tenant_id=tenant_id).first()
    if call is None:
        raise coded_error("call.unknown")
    if call.state != CallState.UNKNOWN_OUTCOME:
        raise coded_error("reconcile.not_unknown", data={"state": str(call.state)})
    return call


def _stated(text: str) -> str:
    stated = text.strip()[:MAX_TEXT]
    if len(stated) < LEAST_EVIDENCE:
        raise coded_error("reconcile.evidence_missing")
    return stated


def _check_output(attempt: Attempt, output: Mapping[str, Any], *, happened: bool) -> None:
    if not happened:
        raise coded_error("reconcile.output_without_effect")
    problems = attempt.capability.output_validator.errors(dict(output))
    if problems:
        raise coded_error(
            "reconcile.output_invalid",
            message=f"{problems[0].pointer or 'The output'}: {problems[0].message}",
        )


def _happened(stated: str, output: Mapping[str, Any] | None) -> Normalised:
    finding = CriticFinding(RECONCILED, f"A person found that it happened: {stated}")
    return Normalised(
        status=ResultStatus.OK,
        score=Score(Verdict.ACCEPT, (finding,)),
        output=dict(output) if output is not None else None,
        upstream_status="reconciled",
    )


def _did_not_happen(stated: str) -> Normalised:
    finding = CriticFinding(RECONCILED, f"A person found that it did not: {stated}")
    return Normalised(
        status=ResultStatus.FAILED,
        score=Score(Verdict.REPLAN, (finding,)),
        error=tool_error(coded_error("outcome.did_not_happen")),
        upstream_status="reconciled",
    )


def _ended(attempt: Attempt, outcome: Normalised) -> None:
    try:
        finish(attempt, outcome, Ending(keeps_transcript=False))
    except ContextOSError as moved:
        if moved.code != "call.lost_lease":
            raise
        raise coded_error("call.just_moved") from moved


def _told(attempt: Attempt, actor: Actor, action: str, data: dict[str, Any]) -> None:
    record_event(
        tenant_id=attempt.call.tenant_id,
        action=action,
        actor=actor,
        subject_kind="tool_call",
        subject_id=attempt.call.pk,
        data={**data, "decision_id": attempt.call.decision_id},
        trace_id=attempt.facts.trace_id,
    )
