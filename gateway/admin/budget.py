"""How much of a run's budget is used, as bars (pure)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from gateway.admin.labels import length, money
from gateway.models import Run

Tone = Literal["fine", "close", "over"]
CLOSE = 0.8


@dataclass(frozen=True, slots=True)
class Bar:
    """One measure: what is used, what is held back, and how much there is."""

    title: str
    said: str
    used: int  # in percent of the whole, as are the others
    held: int = 0
    tone: Tone = "fine"

    @property
    def held_end(self) -> int:
        """Where the part that is held back ends."""
        return min(100, self.used + self.held)


_NOBODY = timedelta(0)


def bars_of(run: Run, now: datetime, waiting: timedelta = _NOBODY) -> list[Bar]:
    """Calls, cost, wall time and time left; `waiting` is a wait for people that still goes on."""
    return [_calls(run), _cost(run), _wall(run, now, waiting), _left(run, now)]


def wall_ms_left(run: Run, now: datetime, waiting: timedelta = _NOBODY) -> float:
    """What remains of the run's working time; waiting for people did not count."""
    waited = timedelta(milliseconds=run.waited_ms) + waiting
    spent = (now - run.created_at - waited) / timedelta(milliseconds=1)
    return run.max_wall_ms - spent


def _calls(run: Run) -> Bar:
    said = f"{run.used_calls} of {run.max_calls} used"
    return Bar(
        "Calls",
        said,
        _percent(run.used_calls, run.max_calls),
        tone=_tone(run.used_calls, run.max_calls),
    )


def _cost(run: Run) -> Bar:
    taken = run.spent_cents + run.reserved_cents
    said = f"{money(run.spent_cents)} spent"
    if run.reserved_cents:
        said += f" and {money(run.reserved_cents)} reserved"
    return Bar(
        "Cost",
        f"{said}, of {money(run.max_cost_cents)}",
        _percent(run.spent_cents, run.max_cost_cents),
        _percent(run.reserved_cents, run.max_cost_cents),
        _tone(taken, run.max_cost_cents),
    )


def _wall(run: Run, now: datetime, waiting: timedelta) -> Bar:
    left = min(float(run.max_wall_ms), max(0.0, wall_ms_left(run, now, waiting)))
    spent = run.max_wall_ms - left
    said = f"{_ms(spent)} of {_ms(run.max_wall_ms)} used"
    waited = run.waited_ms + waiting / timedelta(milliseconds=1)
    if waited:
        said += f"; {_ms(waited)} of waiting for people not counted"
    return Bar(
        "Wall time", said, _percent(spent, run.max_wall_ms), tone=_tone(spent, run.max_wall_ms)
    )


def _left(run: Run, now: datetime) -> Bar:
    whole = (run.expires_at - run.created_at).total_seconds()
    gone = min(whole, max(0.0, (now - run.created_at).total_seconds()))
    over = now >= run.expires_at
    said = "over" if over else f"{length(run.expires_at - now)} left"
    return Bar("Until the run ends", said, _percent(gone, whole), tone=_tone(gone, whole))


def _ms(milliseconds: float) -> str:
    return length(timedelta(milliseconds=milliseconds))


def _percent(part: float, whole: float) -> int:
    if part <= 0:
        return 0
    return 100 if whole <= 0 else max(1, min(100, round(100 * part / whole)))


def _tone(part: float, whole: float) -> Tone:
    if part >= whole:
        return "over"
    return "close" if part >= CLOSE * whole else "fine"
