"""Sealing: what waits becomes leaves of its tenant's log, under a signed checkpoint (E2).

Nothing here is in the way of a call. A round takes whatever lies in the table of unsealed leaves,
by its presence: a transaction that commits late, or a clock that runs behind, is simply sealed by a
later round. One transaction moves a batch: leaves, nodes, head and checkpoint stand together or not
at all, so a sealer may be killed at any point. Two sealers are safe: a head is locked by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

import structlog
from django.conf import settings
from django.db import connection, transaction

from audit import merkle
from audit.checkpoint_note import origin_of, sign_checkpoint
from audit.log import root_at
from audit.models import Checkpoint, LogHead, LogNode, UnsealedLeaf
from contextos.core.clock import utcnow
from contextos.core.errors import ContextOSError, coded_error
from contextos.core.signing import Signer

log = structlog.get_logger(__name__)
# On SQLite everybody else waits while a batch is written.
BATCH = {"postgresql": 5000, "sqlite": 500}
TENANTS_AT_ONCE = 1000
_TAKE = (
    "DELETE FROM audit_unsealedleaf WHERE leaf_id IN (SELECT leaf_id FROM audit_unsealedleaf "
    "WHERE tenant_id = %s ORDER BY leaf_id LIMIT %s) RETURNING leaf_id, leaf_hash"
)
_INSERT_ROW = (
    "INSERT INTO audit_logleaf (leaf_id, tenant_id, log_index, leaf_hash) VALUES (%s, %s, %s, %s)"
)
_INSERT_ARRAYS = (
    "INSERT INTO audit_logleaf (leaf_id, tenant_id, log_index, leaf_hash) "
    "SELECT name, %s, %s + place - 1, leaf "
    "FROM unnest(%s::text[], %s::bytea[]) WITH ORDINALITY AS waiting (name, leaf, place)"
)


@dataclass(frozen=True, slots=True)
class Sealed:
    """What one batch did to a tenant's log."""

    tenant_id: str
    leaves: int
    checkpoint: Checkpoint
    more: bool


@dataclass(slots=True)
class Witnessed:
    """What this sealer knows to be signed, by itself or outside the database: size and root.

    The database alone is not believed: one that was put back to yesterday, or rewritten together
    with its checkpoints, would make us sign a second history.
    """

    roots: dict[str, tuple[int, bytes]] = field(default_factory=dict)

    def require_continued(self, head: LogHead) -> None:
        """Refuse a head that does not go on from what was signed."""
        size, root = self.roots.get(head.tenant_id, (0, merkle.EMPTY_ROOT))
        if head.tree_size < size:
            said = f"{size} leaves were signed, the database has {head.tree_size}."
            raise coded_error("log.rewritten", message=said, data=_where(head))
        same = bytes(head.root_hash) if head.tree_size == size else _stored_root(head, size)
        if same != root:
            said = f"The first {size} leaves are not those that were signed."
            raise coded_error("log.rewritten", message=said, data=_where(head))

    def note(self, checkpoint: Checkpoint) -> None:
        """From now on the log must go on from here."""
        self.roots[checkpoint.tenant_id] = checkpoint.tree_size, bytes(checkpoint.root_hash)


def tenants_to_seal(signer: Signer) -> list[str]:
    """Whose leaves wait, and whose newest checkpoint another key signed: rotation renews it."""
    waiting = UnsealedLeaf.objects.order_by("tenant_id").values_list("tenant_id", flat=True)
    kid = signer.verification_key.kid
    renewed = LogHead.objects.exclude(kid__in=["", kid]).values_list("tenant_id", flat=True)
    return sorted({*waiting.distinct()[:TENANTS_AT_ONCE], *renewed[:TENANTS_AT_ONCE]})


def seal_batch(tenant_id: str, *, signer: Signer, witnessed: Witnessed) -> Sealed | None:
    """Seal one batch of a tenant; None where nothing waits or another sealer is at it."""
    with transaction.atomic():
        head = _locked_head(tenant_id)
        if head is None:
            return None
        waiting = _taken(tenant_id)
        if not waiting and head.kid == signer.verification_key.kid:
            return None
        witnessed.require_continued(head)
        checkpoint = _append(head, waiting, signer)
    witnessed.note(checkpoint)
    return Sealed(tenant_id, len(waiting), checkpoint, more=len(waiting) == _batch_size())


