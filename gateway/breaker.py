"""A breaker per adapter and tenant: opens on failures, lets probes through, closes on success.

Its row is shared by all processes and changed by compare-and-set. A healthy call costs no statement
of its own: whether any breaker of the tenant is not closed is read together with the run, and a
success writes nothing. Successes are counted in the process and told with its next failure, as far
as they lie within the window: what went well an hour ago says nothing of an adapter that fails now
(C12).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta

import structlog
from django.db import DatabaseError, transaction
from django.db.models import F, QuerySet

from audit.services import record_event
from contextos.core.clock import format_time, utcnow
from contextos.core.errors import ContextOSError, ErrorKind, coded_error
from contextos.core.events import Actor, automation
from contextos.identity.actors import require_authority
from gateway.adapter_terms import Terms, terms_of
from gateway.alerts import raise_alert
from gateway.context import CallContext
from gateway.models import AlertKind, Breaker
from gateway.states import BreakerState

log = structlog.get_logger(__name__)
ACTOR = automation("breaker")
# Probes that nobody heard of again, since their process died, make room for others after this.
PROBE_PATIENCE = timedelta(seconds=30)
WHILE_PROBING = timedelta(seconds=1)

_COUNTED = frozenset({ErrorKind.TIMEOUT, ErrorKind.UPSTREAM})
# Ends of calls that say nothing of the far side: ours were busy, or somebody stopped it.
_NOT_ITS_FAULT = frozenset({"call.cancelled", "function.busy"})

_LONGEST_WINDOW = 3600  # what the terms of an adapter allow at most, in seconds
# Since the last failure told: seconds in which something went well, each with how much did. Threads
# that meet here may lose a count, which does no harm.
_successes: dict[tuple[str, str], dict[int, int]] = {}
_probing: set[tuple[str, str]] = set()  # adapters that this process probes


def is_failure(fault: ContextOSError) -> bool:
    """Whether a fault counts against the adapter: transport and upstream, never a tool's own no."""
    if fault.code in _NOT_ITS_FAULT:
        return False
    return fault.kind in _COUNTED or fault.code == "egress.unresolvable"


# --- before a call --------------------------------------------------------------------------------
def admit(context: CallContext) -> None:
    """Refuse while the breaker is open; half open, this very call may be a probe."""
    if not getattr(context.run, "has_breakers", False):
        return  # read with the run itself, so that the usual call pays nothing
    tenant_id, adapter_id = context.caller.tenant_id, context.capability.adapter_id
    wait = waiting_time(tenant_id, adapter_id, takes_probe=context.is_quick)
    if wait is not None:
        raise coded_error(
            "circuit.open",
            data={"adapter_id": adapter_id},
            retry_after_ms=max(1, int(wait.total_seconds() * 1000)),
        )


def waiting_time(tenant_id: str, adapter_id: str, *, takes_probe: bool = True) -> timedelta | None:
    """How long to stay away; None = go on. Where that makes a probe, its place is taken here."""
    for _ in range(3):  # another process may move the breaker between reading and writing
        breaker = _rows(tenant_id, adapter_id).first()
        if breaker is None or breaker.state == BreakerState.CLOSED or breaker.retry_at is None:
            return None
        now = utcnow()
        resting = now < breaker.retry_at
        if resting and breaker.state == BreakerState.OPEN:
            return breaker.retry_at - now
        if not takes_probe:
            return None  # whoever executes it later takes the place then
        if _took_probe(breaker, terms_of(tenant_id, adapter_id), now):
            _probing.add((tenant_id, adapter_id))
            return None
        if resting:
            return WHILE_PROBING
    return WHILE_PROBING


def _took_probe(breaker: Breaker, terms: Terms, now: datetime) -> bool:
    same = Breaker.objects.filter(pk=breaker.pk, state=breaker.state, retry_at=breaker.retry_at)
    if breaker.retry_at is not None and now < breaker.retry_at:
        return bool(same.filter(probes__lt=terms.probes).update(probes=F("probes") + 1))
    begun = {"state": BreakerState.HALF_OPEN, "probes": 1, "retry_at": now + PROBE_PATIENCE}
    return bool(same.update(**begun, changed_at=now))


# --- after it -------------------------------------------------------------------------------------
def note_outcome(tenant_id: str, adapter_id: str, reply: object) -> None:
    """What an attempt brought back: a fault on the way, or an answer of whatever kind."""
    if not isinstance(reply, ContextOSError):
        note_success(tenant_id, adapter_id)
    elif is_failure(reply):
        _guarded(_count_failure, tenant_id, adapter_id, reply.code)


def note_success(tenant_id: str, adapter_id: str) -> None:
    """The adapter answered, were it with a no of its own; a probe's answer closes the breaker."""
    key, second = (tenant_id, adapter_id), int(utcnow().timestamp())
    counted = _successes.setdefault(key, {})
    counted[second] = counted.get(second, 0) + 1
    if len(counted) > 2 * _LONGEST_WINDOW:  # an adapter that never fails is not kept for ever
        for old in list(counted)[:_LONGEST_WINDOW]:
            counted.pop(old, None)
    if key in _probing:
        _probing.discard(key)
        _guarded(_close_after_probe, tenant_id, adapter_id)


