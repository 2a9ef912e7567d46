"""Timing that survives a noisy machine: repeats and medians; rows with their bars."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass


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