def _locked_head(tenant_id: str) -> LogHead | None:
    """The head, held by us alone until the transaction ends; None while another holds it."""
    mine = LogHead.objects.select_for_update(skip_locked=True).filter(pk=tenant_id)
    head = mine.first()
    if head is None:
        first = LogHead(
            tenant_id=tenant_id,
            origin=origin_of(settings.LOG_ORIGIN, tenant_id),
            root_hash=merkle.EMPTY_ROOT,
            peaks=b"",
        )
        LogHead.objects.bulk_create([first], ignore_conflicts=True)
        head = mine.first()
    return head


def _taken(tenant_id: str) -> list[tuple[str, bytes]]:
    """A batch, gone from the table of what waits; it is back there if this is not committed."""
    with connection.cursor() as cursor:
        cursor.execute(_TAKE, [tenant_id, _batch_size()])
        return sorted((leaf_id, bytes(leaf)) for leaf_id, leaf in cursor.fetchall())


def _batch_size() -> int:
    return BATCH[connection.vendor]


def _append(head: LogHead, waiting: Sequence[tuple[str, bytes]], signer: Signer) -> Checkpoint:
    tree, now = _tree_of(head), utcnow()
    nodes = list(tree.grow(leaf for _, leaf in waiting))
    _write_leaves(head, waiting)
    _write_nodes(head.tenant_id, nodes)
    checkpoint = _write_checkpoint(head, tree, signer, now)
    _move_head(head, tree, checkpoint)
    return checkpoint


def _tree_of(head: LogHead) -> merkle.CompactTree:
    """The tree so far; a head that contradicts itself was not written by a sealer."""
    peaks, width = bytes(head.peaks), merkle.HASH_BYTES
    try:
        tree = merkle.CompactTree(
            head.tree_size, [peaks[at : at + width] for at in range(0, len(peaks), width)]
        )
    except ValueError:
        tree = None
    if tree is None or tree.root() != bytes(head.root_hash):
        raise coded_error("log.rewritten", data=_where(head))
    return tree


def _write_leaves(head: LogHead, waiting: Sequence[tuple[str, bytes]]) -> None:
    """Five thousand at once: arrays where the database has them, rows one by one elsewhere."""
    tenant_id, first = head.tenant_id, head.tree_size
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            names, leaves = [name for name, _ in waiting], [leaf for _, leaf in waiting]
            cursor.execute(_INSERT_ARRAYS, [tenant_id, first, names, leaves])
        else:
            places = enumerate(waiting, start=first)
            rows = [(name, tenant_id, place, leaf) for place, (name, leaf) in places]
            cursor.executemany(_INSERT_ROW, rows)


def _write_nodes(tenant_id: str, nodes: Sequence[tuple[int, int, bytes]]) -> None:
    LogNode.objects.bulk_create(
        LogNode(tenant_id=tenant_id, level=level, position=position, root_hash=root)
        for level, position, root in nodes
    )


def _write_checkpoint(
    head: LogHead, tree: merkle.CompactTree, signer: Signer, now: datetime
) -> Checkpoint:
    root = tree.root()
    text = sign_checkpoint(origin=head.origin, tree_size=tree.size, root_hash=root, signer=signer)
    return Checkpoint.objects.create(
        tenant_id=head.tenant_id,
        tree_size=tree.size,
        root_hash=root,
        kid=signer.verification_key.kid,
        text=text,
        created_at=now,
    )


def _move_head(head: LogHead, tree: merkle.CompactTree, checkpoint: Checkpoint) -> None:
    """Compare and set: where no lock holds, a second sealer still can't go on from the same."""
    moved = LogHead.objects.filter(pk=head.pk, tree_size=head.tree_size, kid=head.kid).update(
        tree_size=tree.size,
        root_hash=checkpoint.root_hash,
        peaks=b"".join(tree.peaks),
        kid=checkpoint.kid,
        sealed_at=checkpoint.created_at,
    )
    if moved != 1:
        raise coded_error("log.rewritten", data=_where(head))


def _stored_root(head: LogHead, size: int) -> bytes | None:
    try:
        return root_at(tenant_id=head.tenant_id, size=size)
    except ContextOSError:  # leaves or nodes are gone
        return None


def _where(head: LogHead) -> dict[str, object]:
    return {"tenant_id": head.tenant_id, "tree_size": head.tree_size}
