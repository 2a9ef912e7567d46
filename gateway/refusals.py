"""Refusals leave a record too; a flood of the same one is counted instead of multiplied (E1)."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from django.db import DatabaseError
from django.db.models import F

from audit.decision_record import DecisionFacts, DecisionStatus, facts_of
from audit.decisions import prepare_decision, rows_of
from audit.one_statement import Insert, Update, Write, write_together
from contextos.core.canonical import digest
from contextos.core.clock import utcnow
from contextos.core.errors import ContextOSError, coded_error
from contextos.core.ids import new_id
from gateway.alerts import alert_policy_error
from gateway.answers import Answer, refusal
from gateway.context import CallContext
from gateway.models import RefusalWindow
from gateway.recording import decision_facts, sealed_inputs, sealed_terms

KEPT_AFTER_CLOSING = timedelta(minutes=10)
CLOSE_AT_ONCE = 500


def refuse(context: CallContext, error: ContextOSError) -> Answer:
    """Answer with the reason, once it is on record; without a record there is no other answer."""
    window = _window_hash(context, error)
    try:
        decision_id = _counted(window) or _recorded(context, error, window)
        alert_policy_error(context, error, decision_id)
    except DatabaseError:
        return refusal(context, coded_error("record.unavailable"), decision_id=None)
    return refusal(context, error, decision_id=decision_id)


def _minute(moment: datetime) -> datetime:
    return moment.replace(second=0, microsecond=0)


def _window_hash(context: CallContext, error: ContextOSError) -> str:
    caller = context.caller
    return digest(
        [
            caller.tenant_id,
            caller.agent.id,
            caller.user_id,
            context.request.capability_id,
            error.code,
            _minute(context.now).isoformat(),
        ]
    )


def _counted(window: str) -> str | None:
    """The first refusal's decision, if this one is a repeat within its minute."""
    rows = RefusalWindow.objects.filter(pk=window, closed=False)
    first = rows.values_list("decision_id", flat=True).first()
    return first if first and rows.update(repeats=F("repeats") + 1) else None


def _recorded(context: CallContext, error: ContextOSError, window: str) -> str:
    decision_id = new_id("dec")
    sealed = sealed_inputs(context, decision_id, after="window")
    facts = decision_facts(
        context,
        decision_id=decision_id,
        seq=1,
        status=DecisionStatus.REJECTED,
        error={"kind": error.kind.value, "code": error.code, "message": error.message},
        args_commitment=sealed.commitment,
    )
    row = {
        "window_hash": window,
        "tenant_id": facts.tenant_id,
        "decision_id": decision_id,
        "repeats": 0,
        "closes_at": _minute(context.now) + timedelta(minutes=1),
        "closed": False,
    }
    table = RefusalWindow._meta.db_table
    opened = Insert(name="window", table=table, values=row, unless_taken=["window_hash"])
    terms = sealed_terms(context, decision_id, after="window")
    record = prepare_decision(facts, after="window")
    done = write_together(opened, *record.writes, *sealed.writes, terms)
    if "window" in done:
        return decision_id
    return _counted(window) or _recorded_alone(facts, context)


def _recorded_alone(facts: DecisionFacts, context: CallContext) -> str:
    """The minute was closed in between: this refusal gets a row of its own."""
    sealed = sealed_inputs(context, facts.decision_id)
    own = replace(facts, args_commitment=sealed.commitment)
    terms = sealed_terms(context, facts.decision_id)
    write_together(*prepare_decision(own).writes, *sealed.writes, terms)
    return facts.decision_id


# --- when the minute is over ---------------------------------------------------------------------
def close_windows(now: datetime | None = None) -> int:
    """Write one row with the count for every minute that ended; how many were closed."""
    moment = now or utcnow()
    due = RefusalWindow.objects.filter(closed=False, closes_at__lte=moment)
    windows = list(due.order_by("closes_at")[:CLOSE_AT_ONCE])
    closed = sum(_close(window) for window in windows)
    old = RefusalWindow.objects.filter(closed=True, closes_at__lt=moment - KEPT_AFTER_CLOSING)
    old.delete()
    return closed


def _close(window: RefusalWindow) -> bool:
    """False when another process was faster, or one more repeat came in: the next sweep does it."""
    end = Update(
        name="window",
        table=RefusalWindow._meta.db_table,
        values={"closed": True},
        where={"window_hash": window.pk, "repeats": window.repeats, "closed": False},
    )
    writes: list[Write] = [end]
    if window.repeats:
        first = rows_of(tenant_id=window.tenant_id, decision_id=window.decision_id)[0]
        counted = replace(
            facts_of(first),
            decision_id=new_id("dec"),
            repeat_count=window.repeats,
            created_at=utcnow(),
        )
        writes += prepare_decision(counted, after="window").writes
    return "window" in write_together(*writes)
