"""Counts calls against a rate, in this process or in the database."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

from django.db.models import F

from contextos.core.clock import utcnow
from gateway.models import RateCount

MOST_KEPT = 10_000  # windows in one process; beyond that the empty ones are dropped


@dataclass(frozen=True, slots=True)
class Rate:
    """So many calls in so many seconds."""

    max: int
    per_seconds: float

    @classmethod
    def declared(cls, said: object) -> Rate | None:
        """The `rate_limit` of a manifest; nothing said means no rate but the run's own budget."""
        if not isinstance(said, Mapping):
            return None
        return cls(int(said["max"]), float(said["per_seconds"]))


class Counter(Protocol):
    """Where calls are counted."""

    def take(self, tenant_id: str, capability_id: str, rate: Rate) -> float | None:
        """Count one call and return None; or count nothing and return the seconds to wait."""

    def used(self, tenant_id: str, capability_id: str, rate: Rate) -> int:
        """How many calls the running window holds."""


class InProcess:
    """A moving window per capability: exact within the process, which is all the embedded mode has.

    Not the library's own: that one starts a thread for almost every call, and drops locks that
    another thread may hold.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._windows: dict[tuple[str, str], deque[float]] = {}

    def take(self, tenant_id: str, capability_id: str, rate: Rate) -> float | None:
        """See Counter."""
        with self._lock:
            now = self._clock()
            window = self._window(tenant_id, capability_id)
            over = now - rate.per_seconds
            while window and window[0] <= over:
                window.popleft()
            if len(window) >= rate.max:
                return window[-rate.max] - over
            window.append(now)
        return None

    def used(self, tenant_id: str, capability_id: str, rate: Rate) -> int:
        """See Counter."""
        with self._lock:
            over = self._clock() - rate.per_seconds
            return sum(
                moment > over for moment in self._windows.get((tenant_id, capability_id), ())
            )

    def _window(self, tenant_id: str, capability_id: str) -> deque[float]:
        found = self._windows.get((tenant_id, capability_id))
        if found is not None:
            return found
        if len(self._windows) >= MOST_KEPT:
            self._windows = {name: kept for name, kept in self._windows.items() if kept}
        return self._windows.setdefault((tenant_id, capability_id), deque())


class InDatabase:
    """A window that begins with its first call; each step is one compare-and-set UPDATE."""

    def take(self, tenant_id: str, capability_id: str, rate: Rate) -> float | None:
        """See Counter."""
        now = utcnow()
        span = timedelta(seconds=rate.per_seconds)
        row = RateCount.objects.filter(tenant_id=tenant_id, capability_id=capability_id)
        running = row.filter(window_started_at__gt=now - span)
        over = row.filter(window_started_at__lte=now - span)
        for _ in range(3):  # somebody else may begin the window between two of these steps
            if running.filter(used__lt=rate.max).update(used=F("used") + 1):
                return None
            if over.update(window_started_at=now, used=1):
                return None
            began = running.values_list("window_started_at", flat=True).first()
            if began is not None:
                return max(0.001, (began + span - utcnow()).total_seconds())
            empty = RateCount(
                tenant_id=tenant_id, capability_id=capability_id, window_started_at=now
            )
            RateCount.objects.bulk_create([empty], ignore_conflicts=True)
        return rate.per_seconds

    def used(self, tenant_id: str, capability_id: str, rate: Rate) -> int:
        """See Counter."""
        since = utcnow() - timedelta(seconds=rate.per_seconds)
        rows = RateCount.objects.filter(
            tenant_id=tenant_id, capability_id=capability_id, window_started_at__gt=since
        )
        return rows.values_list("used", flat=True).first() or 0
