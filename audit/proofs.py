"""Proofs of a decision's rows as they are handed out: places, hashes, one checkpoint (E2)."""

from __future__ import annotations

import base64
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from audit.log import inclusion_proof, latest_checkpoint, log_indexes
from audit.models import Checkpoint, DecisionRow
from contextos.core.errors import coded_error

# Whoever asks right after a call is kept until the sealer has been there; only a few at a time.
PATIENCE_SECONDS = 1.5
_PAUSE = 0.1
_waiters = threading.BoundedSemaphore(4)


@dataclass(frozen=True, slots=True)
class Sealed:
    """The checkpoint that a proof is against, and the places of the leaves below it."""

    checkpoint: Checkpoint
    indexes: dict[str, int]


def proofs_of(*, tenant_id: str, rows: Sequence[DecisionRow]) -> list[dict[str, Any]]:
    """One proof per row that is sealed, all against the newest checkpoint."""
    sealed = _sealed_soon(tenant_id, [row.pk for row in rows])
    return [_proof(row, sealed) for row in rows if row.pk in sealed.indexes]


def encoded(hashes: Sequence[bytes]) -> list[str]:
    """As they stand in answers and files."""
    return [base64.b64encode(each).decode("ascii") for each in hashes]


def _proof(row: DecisionRow, sealed: Sealed) -> dict[str, Any]:
    index, size = sealed.indexes[row.pk], sealed.checkpoint.tree_size
    hashes = inclusion_proof(tenant_id=row.tenant_id, index=index, size=size)
    return {
        "seq": row.seq,
        "log_index": index,
        "tree_size": size,
        "hashes": encoded(hashes),
        "checkpoint": sealed.checkpoint.text,
    }


def _sealed_soon(tenant_id: str, leaf_ids: Sequence[str]) -> Sealed:
    """What is sealed, waiting a moment for rows that are not; none at all is a refusal."""
    found = _sealed(tenant_id, leaf_ids)
    if len(found.indexes) < len(leaf_ids) and _waiters.acquire(blocking=False):
        try:
            found = _waited(tenant_id, leaf_ids)
        finally:
            _waiters.release()
    if not found.indexes:
        raise coded_error("log.pending", retry_after_ms=1000)
    return found


def _waited(tenant_id: str, leaf_ids: Sequence[str]) -> Sealed:
    until = time.monotonic() + PATIENCE_SECONDS
    while True:
        found = _sealed(tenant_id, leaf_ids)
        if len(found.indexes) == len(leaf_ids) or time.monotonic() > until:
            return found
        time.sleep(_PAUSE)


def _sealed(tenant_id: str, leaf_ids: Sequence[str]) -> Sealed:
    """Places first: a checkpoint read afterwards covers them all."""
    indexes = log_indexes(tenant_id=tenant_id, leaf_ids=leaf_ids)
    newest = latest_checkpoint(tenant_id=tenant_id)
    return Sealed(newest or Checkpoint(tenant_id=tenant_id, tree_size=0), indexes)
