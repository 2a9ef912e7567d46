"""Writing and reading DecisionRecords; their writes join those of the change they record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from audit.decision_record import DecisionFacts, canonical_text, derived_columns
from audit.event_record import leaf_hash
from audit.models import DecisionBody, DecisionRow, UnsealedLeaf
from audit.one_statement import Insert, write_together
from contextos.core import strict_json
from contextos.core.ids import new_id

MAX_RECORD_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class PreparedRecord:
    """A row about to be written: head, body and the leaf that waits for the sealer."""

    record_id: str
    text: str
    writes: tuple[Insert, ...]


def prepare_decision(
    facts: DecisionFacts, *, name: str = "record", after: str | None = None
) -> PreparedRecord:
    """Build a row's bytes once; columns are read back from them, so they can't disagree."""
    text = canonical_text(facts)
    columns = derived_columns(strict_json.loads_object(text, max_bytes=MAX_RECORD_BYTES))
    record_id, leaf = new_id("rec"), leaf_hash(text)
    moment = columns["created_at"]
    head = {"record_id": record_id, **columns, "leaf_hash": leaf}
    body = {"record_id": record_id, "created_at": moment, "text": text}
    waiting = {
        "leaf_id": record_id,
        "tenant_id": facts.tenant_id,
        "leaf_hash": leaf,
        "created_at": moment,
    }
    return PreparedRecord(
        record_id,
        text,
        (
            Insert(name=f"{name}_head", table=_table(DecisionRow), values=head, after=after),
            Insert(name=f"{name}_body", table=_table(DecisionBody), values=body, after=after),
            Insert(name=f"{name}_leaf", table=_table(UnsealedLeaf), values=waiting, after=after),
        ),
    )


def record_decision(facts: DecisionFacts) -> str:
    """Write one row by itself, for decisions that change nothing else; its record id."""
    prepared = prepare_decision(facts)
    write_together(*prepared.writes)
    return prepared.record_id


def rows_of(*, tenant_id: str, decision_id: str) -> list[dict[str, Any]]:
    """Every row of one decision in order, as stored."""
    heads = DecisionRow.objects.filter(tenant_id=tenant_id, decision_id=decision_id)
    wanted = dict(heads.order_by("seq").values_list("record_id", "created_at"))
    # The times let PostgreSQL open only the partitions that hold these rows.
    bodies = DecisionBody.objects.filter(
        record_id__in=wanted.keys(), created_at__in=set(wanted.values())
    )
    texts = dict(bodies.values_list("record_id", "text"))
    return [strict_json.loads_object(texts[name], max_bytes=MAX_RECORD_BYTES) for name in wanted]


def _table(model: type[DecisionRow | DecisionBody | UnsealedLeaf]) -> str:
    return model._meta.db_table
