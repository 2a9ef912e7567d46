"""Reads rows of the log by their places and turns them into what is sent."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import OuterRef, Subquery

from audit.actions import title_of
from audit.decisions import MAX_RECORD_BYTES
from audit.following import PlacedLeaf
from audit.models import AuditEvent, DecisionBody, DecisionRow
from contextos.core import strict_json
from gateway.models.streams import StreamContents
from gateway.siem.records import SiemRecord, decision_record, event_record


def records_of(leaves: Sequence[PlacedLeaf], contents: str) -> list[SiemRecord]:
    """In the order of the log; rows that retention has purged are left out."""
    wants_decisions = contents != StreamContents.EVENTS
    wants_events = contents != StreamContents.DECISIONS
    texts = _decisions(leaves) if wants_decisions else {}
    told = _events(leaves) if wants_events else {}
    found = []
    for leaf in leaves:
        if leaf.leaf_id in texts:
            record = strict_json.loads_object(texts[leaf.leaf_id], max_bytes=MAX_RECORD_BYTES)
            found.append(decision_record(leaf.leaf_id, leaf.log_index, record))
        elif leaf.leaf_id in told:
            event = strict_json.loads_object(told[leaf.leaf_id])
            title = title_of(str(event["action"]))
            found.append(event_record(leaf.leaf_id, leaf.log_index, event, title))
    return found


def _decisions(leaves: Sequence[PlacedLeaf]) -> dict[str, str]:
    names = [leaf.leaf_id for leaf in leaves if leaf.leaf_id.startswith("rec_")]
    body = DecisionBody.objects.filter(
        record_id=OuterRef("record_id"), created_at=OuterRef("created_at")
    )
    rows = DecisionRow.objects.filter(record_id__in=names).order_by()
    texts = rows.annotate(text=Subquery(body.values("text")[:1]))
    return {name: text for name, text in texts.values_list("record_id", "text") if text}


def _events(leaves: Sequence[PlacedLeaf]) -> dict[str, str]:
    names = [leaf.leaf_id for leaf in leaves if leaf.leaf_id.startswith("aud_")]
    rows = AuditEvent.objects.filter(event_id__in=names).order_by()
    return dict(rows.values_list("event_id", "text"))
