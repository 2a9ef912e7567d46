"""Is a record what was written, and does the log prove it? Checked anew at each look (E2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from audit import merkle
from audit.decision_record import derived_columns, derived_mentions
from audit.event_record import leaf_hash, record_hash
from audit.log import inclusion_proof, latest_checkpoint
from audit.models import Checkpoint, DecisionMention
from audit.proofs import encoded
from audit.record_texts import StoredRecord
from contextos.core.errors import ContextOSError


@dataclass(frozen=True, slots=True)
class RowProof:
    """One row: its leaf, its way to the root, and everything that contradicts it."""

    seq: int
    record_id: str
    leaf: str
    log_index: int | None
    hashes: tuple[bytes, ...] = ()
    is_included: bool = False
    faults: tuple[str, ...] = field(default=())

    @property
    def is_proved(self) -> bool:
        """Sealed, under the root, and as written."""
        return self.is_included and not self.faults


@dataclass(frozen=True, slots=True)
class DecisionProof:
    """All rows of a decision against the newest checkpoint."""

    rows: tuple[RowProof, ...]
    tree_size: int = 0
    root: str = ""
    checkpoint: str = ""

    @property
    def state(self) -> str:
        """`broken` as soon as one row contradicts itself, `waiting` until all are sealed."""
        if any(row.faults for row in self.rows):
            return "broken"
        return "proved" if all(row.is_included for row in self.rows) else "waiting"

    def document(self) -> dict[str, Any]:
        """What somebody elsewhere needs besides the texts and the public key."""
        return {
            "checkpoint": self.checkpoint,
            "tree_size": self.tree_size,
            "results": [
                {
                    "seq": row.seq,
                    "log_index": row.log_index,
                    "leaf_hash": row.leaf,
                    "hashes": encoded(row.hashes),
                }
                for row in self.rows
            ],
        }


def proof_of(rows: Sequence[StoredRecord]) -> DecisionProof:
    """Every row compared with itself and followed up to the signed root."""
    if not rows:
        return DecisionProof(())
    newest = latest_checkpoint(tenant_id=rows[0].head.tenant_id)
    proved = tuple(_row_proof(row, newest) for row in rows)
    if newest is None:
        return DecisionProof(proved)
    (root,) = encoded([bytes(newest.root_hash)])
    return DecisionProof(proved, newest.tree_size, root, newest.text)


def _row_proof(row: StoredRecord, newest: Checkpoint | None) -> RowProof:
    leaf = leaf_hash(row.text) if row.text else bytes(row.head.leaf_hash)
    faults = _faults(row)
    hashes: tuple[bytes, ...] = ()
    included = False
    if row.log_index is not None and newest is not None and row.log_index < newest.tree_size:
        try:
            hashes = tuple(
                inclusion_proof(
                    tenant_id=row.head.tenant_id, index=row.log_index, size=newest.tree_size
                )
            )
            included = merkle.verify_inclusion(
                leaf=leaf,
                index=row.log_index,
                size=newest.tree_size,
                proof=hashes,
                root=bytes(newest.root_hash),
            )
        except ContextOSError as fault:
            faults.append(fault.message)
        else:
            faults += [] if included else ["The log does not hold this text under its root."]
    return RowProof(
        row.head.seq, row.head.pk, leaf.hex(), row.log_index, hashes, included, tuple(faults)
    )


def _faults(row: StoredRecord) -> list[str]:
    """Contradictions between text, hashes, columns and mentions."""
    if not row.text:  # a purge takes the row together with its text
        return ["The text of the row is gone, and no purge took it."]
    if not row.record:
        return ["The text of the row can't be read."]
    found = []
    if leaf_hash(row.text) != bytes(row.head.leaf_hash):
        found.append("The leaf kept with the row is not that of its text.")
    if row.record.get("record_hash") != record_hash(row.record):
        found.append("The row's own hash is not that of its text.")
    try:
        columns, mentions = derived_columns(row.record), derived_mentions(row.record)
    except (ContextOSError, KeyError, TypeError, AttributeError):
        return [*found, "The text of the row is no decision record."]
    differing = [name for name, said in columns.items() if getattr(row.head, name) != said]
    found += [f"The column {name} does not say what the text says." for name in differing]
    return found + _mention_faults(row, mentions)


def _mention_faults(row: StoredRecord, said: tuple[tuple[str, str], ...]) -> list[str]:
    stored = DecisionMention.objects.filter(
        tenant_id=row.head.tenant_id,
        kind__in={kind for kind, _ in said},
        value__in={value for _, value in said},
        record_id=row.head.pk,
    )
    if set(said) - set(stored.values_list("kind", "value")):
        return ["What the row can be found by is not what its text says."]
    return []
