"""The figures of a range: from the counts, and the last bit straight from the records (E5)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain

from django.db.models import Count, QuerySet, Sum

from audit.following import WaitingLeaf, sealed_from, waiting_leaves
from audit.models import LogHead
from contextos.core.clock import utcnow
from contextos.core.ids import first_id
from gateway.figures.counting import EVERYTHING, Counted, Place
from gateway.figures.measures import Sums
from gateway.figures.replays import compared, waiting_replays
from gateway.figures.rollup import cursor_of
from gateway.figures.rows import counted_of
from gateway.figures.spans import ALL_TIME, Range, start_of
from gateway.models import FiguresCursor, Run, Tally

MOST_UNCOUNTED = 2000  # rows read beside the counts; the roll-up keeps far below
_TRIES = 3


@dataclass(frozen=True, slots=True)
class Tail:
    """What is not in the counts yet."""

    counts: tuple[Counted, ...]
    sealing_lag: timedelta  # how long the oldest row has waited for the sealer
    waiting: int  # rows that wait for the sealer, as far as they were looked at
    is_whole: bool  # False when there is more than is read here


@dataclass(frozen=True, slots=True)
class Line:
    """One capability of one adapter."""

    place: Place
    sums: Sums


@dataclass(frozen=True, slots=True)
class Point:
    """One span of the range, every capability together."""

    starts_at: datetime
    sums: Sums


@dataclass(frozen=True, slots=True)
class Board:
    """Everything that the surfaces show of a range."""

    range: Range
    lines: tuple[Line, ...]
    points: tuple[Point, ...]
    tail: Tail
    as_of: datetime

    @property
    def totals(self) -> Sums:
        """Every capability together."""
        return Sums.total(line.sums for line in self.lines)


@dataclass(frozen=True, slots=True)
class BudgetUse:
    """How far the latest runs of a range used what they may."""

    runs: int
    calls: int
    max_calls: int
    cents: int
    max_cents: int
    is_whole: bool


def board(tenant_id: str, asked: Range, *, adapter_id: str = "", capability_id: str = "") -> Board:
    """The figures of whole spans of time."""
    now = utcnow()
    wanted = _Wanted(adapter_id, capability_id)
    for _ in range(_TRIES):
        cursor = cursor_of(tenant_id)
        tail = _tail(cursor, now)
        rows = _tallies(tenant_id, asked)
        lines, points = _by_place(wanted.of(rows)), _by_start(wanted.together(rows))
        # Else a step may have moved rows from the tail into the counts while they were read.
        if not tail.counts or cursor_of(tenant_id).turn == cursor.turn:
            break
    for count in tail.counts:
        if count.at in asked and wanted.takes(count.place):
            lines.setdefault(count.place, Counter())[count.measure] += count.value
            start = start_of(count.at, asked.grain)
            points.setdefault(start, Counter())[count.measure] += count.value
    return Board(
        range=asked,
        lines=tuple(Line(place, Sums(lines[place])) for place in _in_order(lines)),
        points=tuple(Point(at, Sums(points.get(at, Counter()))) for at in asked.starts()),
        tail=tail,
        as_of=now,
    )


def totals_of_all_time() -> dict[str, list[Line]]:
    """Every tenant's counts since the beginning, for a scrape; what is not rolled up is left out,
    since a counter must never fall."""
    found: dict[str, dict[Place, Counter[str]]] = {}
    columns = ("tenant_id", "adapter_id", "capability_id", "measure", "value")
    every = Tally.objects.filter(grain=ALL_TIME).order_by()
    rows = every.exclude(adapter_id=EVERYTHING.adapter_id)
    for tenant_id, adapter, capability, measure, value in rows.values_list(*columns):
        theirs = found.setdefault(tenant_id, {})
        theirs.setdefault(Place(adapter, capability), Counter())[measure] = value
    return {
        tenant_id: [Line(place, Sums(lines[place])) for place in _in_order(lines)]
        for tenant_id, lines in found.items()
    }


def budget_use(tenant_id: str, asked: Range, *, most: int = 2000) -> BudgetUse:
    """Of the tenant's latest runs that were opened in the range."""
    rows = Run.objects.filter(
        tenant_id=tenant_id, created_at__gte=asked.since, created_at__lt=asked.until
    )
    columns = ("used_calls", "max_calls", "spent_cents", "max_cost_cents")
    found = list(rows.order_by("-run_id").values_list(*columns)[: most + 1])
    calls, max_calls, cents, max_cents = (
        sum(row[place] for row in found[:most]) for place in range(len(columns))
    )
    return BudgetUse(min(len(found), most), calls, max_calls, cents, max_cents, len(found) <= most)


