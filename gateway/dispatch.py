"""Tells the workers that a call waits; the row is the job, so a lost message loses nothing."""

from __future__ import annotations

import time
from datetime import datetime, timedelta

import structlog
from django.conf import settings
from kombu.exceptions import OperationalError

log = structlog.get_logger(__name__)
# A message to the broker gets this long before the call is sent again.
RESEND_AFTER = timedelta(seconds=10)
# A broker that hangs costs whoever tries it some seconds; one pays them, not everybody in a row.
LEFT_ALONE_SECONDS = 5.0
_left_alone_until: dict[str, float] = {}


def has_broker() -> bool:
    """Whether Celery carries the ids; without it the embedded worker looks into the table."""
    return bool(settings.CELERY_BROKER_URL)


def first_look(now: datetime) -> datetime:
    """When to look after a call that is being dispatched: a message gets its time to arrive."""
    return now + RESEND_AFTER if has_broker() else now


def dispatch(tool_call_id: str) -> None:
    """Send an id to the workers; the sweep finds what could not be sent."""
    broker = settings.CELERY_BROKER_URL
    if not broker or time.monotonic() < _left_alone_until.get(broker, 0.0):
        return
    from gateway.tasks import work_on_call

    try:
        work_on_call.apply_async((tool_call_id,), retry=False)
    except OperationalError:
        _left_alone_until[broker] = time.monotonic() + LEFT_ALONE_SECONDS
        log.warning("broker unreachable, the sweep will find the call", tool_call_id=tool_call_id)
