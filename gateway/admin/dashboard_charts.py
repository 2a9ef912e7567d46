"""The dashboard's charts: data for the drawing, and the same numbers as a table."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from contextos.core.text import single_line
from gateway.admin.dashboard_figures import milliseconds, number
from gateway.figures.boards import Board, Point

_HOUR, _DAY = 3_600, 86_400
MOST_BARS = 12


@dataclass(frozen=True, slots=True)
class Chart:
    """One drawing; `rows` under `heads` are its accessible twin."""

    key: str
    title: str
    says: str
    data: str  # JSON for boards.js, escaped by the template
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def charts_of(found: Board) -> list[Chart]:
    """What happened over time, how long it took, and where it fails."""
    if not found.lines:
        return []
    return [_outcomes(found), _latency(found), _by_capability(found)]


def _outcomes(found: Board) -> Chart:
    series = {
        "executed": [point.sums["executed"] for point in found.points],
        "failed": [point.sums["failed"] for point in found.points],
        "denied": [point.sums.denied for point in found.points],
    }
    said = ", ".join(f"{number(sum(values))} {name}" for name, values in series.items())
    labels = _labels(found)
    return Chart(
        key="outcomes",
        title="Decisions over time",
        says=f"Stacked columns: {said}.",
        data=_data("bar", labels, series, stacked=True),
        heads=("From (UTC)", "Executed", "Failed", "Denied"),
        rows=_rows(labels, *series.values()),
    )


def _latency(found: Board) -> Chart:
    mean = [_whole(point.sums.latency.mean_ms) for point in found.points]
    p99 = [_whole(point.sums.latency.p99_ms) for point in found.points]
    labels, whole = _labels(found), found.totals.latency
    return Chart(
        key="latency",
        title="Latency of calls",
        says=f"Lines: mean {milliseconds(whole.mean_ms)}, p99 {milliseconds(whole.p99_ms)}.",
        data=_data("line", labels, {"p99": p99, "mean": mean}, unit="ms"),
        heads=("From (UTC)", "Mean (ms)", "p99 (ms)"),
        rows=_rows(labels, mean, p99),
    )


def _by_capability(found: Board) -> Chart:
    busiest = sorted(found.lines, key=lambda line: -line.sums.decisions)[:MOST_BARS]
    names = [single_line(line.place.capability_id or "not resolved", limit=48) for line in busiest]
    series = {
        "executed": [line.sums["executed"] for line in busiest],
        "failed": [line.sums["failed"] for line in busiest],
        "denied": [line.sums.denied for line in busiest],
    }
    worst = min(
        (line for line in busiest if line.sums.success_rate is not None),
        key=lambda line: line.sums.success_rate or 0.0,
        default=None,
    )
    said = f"Lowest success: {single_line(worst.place.capability_id)}." if worst else "None called."
    return Chart(
        key="capabilities",
        title="By capability" if len(found.lines) <= MOST_BARS else "The busiest capabilities",
        says=f"Bars for {len(busiest)} capabilities. {said}",
        data=_data("bar", names, series, stacked=True, sideways=True),
        heads=("Capability", "Executed", "Failed", "Denied"),
        rows=_rows(names, *series.values()),
    )


def _labels(found: Board) -> list[str]:
    return [_label(point, found.range.grain) for point in found.points]


def _label(point: Point, grain: int) -> str:
    if grain >= _DAY:
        return f"{point.starts_at:%d %b}"
    return f"{point.starts_at:%H:%M}" if grain <= _HOUR else f"{point.starts_at:%d %b %H:%M}"


def _data(kind: str, labels: list[str], series: dict[str, Any], **how: Any) -> str:
    # No inline script: the drawing reads this from an attribute, which the template escapes.
    return json.dumps({"kind": kind, "labels": labels, "series": series, **how})


def _rows(labels: Sequence[str], *columns: Sequence[int | None]) -> tuple[tuple[str, ...], ...]:
    lines = zip(labels, *columns, strict=True)
    return tuple((str(line[0]), *(_cell(value) for value in line[1:])) for line in lines)


def _cell(value: Any) -> str:
    return "–" if value is None else number(int(value))


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)
