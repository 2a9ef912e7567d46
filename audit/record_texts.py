"""Records as stored, for the heads that a search found, with their places in the log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from audit.decisions import MAX_RECORD_BYTES
from audit.log import log_indexes
from audit.models import DecisionBody, DecisionRow
from contextos.core import strict_json
from contextos.core.errors import ContextOSError


@dataclass(frozen=True, slots=True)
class StoredRecord:
    """One row: its head, its text, the text read, and its place once it is sealed.

    `record` is empty where somebody took the text away or damaged it.
    """

    head: DecisionRow
    text: str
    record: dict[str, Any]
    log_index: int | None


def texts_of(heads: Sequence[DecisionRow]) -> dict[str, str]:
    """The text of each head that still has one, by record id."""
    if not heads:
        return {}
    moments = [head.created_at for head in heads]
    bodies = DecisionBody.objects.filter(
        record_id__in=[head.pk for head in heads],
        # The times let PostgreSQL open only the partitions that hold these rows.
        created_at__gte=min(moments),
        created_at__lte=max(moments),
    )
    return dict(bodies.values_list("record_id", "text"))


def with_texts(heads: Sequence[DecisionRow]) -> list[StoredRecord]:
    """Each head with its text and place, in two statements."""
    if not heads:
        return []
    texts = texts_of(heads)
    places = log_indexes(tenant_id=heads[0].tenant_id, leaf_ids=[head.pk for head in heads])
    return [
        StoredRecord(
            head, texts.get(head.pk, ""), _read(texts.get(head.pk, "")), places.get(head.pk)
        )
        for head in heads
    ]


def rows_of_decision(*, tenant_id: str, decision_id: str) -> list[StoredRecord]:
    """Every row of one decision, first to last."""
    heads = DecisionRow.objects.filter(tenant_id=tenant_id, decision_id=decision_id)
    return with_texts(list(heads.order_by("seq")))


def _read(text: str) -> dict[str, Any]:
    try:
        return dict(strict_json.loads_object(text, max_bytes=MAX_RECORD_BYTES))
    except ContextOSError:
        return {}
