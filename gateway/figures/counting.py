"""What one row of the log adds to the counts; pure, so that it can be counted again by hand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from audit.decision_record import TERMINAL, DecisionStatus
from gateway.critic import MISCLASSIFIED, RECONCILED
from gateway.figures.measures import LATENCY, WAIT, bucket_name

# Refusals that have a figure of their own, by the beginning of their code.
_REFUSED = {
    "mode.": "mode_refused",
    "budget.": "budget_refused",
    "rate.": "rate_refused",
    "idempotency.conflict": "key_conflicts",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RowFacts:
    """What counts of one row of a decision."""

    adapter_id: str
    capability_id: str
    created_at: datetime
    status: DecisionStatus
    error_code: str = ""
    repeats: int = 1
    latency_ms: int | None = None
    wait_ms: int | None = None
    cost_cents: int | None = None
    findings: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Place:
    """Whose count it is. What was never resolved has no name here: an agent could invent any."""

    adapter_id: str
    capability_id: str

    @classmethod
    def of(cls, adapter_id: str, capability_id: str) -> Place:
        """The place of a capability; the nameless one where no adapter was found for it."""
        return cls(adapter_id, capability_id if adapter_id else "")


# Every capability together is kept as well: charts over time need not add them up each time.
EVERYTHING = Place("*", "*")


@dataclass(frozen=True, slots=True)
class Counted:
    """One count at one moment."""

    place: Place
    at: datetime
    measure: str
    value: int


def counted(row: RowFacts) -> Iterator[Counted]:
    """Everything that a row adds; rows that only say "going on" add nothing."""
    place = Place.of(row.adapter_id, row.capability_id)
    for measure, value in _measures(row):
        yield Counted(place, row.created_at, measure, value)


def _measures(row: RowFacts) -> Iterator[tuple[str, int]]:
    if row.status in TERMINAL or row.status is DecisionStatus.UNKNOWN:
        yield row.status.value.lower(), row.repeats
    if row.status is DecisionStatus.REJECTED:
        for beginning, measure in _REFUSED.items():
            if row.error_code.startswith(beginning):
                yield measure, row.repeats
    if row.wait_ms is not None:
        yield bucket_name(WAIT, row.wait_ms), 1
        yield f"{WAIT}_ms", row.wait_ms
    if row.status in (DecisionStatus.EXECUTED, DecisionStatus.FAILED):
        yield from _of_a_call(row)


def _of_a_call(row: RowFacts) -> Iterator[tuple[str, int]]:
    if row.latency_ms is not None:
        yield bucket_name(LATENCY, row.latency_ms), 1
        yield f"{LATENCY}_ms", row.latency_ms
    if row.cost_cents:
        yield "cost_cents", row.cost_cents
    if MISCLASSIFIED in row.findings:
        yield "misclassified", 1
    if RECONCILED in row.findings:
        yield "reconciled", 1