def budget_use_of_all(since: datetime) -> dict[str, BudgetUse]:
    """Of every tenant's runs that were opened since then, for a scrape."""
    rows = Run.objects.filter(run_id__gte=first_id("run", since), created_at__gte=since)
    added = (
        rows.order_by()
        .values_list("tenant_id")
        .annotate(
            Count("pk"),
            Sum("used_calls"),
            Sum("max_calls"),
            Sum("spent_cents"),
            Sum("max_cost_cents"),
        )
    )
    return {
        tenant_id: BudgetUse(runs, calls, max_calls, cents, max_cents, is_whole=True)
        for tenant_id, runs, calls, max_calls, cents, max_cents in added
    }


# --- reading -------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class _Wanted:
    """One adapter or capability, or all."""

    adapter_id: str
    capability_id: str

    def of(self, rows: QuerySet[Tally]) -> QuerySet[Tally]:
        """Of each capability."""
        given = {"adapter_id": self.adapter_id, "capability_id": self.capability_id}
        named = rows.exclude(adapter_id=EVERYTHING.adapter_id)
        return named.filter(**{name: value for name, value in given.items() if value})

    def together(self, rows: QuerySet[Tally]) -> QuerySet[Tally]:
        """Of all that are wanted; kept added up where that is everything."""
        if self.adapter_id or self.capability_id:
            return self.of(rows)
        return rows.filter(adapter_id=EVERYTHING.adapter_id)

    def takes(self, place: Place) -> bool:
        return self.adapter_id in ("", place.adapter_id) and self.capability_id in (
            "",
            place.capability_id,
        )


def _tail(cursor: FiguresCursor, now: datetime) -> Tail:
    """First what is not sealed, then what is: a row sealed in between is met twice, not never."""
    waiting = waiting_leaves(cursor.tenant_id, most=MOST_UNCOUNTED + 1)
    sealed = sealed_from(cursor.tenant_id, cursor.next_index, most=MOST_UNCOUNTED + 1)
    replays = waiting_replays(cursor.tenant_id, most=MOST_UNCOUNTED + 1)
    names = dict.fromkeys([leaf.leaf_id for leaf in sealed] + [leaf.leaf_id for leaf in waiting])
    counts = chain(
        counted_of(list(names)[:MOST_UNCOUNTED]),
        *(item.counted() for item in compared(replays[:MOST_UNCOUNTED])),
    )
    return Tail(
        counts=tuple(counts),
        sealing_lag=_lag(cursor.tenant_id, waiting, now),
        waiting=min(len(waiting), MOST_UNCOUNTED),
        is_whole=max(len(names), len(replays)) <= MOST_UNCOUNTED,
    )


def _lag(tenant_id: str, waiting: list[WaitingLeaf], now: datetime) -> timedelta:
    """As audit.lag has it: nothing has waited since before the last round that sealed all."""
    if not waiting:
        return timedelta(0)
    sealed = LogHead.objects.filter(pk=tenant_id).values_list("sealed_at", flat=True).first()
    oldest = min(leaf.created_at for leaf in waiting)
    return max(timedelta(0), now - max(oldest, sealed or oldest))


def _tallies(tenant_id: str, asked: Range) -> QuerySet[Tally]:
    return Tally.objects.filter(
        tenant_id=tenant_id,
        grain=asked.grain,
        starts_at__gte=asked.since,
        starts_at__lt=asked.until,
    ).order_by()


def _by_place(rows: QuerySet[Tally]) -> dict[Place, Counter[str]]:
    found: dict[Place, Counter[str]] = {}
    summed = rows.values_list("adapter_id", "capability_id", "measure").annotate(Sum("value"))
    for adapter, capability, measure, value in summed:
        found.setdefault(Place(adapter, capability), Counter())[measure] = value
    return found


def _by_start(rows: QuerySet[Tally]) -> dict[datetime, Counter[str]]:
    found: dict[datetime, Counter[str]] = {}
    for start, measure, value in rows.values_list("starts_at", "measure").annotate(Sum("value")):
        found.setdefault(start, Counter())[measure] = value
    return found


def _in_order(lines: Iterable[Place]) -> list[Place]:
    """By name; what no adapter was found for stands last."""
    return sorted(lines, key=lambda p: (not p.adapter_id, p.adapter_id, p.capability_id))
