"""The report on unknown outcomes: what nobody knew, and how it was found out."""

from __future__ import annotations

from dataclasses import replace

from audit.decision_record import TERMINAL, DecisionStatus
from audit.models import DecisionRow
from audit.reports.figures import middle
from audit.reports.reading import DecisionSeen, EventSeen, decisions_in, events_in, heads_in
from audit.reports.types import Cell, Column, Contents, Figure, Kind, Period
from contextos.core.clock import utcnow

SETTLED, AGAIN = "call.reconciled", "call.run_again"
_ENDS = [status.value for status in TERMINAL]


def unknown_outcomes(tenant_id: str, period: Period) -> Contents:
    """Calls of which nobody knew whether they had happened, and what became of them."""
    found = decisions_in(heads_in(tenant_id, period).filter(status=DecisionStatus.UNKNOWN))
    ends = _ends(tenant_id, found.rows)
    told = _told(tenant_id, period)
    rows = [_line(row, ends.get(row.decision_id), told.get(row.decision_id)) for row in found.rows]
    took = [float(line[5]) for line in rows if isinstance(line[5], float)]
    return Contents(
        figures=(
            Figure("Became unknown", len(rows)),
            Figure("Settled", sum(line[4] != "open" for line in rows)),
            Figure("Still open", sum(line[4] == "open" for line in rows)),
            Figure("Half settled within", middle(took), Kind.SECONDS),
        ),
        columns=(
            Column("When", Kind.MOMENT),
            Column("Capability"),
            Column("Asked by"),
            Column("What went wrong"),
            Column("Settled as"),
            Column("After", Kind.SECONDS),
            Column("By"),
            Column("Evidence"),
        ),
        rows=tuple(rows),
        refs=tuple(row.ref for row in found.rows),
        notes=found.notes,
    )


def _ends(tenant_id: str, rows: tuple[DecisionSeen, ...]) -> dict[str, DecisionRow]:
    names = {row.decision_id for row in rows}
    ended = DecisionRow.objects.filter(tenant_id=tenant_id, decision_id__in=names, status__in=_ENDS)
    return {row.decision_id: row for row in ended.order_by()}


def _told(tenant_id: str, period: Period) -> dict[str, EventSeen]:
    """The last word of a person on each decision, also after the period."""
    since = replace(period, until=max(period.until, utcnow()))
    events = events_in(tenant_id, since, [SETTLED, AGAIN])
    return {event.text("decision_id"): event for event in reversed(events.rows)}


def _line(row: DecisionSeen, end: DecisionRow | None, told: EventSeen | None) -> tuple[Cell, ...]:
    after = (end.created_at - row.at).total_seconds() if end else None
    settled = "open" if end is None else end.status.lower()
    if end is None and told is not None and told.action == AGAIN:
        settled = "open: let run again"
    evidence = (told.text("evidence", "reason") or told.reason) if told else ""
    who = told.who if told else ("the retry" if end else "")
    return row.at, row.capability, row.agent, row.code, settled, after, who, evidence
