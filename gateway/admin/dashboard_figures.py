"""The dashboard in words: cards on top, a line for each capability, ways to the records."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Protocol
from urllib.parse import urlencode

from audit.models import DecisionRow
from contextos.adminkit.links import admin_url, named_url
from contextos.core.clock import format_time
from contextos.core.text import reveal_invisible
from gateway.figures.boards import Board, BudgetUse, Line
from gateway.figures.measures import Spread, Sums
from gateway.figures.spans import Range

NOTHING = "–"
UNRESOLVED = "not resolved"
SLOW_SEALING = timedelta(seconds=5)


class _Asked(Protocol):
    """The page's address, as far as lines need it."""

    def query(self, **changes: str) -> str:
        """The address of the same page with something changed."""


@dataclass(frozen=True, slots=True)
class Card:
    """One figure, how it is counted, and where its records are."""

    label: str
    value: str
    says: str
    url: str = ""
    tone: str = ""


def cards_of(found: Board, budget: BudgetUse) -> list[Card]:
    """The figures of the whole range."""
    sums, span = found.totals, found.range
    return [
        Card("Decisions", number(sums.decisions), "ended in this time", records_url(span)),
        Card(
            "Success",
            percent(sums.success_rate),
            f"{number(sums['executed'])} of {number(sums['executed'] + sums['failed'])} called",
            records_url(span, status="FAILED"),
            _tone(sums.success_rate, least=0.95),
        ),
        Card(
            "Denied per 1,000",
            per_1000(sums.denied_per_1000),
            f"{number(sums.denied)} refused, expired or cancelled",
            records_url(span, outcome="denied"),
        ),
        Card("Latency, mean", milliseconds(sums.latency.mean_ms), _calls(sums.latency)),
        Card("Latency, p99", milliseconds(sums.latency.p99_ms), "at most 9 % above the true one"),
        Card(
            "Approval wait, mean",
            duration(sums.wait.mean_ms),
            f"p99 {duration(sums.wait.p99_ms)}, {number(sums.wait.count)} requests",
        ),
        *_mode_cards(sums, span),
        Card(
            "Replays equal",
            percent(sums.replay_correctness),
            f"{number(sums['replays_equal'])} of {number(sums['replays'])}; "
            f"{number(sums['key_conflicts'])} conflicting keys",
            tone=_tone(sums.replay_correctness, least=1.0),
        ),
        Card(
            "Unknown outcomes",
            number(sums["unknown"]),
            f"{number(sums['reconciled'])} settled",
            named_url("admin:gateway_reconcile"),
            "warning" if sums.open_unknowns > 0 else "",
        ),
        _budget_card(sums, budget),
        _sealing_card(found),
    ]


def lines_of(found: Board, asked: _Asked) -> list[dict[str, Any]]:
    """The table: one line for each capability."""
    return [_line(line, found.range, asked) for line in found.lines]


def _line(line: Line, span: Range, asked: _Asked) -> dict[str, Any]:
    sums, place = line.sums, line.place
    named, within = bool(place.capability_id), {"capability": place.capability_id}
    return {
        "adapter": reveal_invisible(place.adapter_id) or UNRESOLVED,
        "capability": reveal_invisible(place.capability_id) or "refused before it was found",
        "only_url": asked.query(adapter=place.adapter_id, capability=place.capability_id)
        if place.adapter_id
        else "",
        "decisions": number(sums.decisions),
        "decisions_url": records_url(span, **within) if named else "",
        "success": percent(sums.success_rate),
        "success_tone": _tone(sums.success_rate, least=0.95),
        "failed": number(sums["failed"]),
        "failed_url": records_url(span, status="FAILED", **within) if sums["failed"] else "",
        "denied": per_1000(sums.denied_per_1000),
        "denied_url": records_url(span, outcome="denied", **within)
        if named and sums.denied
        else "",
        "mean": milliseconds(sums.latency.mean_ms),
        "p99": milliseconds(sums.latency.p99_ms),
        "misclassified": number(sums["misclassified"]),
        "mode_refused": number(sums["mode_refused"]),
        "replays": f"{number(sums['replays_equal'])} / {number(sums['replays'])}",
        "replays_tone": _tone(sums.replay_correctness, least=1.0),
        "wait": duration(sums.wait.mean_ms),
        "cost": f"{sums['cost_cents'] / 100:,.2f}" if sums["cost_cents"] else NOTHING,
    }


def _mode_cards(sums: Sums, span: Range) -> Iterable[Card]:
    yield Card(
        "Modes misclassified",
        number(sums["misclassified"]),
        f"{per_1000(sums.misclassified_per_1000)} per 1,000 calls",
        tone="danger" if sums["misclassified"] else "",
    )
    yield Card(
        "Mode selections refused",
        number(sums["mode_refused"]),
        "asked for more than is allowed",
        records_url(span, status="REJECTED") if sums["mode_refused"] else "",
    )


def _budget_card(sums: Sums, budget: BudgetUse) -> Card:
    refused = sums["budget_refused"] + sums["rate_refused"]
    used = budget.calls / budget.max_calls if budget.max_calls else None
    latest = "" if budget.is_whole else "latest "
    plural = "" if budget.runs == 1 else "s"
    runs = f"{number(budget.runs)} {latest}run{plural}"
    said = f"of the calls {runs} may make; {number(refused)} refused"
    return Card("Budget used", percent(used), said)


def _sealing_card(found: Board) -> Card:
    lag = found.tail.sealing_lag
    said = f"waiting: {number(found.tail.waiting)}" if found.tail.waiting else "nothing waits"
    value = duration(lag.total_seconds() * 1000) if found.tail.waiting else "0 s"
    return Card("Sealing lag", value, said, tone="warning" if lag > SLOW_SEALING else "")


def records_url(span: Range, **filters: str) -> str:
    """The list of records behind a figure, or nothing where the site has no such list."""
    place = admin_url(DecisionRow)
    if not place:
        return ""
    given = {**filters, "from": format_time(span.since), "to": format_time(span.until)}
    return f"{place}?{urlencode({name: value for name, value in given.items() if value})}"


# --- words ----------------------------------------------------------------------------------------
def number(value: int) -> str:
    """Grouped."""
    return f"{value:,}"


def percent(share: float | None) -> str:
    """With one digit, and never rounded up to all."""
    if share is None:
        return NOTHING
    return "100 %" if share == 1 else f"{int(share * 1000) / 10:.1f} %"


def per_1000(value: float | None) -> str:
    """With one digit."""
    return NOTHING if value is None else f"{value:,.1f}"


def milliseconds(value: float | None) -> str:
    """Whole, or with one digit while it is small."""
    if value is None:
        return NOTHING
    if value >= 10_000:
        return f"{value / 1000:,.1f} s"
    return f"{value:,.0f} ms" if value >= 10 else f"{value:.1f} ms"


def duration(value: float | None) -> str:
    """A time that can be long, from milliseconds."""
    if value is None:
        return NOTHING
    seconds = value / 1000
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:,.1f} {unit}"
    return f"{seconds:.1f} s"


def _calls(times: Spread) -> str:
    return f"of {number(times.count)} calls"


def _tone(share: float | None, *, least: float) -> str:
    return "warning" if share is not None and share < least else ""
