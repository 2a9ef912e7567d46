"""Writing and reading DecisionRecords; their writes join those of the change they record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from audit.decision_record import DecisionFacts, as_record, derived_columns, derived_mentions
from audit.event_record import hashed_text, leaf_hash
from audit.models import DecisionBody, DecisionMention, DecisionRow, GatedDecision, UnsealedLeaf
from audit.one_statement import Insert, InsertRows, write_together
from contextos.core import strict_json
from contextos.core.ids import timed_id

MAX_RECORD_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class PreparedRecord:
    """A row about to be written: head, body and the leaf that waits for the sealer."""

    record_id: str
    text: str
    writes: tuple[Insert | InsertRows, ...]


def prepare_decision(
    facts: DecisionFacts, *, name: str = "record", after: str | None = None
) -> PreparedRecord:
    """Build a row's bytes once; columns come from the very record that they spell."""
    record = as_record(facts)
    text, columns = hashed_text(record), derived_columns(record)
    strict_json.refuse_unreadable(text, max_bytes=MAX_RECORD_BYTES)
    moment, leaf = columns["created_at"], leaf_hash(text)
    # Its id says the record's own time, so that a search of a period is a range of ids; of one
    # millisecond, which is what the record says, it keeps the order too.
    record_id = timed_id("rec", facts.created_at, order=facts.seq)
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
            *_mentions(record, record_id, name=f"{name}_mentions", after=after),
            *_gated(facts, name, after),
        ),
    )


def _mentions(
    record: dict[str, Any], record_id: str, *, name: str, after: str | None
) -> tuple[InsertRows, ...]:
    """Written only when there is something to say: most reads mention nobody."""
    found = derived_mentions(record)
    if not found:
        return ()
    rows = [(record["tenant_id"], kind, value, record_id) for kind, value in found]
    columns = ("tenant_id", "kind", "value", "record_id")
    return (
        InsertRows(
            name=name, table=_table(DecisionMention), columns=columns, rows=rows, after=after
        ),
    )


def _gated(facts: DecisionFacts, name: str, after: str | None) -> list[Insert]:
    """A decision that waits at a gate says so once: it is kept longer than others."""
    gate = (facts.policy_decision or {}).get("requires_approval_gate")
    if facts.seq != 1 or not gate:
        return []
    row = {"decision_id": facts.decision_id, "tenant_id": facts.tenant_id, "gate": str(gate)[:200]}
    return [Insert(name=f"{name}_gated", table=_table(GatedDecision), values=row, after=after)]


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


def _table(
    model: type[DecisionRow | DecisionBody | DecisionMention | UnsealedLeaf | GatedDecision],
) -> str:
    return model._meta.db_table