def _guarded(change: Callable[..., None], *arguments: str) -> None:
    """What became of the call is recorded in any case: a breaker that can't be written waits."""
    try:
        with transaction.atomic():
            change(*arguments)
    except DatabaseError:
        log.exception("the breaker could not be written", adapter_id=arguments[1])


def _count_failure(tenant_id: str, adapter_id: str, code: str) -> None:
    now, terms = utcnow(), terms_of(tenant_id, adapter_id)
    if _reopened(tenant_id, adapter_id, code, terms, now):
        return
    calls = 1 + _recent_successes((tenant_id, adapter_id), now - terms.window)
    told = {"last_code": code[:100], "changed_at": now}
    first = {"window_started_at": now, "failures": 1, "calls": calls, **told}
    closed = _rows(tenant_id, adapter_id).filter(state=BreakerState.CLOSED)
    running = closed.filter(window_started_at__gt=now - terms.window)
    over = closed.filter(window_started_at__lte=now - terms.window)
    for _ in range(2):  # a row that another process makes meanwhile counts this one too
        if running.update(failures=F("failures") + 1, calls=F("calls") + calls, **told):
            break
        if (
            over.update(**first)
            or _rows(tenant_id, adapter_id).get_or_create(
                defaults=first, tenant_id=tenant_id, adapter_id=adapter_id
            )[1]
        ):
            break
    share = F("calls") * terms.failure_percent / 100
    due = closed.filter(failures__gte=terms.failures).filter(failures__gte=share)
    _open(due, terms, now, opens=1)


def _recent_successes(key: tuple[str, str], since: datetime) -> int:
    """What went well since then and was not told yet; from now on it is."""
    counted, first = _successes.pop(key, {}), int(since.timestamp())
    return sum(number for second, number in list(counted.items()) if second >= first)


def _reopened(tenant_id: str, adapter_id: str, code: str, terms: Terms, now: datetime) -> bool:
    breaker = _rows(tenant_id, adapter_id).filter(state=BreakerState.HALF_OPEN).first()
    if breaker is None:
        return False
    _probing.discard((tenant_id, adapter_id))
    same = Breaker.objects.filter(pk=breaker.pk, state=BreakerState.HALF_OPEN)
    same.update(last_code=code[:100])
    _open(same.filter(retry_at=breaker.retry_at), terms, now, opens=breaker.opens + 1)
    return True


def _open(rows: QuerySet[Breaker], terms: Terms, now: datetime, *, opens: int) -> None:
    """Whoever's UPDATE finds the row as it should be has opened it, and tells so; once."""
    breaker = rows.first()
    if breaker is None:
        return
    opened = {"opened_at": now, "retry_at": now + terms.rest(opens), "opens": opens, "probes": 0}
    if not rows.update(state=BreakerState.OPEN, changed_at=now, **opened):
        return
    facts = {
        "adapter_id": breaker.adapter_id,
        "last_failure": breaker.last_code,
        "failures": breaker.failures,
        "calls": breaker.calls,
        "times_in_a_row": opens,
        "next_probe_at": format_time(now + terms.rest(opens)),
    }
    _record(breaker, "gateway.breaker.opened", ACTOR, data=facts)
    if opens == 1:  # a probe that fails is no news
        raise_alert(
            tenant_id=breaker.tenant_id,
            kind=AlertKind.BREAKER_OPEN,
            subject=breaker.adapter_id,
            facts=facts,
            happened_at=now,
        )


def _close_after_probe(tenant_id: str, adapter_id: str) -> None:
    """Where another probe, of another process, has found it broken meanwhile, that stands."""
    _close(_rows(tenant_id, adapter_id).filter(state=BreakerState.HALF_OPEN), ACTOR)


def _close(rows: QuerySet[Breaker], actor: Actor, reason: str = "") -> bool:
    breaker, now = rows.first(), utcnow()
    if breaker is None:
        return False
    fresh = {"failures": 0, "calls": 0, "opens": 0, "probes": 0, "window_started_at": now}
    rest = {"retry_at": None, "opened_at": None, "changed_at": now}
    if not rows.update(state=BreakerState.CLOSED, **fresh, **rest):
        return False
    _successes.pop((breaker.tenant_id, breaker.adapter_id), None)
    data = {"adapter_id": breaker.adapter_id, "was": str(breaker.state)}
    _record(breaker, "gateway.breaker.closed", actor, reason=reason, data=data)
    return True


# --- by hand --------------------------------------------------------------------------------------
@transaction.atomic
def reset_breaker(*, tenant_id: str, adapter_id: str, reason: str, actor: Actor) -> None:
    """Close it by hand, with a reason: calls pass again at once, in every process."""
    require_authority(actor, tenant_id)
    if not reason.strip():
        raise coded_error("adapter.reason_missing")
    waiting = _rows(tenant_id, adapter_id).exclude(state=BreakerState.CLOSED)
    if not _close(waiting, actor, reason.strip()):
        raise coded_error("breaker.already_closed")


def _rows(tenant_id: str, adapter_id: str) -> QuerySet[Breaker]:
    return Breaker.objects.filter(tenant_id=tenant_id, adapter_id=adapter_id)


def _record(
    breaker: Breaker, action: str, actor: Actor, *, data: Mapping[str, object], reason: str = ""
) -> None:
    record_event(
        tenant_id=breaker.tenant_id,
        action=action,
        actor=actor,
        subject_kind="adapter",
        subject_id=breaker.adapter_id,
        reason=reason,
        data=data,
    )
