"""Sends what streams have not taken yet: leased by one worker, in order, at least once (E7).

A worker holds a stream's lease while it sends, and its cursor moves only after the receiver took a
batch. One send can't outlast the lease, so two workers never send to one stream at the same time;
a worker that dies leaves the cursor where it was, and its batch is sent again with the same ids.
"""

from __future__ import annotations

import secrets
import time
from datetime import datetime, timedelta

import structlog
from django.db.models import F, Q, QuerySet

from audit.following import sealed_from
from contextos.core.clock import utcnow
from contextos.core.errors import ContextOSError
from contextos.core.text import single_line
from gateway.models import SiemStream
from gateway.siem.reading import records_of
from gateway.siem.sending import send_records

log = structlog.get_logger(__name__)
BATCH = 200
STREAMS_AT_ONCE = 50
ROUND_SECONDS = 20.0
LEASE = timedelta(seconds=60)  # far longer than one send may take
LONGEST_PAUSE = 300


def send_streams(now: datetime | None = None) -> int:
    """One round over the streams that are due; how many records were taken."""
    moment = now or utcnow()
    free = Q(lease_until__isnull=True) | Q(lease_until__lt=moment)
    due = SiemStream.objects.filter(free, is_active=True, due_at__lte=moment)
    return sum(_delivered_alone(stream) for stream in due.order_by("due_at")[:STREAMS_AT_ONCE])


def _delivered_alone(stream: SiemStream) -> int:
    """One stream that can't be sent keeps no other."""
    try:
        return deliver(stream)
    except Exception:
        log.exception("a SIEM stream could not be sent", stream=stream.pk)
        return 0


def deliver(stream: SiemStream) -> int:
    """Send until nothing waits, the round is over, or the receiver fails."""
    worker = secrets.token_hex(16)
    if not _leased(stream, worker):
        return 0
    stream.refresh_from_db()
    until, taken = time.monotonic() + ROUND_SECONDS, 0
    try:
        while time.monotonic() < until and (number := _step(stream, worker)) is not None:
            taken += number
    except ContextOSError as fault:
        _failed(stream, worker, fault)
    finally:
        _held(stream, worker).update(lease_until=None, worker="")
    return taken


def _leased(stream: SiemStream, worker: str) -> bool:
    now = utcnow()
    free = Q(lease_until__isnull=True) | Q(lease_until__lt=now)
    rows = SiemStream.objects.filter(free, pk=stream.pk, is_active=True)
    return bool(rows.update(lease_until=now + LEASE, worker=worker))


def _step(stream: SiemStream, worker: str) -> int | None:
    """One batch; None when nothing waits or the stream is not ours any more."""
    leaves = sealed_from(stream.tenant_id, stream.next_index, most=BATCH)
    now = utcnow()
    if not leaves or not _mine(stream, worker).update(lease_until=now + LEASE):
        return None
    records = records_of(leaves, stream.contents)
    if records:
        send_records(stream, records)
    after = leaves[-1].log_index + 1
    moved = _mine(stream, worker).filter(next_index=stream.next_index)
    changes = {"last_sent_at": utcnow()} if records else {}
    if not moved.update(
        next_index=after, sent=F("sent") + len(records), failures=0, last_error="", **changes
    ):
        return None  # paused, sent again from elsewhere, or taken over meanwhile
    stream.next_index = after
    return len(records)


def _held(stream: SiemStream, worker: str) -> QuerySet[SiemStream]:
    return SiemStream.objects.filter(pk=stream.pk, worker=worker)


def _mine(stream: SiemStream, worker: str) -> QuerySet[SiemStream]:
    """Still ours, and not paused meanwhile."""
    return _held(stream, worker).filter(is_active=True)


def _failed(stream: SiemStream, worker: str, fault: ContextOSError) -> None:
    failures = stream.failures + 1
    pause = timedelta(seconds=min(LONGEST_PAUSE, 2**failures))
    _mine(stream, worker).update(
        failures=failures,
        last_error=single_line(f"{fault.code}: {fault.message}", limit=300),
        due_at=utcnow() + pause,
    )
    log.warning("a SIEM stream was not taken", stream=stream.pk, code=fault.code)
