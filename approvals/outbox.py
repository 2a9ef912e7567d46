"""Sends what is due from a table of messages: claimed by one process, retried, given up in time.

Serves every model with `due_at`, `attempts`, `sent_at`, `failed_at` and `last_error`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, Literal

import structlog
from django.db.models import QuerySet

from contextos.core.clock import utcnow
from contextos.core.errors import ContextOSError

log = structlog.get_logger(__name__)
AT_ONCE = 100
ROUND_SECONDS = 10.0
# Longer than one attempt may take: after it, another process may try.
LEASE = timedelta(seconds=60)
# Pauses after the first, second ... failure; after the last one it is given up.
PAUSES = (10, 60, 300, 1800, 7200)
# What was told stays for questions about it; the request and its votes stay for good.
KEPT = timedelta(days=90)
FORGOTTEN_AT_ONCE = 500


class Undeliverable(Exception):  # noqa: N818  read as a sentence in one place
    """Trying again would not help; the text says why in one sentence."""


def send_due(
    rows: QuerySet[Any],
    send: Callable[[Any], None],
    *,
    receiver: Callable[[Any], object],
    now: datetime | None = None,
) -> int:
    """One bounded round; a receiver that fails is left alone until the next. How many were sent."""
    moment, until = now or utcnow(), time.monotonic() + ROUND_SECONDS
    due = waiting(rows).filter(due_at__lte=moment).order_by("due_at")
    unwell: set[object] = set()
    sent = 0
    for row in due[:AT_ONCE]:
        if time.monotonic() >= until:
            break
        if receiver(row) in unwell or not _claimed(row, moment):
            continue
        outcome = _attempted(row, send)
        sent += outcome == "sent"
        if outcome == "failed":
            unwell.add(receiver(row))
    return sent


def waiting(rows: QuerySet[Any]) -> QuerySet[Any]:
    """Neither sent nor given up."""
    return rows.filter(sent_at__isnull=True, failed_at__isnull=True)


def revive(rows: QuerySet[Any]) -> int:
    """Try again what was given up, from the start."""
    failed = rows.filter(sent_at__isnull=True, failed_at__isnull=False)
    return failed.update(failed_at=None, attempts=0, due_at=utcnow())


def _claimed(row: Any, now: datetime) -> bool:
    """Compare-and-set: of any number of processes one gets it."""
    mine = waiting(type(row)._default_manager.filter(pk=row.pk, due_at=row.due_at))
    if mine.update(due_at=now + LEASE, attempts=row.attempts + 1) != 1:
        return False
    row.attempts += 1
    return True


def _attempted(row: Any, send: Callable[[Any], None]) -> Literal["sent", "dropped", "failed"]:
    try:
        send(row)
    except Undeliverable as fault:
        _put(row, failed_at=utcnow(), last_error=str(fault)[:200])
        return "dropped"
    except ContextOSError as fault:
        _later(row, fault.message)
        return "failed"
    except Exception:
        log.exception("a message could not be sent", row=row.pk)
        _later(row, "An unexpected fault; the log has its details.")
        return "failed"
    _put(row, sent_at=utcnow(), last_error="")
    return "sent"


def _later(row: Any, why: str) -> None:
    now, error = utcnow(), why[:200]
    if row.attempts > len(PAUSES):
        _put(row, failed_at=now, last_error=error)
    else:
        pause = timedelta(seconds=PAUSES[row.attempts - 1])
        _put(row, due_at=now + pause, last_error=error)


def _put(row: Any, **values: Any) -> None:
    waiting(type(row)._default_manager.filter(pk=row.pk)).update(**values)


def forget_ended(rows: QuerySet[Any], *, now: datetime | None = None) -> int:
    """Drop what was sent or given up long ago, a bounded heap at a time; how many."""
    old = rows.filter(due_at__lt=(now or utcnow()) - KEPT)
    ended = old.filter(sent_at__isnull=False) | old.filter(failed_at__isnull=False)
    heap = list(ended.order_by().values_list("pk", flat=True)[:FORGOTTEN_AT_ONCE])
    rows.filter(pk__in=heap).delete()
    return len(heap)
