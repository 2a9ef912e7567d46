"""Reads rows of decisions, with what the counts need of their texts and their calls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db.models import OuterRef, Q, Subquery

from audit.decision_record import TERMINAL, DecisionStatus
from audit.decisions import MAX_RECORD_BYTES
from audit.models import AuditEvent, DecisionBody, DecisionRow
from contextos.core import strict_json
from gateway.figures.counting import Counted, Place, RowFacts, counted
from gateway.mode_corrections import ACTION
from gateway.models import ToolCall

_ENDS = [*(status.value for status in TERMINAL), DecisionStatus.UNKNOWN.value]
# An approval in one of these states ended with the row that carries it.
_CLOSED = frozenset({"rejected", "expired", "voided"})


def counted_of(leaf_ids: Iterable[str]) -> list[Counted]:
    """What these rows of the log add to the counts; one statement for each kind of row."""
    names = list(leaf_ids)
    records = [name for name in names if name.startswith("rec_")]
    events = [name for name in names if name.startswith("aud_")]
    found = [count for row in _rows(records) for count in counted(_facts(row))]
    return found + [_corrected(event) for event in _corrections(events)]


def _rows(record_ids: Sequence[str]) -> list[DecisionRow]:
    if not record_ids:
        return []
    body = DecisionBody.objects.filter(
        record_id=OuterRef("record_id"), created_at=OuterRef("created_at")
    )
    call = ToolCall.objects.filter(decision_id=OuterRef("decision_id"))
    first = DecisionRow.objects.filter(decision_id=OuterRef("decision_id"), seq=1)
    rows = DecisionRow.objects.filter(
        Q(status__in=_ENDS) | Q(status=DecisionStatus.APPROVED, seq__gt=1),
        record_id__in=record_ids,
    )
    return list(
        rows.order_by().annotate(
            text=Subquery(body.values("text")[:1]),
            result=Subquery(call.values("result")[:1]),
            proposed_at=Subquery(first.values("created_at")[:1]),
        )
    )


def _facts(row: Any) -> RowFacts:
    record = strict_json.loads_object(row.text, max_bytes=MAX_RECORD_BYTES)
    result = strict_json.loads_object(row.result) if row.result else {}
    return RowFacts(
        adapter_id=row.adapter_id,
        capability_id=row.capability_id,
        created_at=row.created_at,
        status=DecisionStatus(row.status),
        error_code=row.error_code,
        repeats=_number(record.get("repeat_count")) or 1,
        latency_ms=_number(result.get("latency_ms")),
        wait_ms=_waited(record, row.created_at, row.proposed_at),
        cost_cents=_number(record.get("cost_cents")),
        findings=_findings(record.get("scorecard")),
    )


def _waited(record: Mapping[str, Any], ended: datetime, began: datetime | None) -> int | None:
    """How long people were waited for, if this row is the one that ended the wait."""
    asked = next((item for item in record["approvals"] if item.get("approval_id")), None)
    if asked is None or began is None:
        return None
    if record["status"] != DecisionStatus.APPROVED and asked.get("state") not in _CLOSED:
        return None
    return max(0, round((ended - began).total_seconds() * 1000))


def _findings(scorecard: Any) -> frozenset[str]:
    listed = (scorecard or {}).get("findings") or []
    return frozenset(str(item.get("code", "")) for item in listed)


def _number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


# --- modes that a reviewer corrected -------------------------------------------------------------
def _corrections(event_ids: Sequence[str]) -> list[AuditEvent]:
    if not event_ids:
        return []
    return list(AuditEvent.objects.filter(event_id__in=event_ids, action=ACTION).order_by())


def _corrected(event: AuditEvent) -> Counted:
    data: Any = strict_json.loads_object(event.text)["data"]
    place = Place.of(data["adapter_id"], data["capability_id"])
    return Counted(place, event.created_at, "misclassified", int(data["counts"]))
