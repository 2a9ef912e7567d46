"""After a person answered: the call is checked again on today's state and goes on, or ends."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import structlog
from django.db.models import QuerySet

from audit.decision_record import DecisionStatus
from audit.decisions import prepare_decision
from audit.one_statement import Update, write_together
from contextos.core.clock import utcnow
from contextos.core.errors import ContextOSError, coded_error
from gateway.attempts import Attempt, ending_from_row
from gateway.dispatch import dispatch
from gateway.ending import Ending, finish, move, next_row
from gateway.models import Consent, ConsentRequest, ConsentState, Run, ToolCall
from gateway.normalise import normalise_refused
from gateway.resume import why_not_now
from gateway.states import CallState

log = structlog.get_logger(__name__)
AT_ONCE = 200


@dataclass(frozen=True, slots=True)
class _End:
    code: str
    status: DecisionStatus


_ENDS = {
    ConsentState.DECLINED: _End("consent.declined", DecisionStatus.REJECTED),
    ConsentState.EXPIRED: _End("consent.expired", DecisionStatus.EXPIRED),
}


def consent_decided(request: ConsentRequest) -> None:
    """Act on an answered request; doing it twice changes nothing."""
    call = ToolCall.objects.select_related("run").get(pk=request.tool_call_id)
    if call.state == CallState.PAUSED:
        try:
            _go_on(request, call)
        except ContextOSError as taken:
            if taken.code != "call.lost_lease":
                raise
            return
    ConsentRequest.objects.filter(pk=request.pk).update(closed_at=utcnow())


def _go_on(request: ConsentRequest, call: ToolCall) -> None:
    attempt = ending_from_row(call)
    if request.state in _ENDS:
        end = _ENDS[ConsentState(request.state)]
        _finish(request, attempt, coded_error(end.code), end.status)
        return
    changed = why_not_now(call)
    if changed is not None:
        fault = coded_error("consent.voided", message=f"It may not run any more: {changed}")
        _finish(request, attempt, fault, DecisionStatus.REJECTED)
        return
    _queue(request, attempt)


def _finish(
    request: ConsentRequest, attempt: Attempt, fault: ContextOSError, status: DecisionStatus
) -> None:
    ending = Ending(keeps_transcript=False, waited_ms=_waited_ms(request), status=status)
    finish(attempt, normalise_refused(fault), ending)


def _queue(request: ConsentRequest, attempt: Attempt) -> None:
    call = attempt.call
    facts = next_row(attempt, DecisionStatus.APPROVED, error=None)
    waited = Update(
        name="run",
        table=Run._meta.db_table,
        values={},
        add={"waited_ms": _waited_ms(request)},
        where={"run_id": call.run_id},
        after="call",
    )
    done = write_together(
        move(call, CallState.QUEUED, facts, {"due_at": utcnow(), "ends_at": None}),
        *prepare_decision(facts, after="call").writes,
        waited,
    )
    if "call" not in done:
        raise coded_error("call.lost_lease")
    dispatch(call.pk)


def _waited_ms(request: ConsentRequest) -> int:
    return max(0, int((utcnow() - request.created_at).total_seconds() * 1000))


# --- several at once, and the sweep --------------------------------------------------------------
def answered_alike(consent: Consent) -> list[ConsentRequest]:
    """Every call of the person that waits for no more than this consent covers."""
    rows = ConsentRequest.objects.filter(
        credential_id=consent.credential_id, user_id=consent.user_id, state=ConsentState.PENDING
    )
    alike = [row for row in rows[:AT_ONCE] if set(row.scopes) <= set(consent.scopes)]
    return [row for row in alike if settle(row, ConsentState.GRANTED)]


def settle(request: ConsentRequest, state: ConsentState) -> bool:
    """The compare-and-set that answers a request once."""
    rows = ConsentRequest.objects.filter(pk=request.pk, state=ConsentState.PENDING)
    if not rows.update(state=state, decided_at=utcnow(), sealed_verifier=None):
        return False
    request.state = state
    return True


def sweep_consents(now: datetime) -> int:
    """Expire what nobody answered, let go of what nobody waits for, act on what was missed."""
    open_rows = ConsentRequest.objects.filter(closed_at__isnull=True)
    for request in open_rows.filter(state=ConsentState.PENDING, expires_at__lte=now)[:AT_ONCE]:
        settle(request, ConsentState.EXPIRED)
    _withdraw(open_rows.filter(state=ConsentState.PENDING))
    missed = list(open_rows.exclude(state=ConsentState.PENDING)[:AT_ONCE])
    for request in missed:
        try:
            consent_decided(request)
        except Exception:
            log.exception("an answered consent could not be acted on", request_id=request.pk)
    return len(missed)


def _withdraw(pending: QuerySet[ConsentRequest]) -> None:
    """Their calls were cancelled, or ended in another way."""
    waiting = ToolCall.objects.filter(state=CallState.PAUSED).values("tool_call_id")
    gone = pending.exclude(tool_call_id__in=waiting)
    gone.update(state=ConsentState.WITHDRAWN, decided_at=utcnow(), sealed_verifier=None)
