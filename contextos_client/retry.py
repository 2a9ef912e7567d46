"""Safe repetition: the same bytes, so the same key; only where repeating can't do harm."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass

from .errors import ContextOSError, KeyInFlight, Unavailable, Unreachable
from .wire import Answer


@dataclass(frozen=True, slots=True)
class Clock:
    """Time as the client reads it and spends it."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


@dataclass(frozen=True, slots=True)
class Retry:
    """How often and how patiently a request that may be repeated is repeated."""

    attempts: int = 3  # in all; 1 repeats nothing
    first_pause: float = 0.2
    longest_pause: float = 5.0

    def pause(self, attempt: int, asked: float | None = None) -> float:
        """Seconds before the next attempt: what the gateway asked for, else twice the last."""
        if asked is not None:
            return asked
        doubled = self.first_pause * 2.0 ** (attempt - 1)
        return min(doubled, self.longest_pause) * random.uniform(0.8, 1.2)  # noqa: S311


def may_pass(fault: ContextOSError, *, repeated: bool) -> bool:
    """Whether the same request can get another answer in a moment."""
    if isinstance(fault, Unavailable):
        return fault.http_status == 503 and fault.retryable
    # After a lost answer the key may be in flight because of our own first attempt.
    return isinstance(fault, Unreachable) or (repeated and isinstance(fault, KeyInFlight))


def send_repeatedly(send: Callable[[], Answer], *, retry: Retry, clock: Clock) -> Answer:
    """Send until there is an answer; the last fault is raised when patience ends."""
    for attempt in range(1, retry.attempts):
        try:
            return send()
        except ContextOSError as fault:
            pause = retry.pause(attempt, fault.retry_after)
            if not may_pass(fault, repeated=attempt > 1) or pause > retry.longest_pause:
                raise
        clock.sleep(pause)
    return send()
