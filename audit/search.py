"""Finding decision records: every filter, combined, newest first, a page at a time (E3).

A page is found by ids first, from one index that carries every filtered column; only the rows of
the page are then read. Nothing is ever counted: how many there are is the planner's estimate.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db import connections, transaction
from django.db.models import Q, QuerySet
from django.db.utils import DEFAULT_DB_ALIAS

from audit.access import Window
from audit.clearance import CLASS_OF_VALUES
from audit.decision_record import APPROVER, GATE, LONGEST_MENTION, OUTCOMES, RULE, TERMINAL
from audit.models import DecisionAmount, DecisionMention, DecisionRow
from audit.record_filter import RecordFilter
from contextos.core import strict_json
from contextos.core.errors import coded_error
from contextos.core.ids import first_id
from contextos.identity.models import User

PER_PAGE = 50
MAX_PAGE = 200
# Ids say the time of their row. Those written before they did were made a moment after it.
_SLACK = timedelta(hours=1)
_COLUMNS = {
    "capability": "capability_id",
    "adapter": "adapter_id",
    "agent": "agent_id",
    "trace": "trace_id",
    "run": "run_id",
    "decision": "decision_id",
    "intent": "intent",
    "error": "error_code",
}


@dataclass(frozen=True, slots=True)
class FoundPage:
    """Some heads, newest first, and the id after which the next page begins."""

    heads: tuple[DecisionRow, ...]
    next_after: str | None


def records_matching(wanted: RecordFilter, *, window: Window) -> QuerySet[DecisionRow]:
    """The tenant's rows that match and that the window shows, newest first."""
    if wanted.asks_for_values and not window.reads(CLASS_OF_VALUES):
        raise coded_error("auditor.clearance_needed", data={"parameter": "amount_min"})
    rows = DecisionRow.objects.filter(tenant_id=window.tenant_id)
    rows = rows.filter(_period(wanted, window), _columns(wanted))
    for kind, value in ((RULE, wanted.rule), (GATE, wanted.gate)):
        if value:
            rows = rows.filter(record_id__in=_mentioning(window.tenant_id, kind, [value]))
    if wanted.approver:
        people = [wanted.approver, *_ids_of(wanted.approver)]
        rows = rows.filter(record_id__in=_mentioning(window.tenant_id, APPROVER, people))
    if wanted.asks_for_values:
        rows = rows.filter(decision_id__in=_worth(wanted, window.tenant_id))
    return rows.order_by("-record_id")


def page_of_records(
    wanted: RecordFilter, *, window: Window, after: str | None = None, limit: int = PER_PAGE
) -> FoundPage:
    """One page after a row; costs the same at the millionth row as at the first."""
    size = max(1, min(limit, MAX_PAGE))
    rows = records_matching(wanted, window=window)
    if after:
        rows = rows.filter(record_id__lt=after)
    with _index_pages_are_neighbours():
        ids = list(rows.values_list("record_id", flat=True)[: size + 1])
    heads = DecisionRow.objects.filter(record_id__in=ids[:size]).order_by("-record_id")
    return FoundPage(tuple(heads), ids[size - 1] if len(ids) > size else None)


def estimated_count(wanted: RecordFilter, *, window: Window) -> int | None:
    """About how many rows match, as the planner sees it; None where no planner says."""
    connection = connections[DEFAULT_DB_ALIAS]
    if connection.vendor != "postgresql":
        return None
    found = records_matching(wanted, window=window).order_by().values_list("record_id", flat=True)
    said = found.explain(format="json")
    if not said:  # filters that exclude each other are not even asked
        return 0
    plan: Any = strict_json.loads(said.encode())
    return max(1, round(float(plan[0]["Plan"]["Plan Rows"])))


@contextmanager
def _index_pages_are_neighbours() -> Iterator[None]:
    """Tell PostgreSQL that this index, which only grows at its end, is cheap to walk.

    By its usual figures it would read the whole table instead, at four times the cost.
    """
    connection = connections[DEFAULT_DB_ALIAS]
    if connection.vendor != "postgresql":
        yield
        return
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL random_page_cost = 1.1")
        yield


# --- the parts of the question -------------------------------------------------------------------
def _period(wanted: RecordFilter, window: Window) -> Q:
    starts = [moment for moment in (wanted.since, window.data_from) if moment is not None]
    ends = [moment for moment in (wanted.until, window.data_until) if moment is not None]
    inside = Q()
    if starts:
        since = max(starts)
        inside &= Q(created_at__gte=since, record_id__gte=first_id("rec", since - _SLACK))
    if ends:
        until = min(ends)
        inside &= Q(created_at__lt=until, record_id__lt=first_id("rec", until + _SLACK))
    return inside


def _columns(wanted: RecordFilter) -> Q:
    inside = Q()
    for name, column in _COLUMNS.items():
        if value := getattr(wanted, name):
            inside &= Q((column, value))
    if wanted.mode:
        inside &= _one_of("mode_effective", wanted.mode)
    if wanted.user:
        inside &= _one_of("user_id", [wanted.user, *_ids_of(wanted.user)])
    statuses = _statuses(wanted)
    return inside if statuses is None else inside & _one_of("status", statuses)


def _statuses(wanted: RecordFilter) -> list[str] | None:
    """An outcome is a set of statuses, and so is having ended; None when all will do."""
    if not (wanted.status or wanted.outcome or wanted.ended):
        return None
    return [
        status.value
        for status, outcome in OUTCOMES.items()
        if (not wanted.status or status.value in wanted.status)
        and (not wanted.outcome or outcome in wanted.outcome)
        and (not wanted.ended or status in TERMINAL)
    ]


def _one_of(column: str, values: Sequence[str]) -> Q:
    return Q((column, values[0])) if len(values) == 1 else Q((f"{column}__in", values))


def _ids_of(name: str) -> list[str]:
    """People are recorded by id; whoever searches may know them by the name they sign in with."""
    return list(User.objects.filter(username=name).values_list("user_id", flat=True))


def _mentioning(tenant_id: str, kind: str, values: Sequence[str]) -> QuerySet[Any]:
    kept = [value[:LONGEST_MENTION] for value in values]
    rows = DecisionMention.objects.filter(_one_of("value", kept), tenant_id=tenant_id, kind=kind)
    return rows.values("record_id")


def _worth(wanted: RecordFilter, tenant_id: str) -> QuerySet[Any]:
    rows = DecisionAmount.objects.filter(tenant_id=tenant_id)
    if wanted.amount_min is not None:
        rows = rows.filter(amount__gte=wanted.amount_min)
    if wanted.amount_max is not None:
        rows = rows.filter(amount__lte=wanted.amount_max)
    if wanted.currency:
        rows = rows.filter(unit=wanted.currency.upper())
    return rows.values("decision_id")
