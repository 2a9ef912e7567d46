"""Waiting for a call to end: look, pause as long as the gateway asks, look again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .errors import ContextOSError, TooMany, Unreachable
from .retry import Clock, Retry, may_pass
from .types import CallRecord, ToolResult

LONGEST_ASKED = 30  # seconds a gateway holds an answer back at most (`Prefer: wait`)
# Held answers end with the call; a tool that asks something meanwhile must not wait behind one.
LONGEST_LOOK = 2
SHORTEST_PAUSE = 0.05
Look = Callable[[int], CallRecord]  # seconds the gateway may hold the answer back


def prefer_wait(seconds: float) -> int:
    """The whole seconds to ask for."""
    return max(0, min(LONGEST_ASKED, int(seconds)))


@dataclass(slots=True)
class Waiter:
    """Looks at one call until it ends, asks for input, or the time is up."""

    look: Look
    clock: Clock
    pacing: Retry
    until: float
    _looks: int = 0

    def wait(self) -> ToolResult:
        """The last result seen; it may still be waiting when the time is up."""
        while True:
            started = self.clock.now()
            result, asked = self._look_once()
            if result is not None and (not result.is_waiting or result.needs_input):
                return result
            pause = self._pause(asked, since=started)
            left = self.until - self.clock.now()
            if left <= 0:
                return _last(result)
            self.clock.sleep(min(pause, left))

    def _look_once(self) -> tuple[ToolResult | None, float | None]:
        """What the call says, and when to look again; a fault that may pass says nothing."""
        self._looks += 1
        try:
            left = min(LONGEST_LOOK, self.until - self.clock.now())
            result = self.look(prefer_wait(left)).result
        except ContextOSError as fault:
            passing = may_pass(fault, repeated=False) or isinstance(fault, TooMany)
            if not passing or self.clock.now() >= self.until:
                raise
            return None, fault.retry_after
        return result, result.poll_after if result else None

    def _pause(self, asked: float | None, *, since: float) -> float:
        """The pause without the time the gateway held the answer back already."""
        spent = self.clock.now() - since
        return max(SHORTEST_PAUSE, self.pacing.pause(self._looks, asked) - spent)


def _last(result: ToolResult | None) -> ToolResult:
    if result is None:
        raise Unreachable("The gateway knows the call but told nothing of it in time.")
    return result
