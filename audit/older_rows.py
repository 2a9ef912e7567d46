"""Completes rows that were written before searches and classes of retention asked for more.

A migration runs this with the models of its day. Each batch is a short transaction, so that nobody
waits; whatever is there already stays, so that it can be run again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from django.db import transaction

from audit.decision_record import derived_mentions
from audit.decisions import MAX_RECORD_BYTES
from contextos.core import strict_json
from contextos.core.errors import ContextOSError

BATCH = 500
Models = Callable[[str, str], Any]
Texts = list[tuple[str, str]]
Records = list[tuple[str, Mapping[str, Any]]]


def complete_older_rows(model: Models) -> int:
    """What each text mentions, and which decisions waited at a gate; how many texts were read."""
    read, last = 0, ""
    while texts := _next_texts(model("audit", "DecisionBody"), last):
        with transaction.atomic():
            records = list(_records(model("audit", "DecisionRow"), texts))
            _add_mentions(model("audit", "DecisionMention"), records)
            _add_gates(model("audit", "GatedDecision"), records)
        read, last = read + len(texts), texts[-1][0]
    return read


def _next_texts(bodies: Any, last: str) -> Texts:
    rows = bodies.objects.filter(record_id__gt=last).order_by("record_id")
    return list(rows.values_list("record_id", "text")[:BATCH])


def _records(heads: Any, texts: Texts) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Without those that were purged: their texts may lie there until their month is dropped."""
    names = [name for name, _ in texts]
    there = set(heads.objects.filter(pk__in=names).values_list("pk", flat=True))
    for name, text in texts:
        if name not in there:
            continue
        try:
            yield name, strict_json.loads_object(text, max_bytes=MAX_RECORD_BYTES)
        except ContextOSError:
            continue  # somebody changed it; `verify_log` says so


def _add_mentions(mentions: Any, records: Records) -> None:
    # Asked, not ignored on conflict: SQLite's triggers refuse even what would change nothing.
    names = [name for name, _ in records]
    known = set(
        mentions.objects.filter(record_id__in=names).values_list("kind", "value", "record_id")
    )
    rows = [
        mentions(tenant_id=record["tenant_id"], kind=kind, value=value, record_id=name)
        for name, record in records
        for kind, value in derived_mentions(record)
        if (kind, value, name) not in known
    ]
    mentions.objects.bulk_create(rows, batch_size=BATCH)


def _add_gates(gated: Any, records: Records) -> None:
    """As `audit.decisions` marks new ones: the first row says which gate it has to pass."""
    found = {}
    for _, record in records:
        gate = (record.get("policy_decision") or {}).get("requires_approval_gate")
        if record.get("seq") == 1 and gate:
            found[record["decision_id"]] = record["tenant_id"], str(gate)[:200]
    known = set(gated.objects.filter(pk__in=list(found)).values_list("pk", flat=True))
    gated.objects.bulk_create(
        gated(decision_id=decision_id, tenant_id=tenant_id, gate=gate)
        for decision_id, (tenant_id, gate) in found.items()
        if decision_id not in known
    )
