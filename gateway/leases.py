"""A call is worked on only by who holds its lease; taking one is a compare-and-set."""

from __future__ import annotations

import os
import threading
from datetime import datetime, timedelta

from django.db.models import F, Q, QuerySet

from contextos.core.clock import utcnow
from gateway.models import ToolCall
from gateway.states import CallState

# How long after its deadline a call is taken for abandoned.
LEASE_MARGIN = timedelta(seconds=5)
# How long a call that can't even be read is left alone, so that others have their turn.
PUT_ASIDE = timedelta(seconds=30)


def worker_name() -> str:
    """Who holds a lease: this thread of this process."""
    return f"{os.uname().nodename}:{os.getpid()}:{threading.get_ident()}"[:100]


def lease_to_execute(call: ToolCall, *, seconds: float) -> bool:
    """Commit the intent to attempt a queued call; False when somebody else was faster."""
    moment = utcnow()
    deadline = moment + timedelta(seconds=seconds)
    rows = ToolCall.objects.filter(pk=call.pk, state=CallState.QUEUED)
    taken = rows.update(
        state=CallState.EXECUTING,
        worker=worker_name(),
        attempts=F("attempts") + 1,
        deadline_at=deadline,
        lease_until=deadline + LEASE_MARGIN,
    )
    if taken:
        call.refresh_from_db()
    return bool(taken)


def lease_to_poll(call: ToolCall, *, seconds: float) -> bool:
    """Take long-running work to ask after it; False when it is held, or not working any more."""
    moment = utcnow()
    deadline = moment + timedelta(seconds=seconds)
    rows = ToolCall.objects.filter(_free(moment), pk=call.pk, state=CallState.WORKING)
    taken = rows.update(
        worker=worker_name(),
        polls=F("polls") + 1,
        deadline_at=deadline,
        lease_until=deadline + LEASE_MARGIN,
    )
    if taken:
        call.refresh_from_db()
    return bool(taken)


def due_calls(now: datetime) -> QuerySet[ToolCall]:
    """Calls that a worker should take up now, longest due first."""
    waiting = ToolCall.objects.filter(
        _free(now), state__in=[CallState.QUEUED, CallState.WORKING], due_at__lte=now
    )
    return waiting.order_by("due_at")


def lost_calls(now: datetime) -> QuerySet[ToolCall]:
    """Attempts whose worker has not been heard of since its lease ran out, longest lost first."""
    lost = ToolCall.objects.filter(state=CallState.EXECUTING, lease_until__lt=now)
    return lost.order_by("lease_until")


def _free(now: datetime) -> Q:
    return Q(lease_until__isnull=True) | Q(lease_until__lt=now)
