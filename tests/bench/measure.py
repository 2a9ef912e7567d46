"""Timing that survives a noisy machine: repeats and medians; rows with their bars."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Row:
    """One figure and the bars it is held against; `higher_is_better` turns them round."""

    name: str
    value: float
    unit: str
    must: float
    aim: float
    higher_is_better: bool = False

    @property
    def ok(self) -> bool:
        """Whether the must is met."""
        return self.value >= self.must if self.higher_is_better else self.value <= self.must

    def as_dict(self) -> dict[str, object]:
        """The row of build/bench.json."""
        return {
            "name": self.name,
            "value": round(self.value, 3),
            "unit": self.unit,
            "must": self.must,
            "aim": self.aim,
            "ok": self.ok,
        }


def median_ms(action: Callable[[], object], *, repeats: int) -> float:
    """The median wall time of one call, in milliseconds, after one warm-up."""
    action()
    return statistics.median(_times(action, repeats)) * 1000


def p95_ms(action: Callable[[], object], *, repeats: int) -> float:
    """The 95th percentile of the wall time of one call, in milliseconds."""
    action()
    return statistics.quantiles(_times(action, repeats), n=20)[-1] * 1000


def median_us_of_many(action: Callable[[], object], *, inner: int, repeats: int) -> float:
    """For what is too short to time alone: the median over batches, in microseconds a call."""

    def batch() -> None:
        for _ in range(inner):
            action()

    batch()
    return statistics.median(_times(batch, repeats)) / inner * 1_000_000


def _times(action: Callable[[], object], repeats: int) -> Sequence[float]:
    spent = []
    for _ in range(repeats):
        started = time.perf_counter()
        action()
        spent.append(time.perf_counter() - started)
    return spent


def in_turns(
    first: Callable[[], object], second: Callable[[], object], *, calls: int
) -> tuple[list[float], list[float]]:
    """The seconds of each call of both, one after the other so that both meet the same machine;
    who begins alternates, since whoever comes second finds the caches as the other left them."""
    spent: tuple[list[float], list[float]] = ([], [])
    both = ((spent[0], first), (spent[1], second))
    for number in range(calls):
        for times, ask in both if number % 2 else both[::-1]:
            times.extend(_times(ask, 1))
    return spent


def settle() -> None:
    """Have PostgreSQL finish with what was filled in: its vacuum and its writing out would go on
    beside what is measured next."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("VACUUM (ANALYZE)")
        cursor.execute("CHECKPOINT")


def cpu_seconds(pid: int, *, with_children: bool = True) -> float:
    """What a process has used so far, user and system, with those it started or without."""
    own = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    spent = (int(own[11]) + int(own[12])) / _TICKS
    if not with_children:
        return spent
    return spent + sum(cpu_seconds(child) for child in children_of(pid))


def children_of(pid: int) -> list[int]:
    """The processes that any thread of a process started and that still run."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return [int(child) for task in tasks for child in (task / "children").read_text().split()]
