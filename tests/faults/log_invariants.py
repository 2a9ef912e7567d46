"""The log as a stranger checks it: nothing missing, nothing twice, every signed root right.

The tree is built here a second time, straight from RFC 6962, so that a fault of ours in the
product's own tree can't hide in the check.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

from tests.faults.store import Row, Store

_LEAVES = "SELECT tenant_id, log_index, leaf_id, leaf_hash FROM audit_logleaf ORDER BY 1, 2"
_WAITING = "SELECT tenant_id, leaf_id, leaf_hash FROM audit_unsealedleaf"
_WRITTEN = (
    "SELECT record_id, leaf_hash FROM audit_decisionrow "
    "UNION ALL SELECT event_id, leaf_hash FROM audit_auditevent"
)
_CHECKPOINTS = "SELECT tenant_id, tree_size, root_hash FROM audit_checkpoint ORDER BY 1, 2"


def log_violations(store: Store) -> Iterator[str]:
    """Every sentence about the log that does not hold."""
    logs: dict[str, list[tuple[int, str, bytes]]] = defaultdict(list)
    # At one moment: sealers go on while we look.
    leaves, waiting, written, checkpoints = store.together(
        _LEAVES, _WAITING, _WRITTEN, _CHECKPOINTS
    )
    for tenant_id, index, leaf_id, leaf in leaves:
        logs[tenant_id].append((index, leaf_id, bytes(leaf)))
    yield from _gaps(logs)
    yield from _places(logs, waiting, written)
    yield from _roots(logs, checkpoints)


def _gaps(logs: Mapping[str, Sequence[tuple[int, str, bytes]]]) -> Iterator[str]:
    for tenant_id, leaves in logs.items():
        if [index for index, *_ in leaves] != list(range(len(leaves))):
            yield f"the log of {tenant_id} has gaps"


def _places(
    logs: Mapping[str, Sequence[tuple[int, str, bytes]]], waiting: list[Row], rows: list[Row]
) -> Iterator[str]:
    """Each record and each event waits or is sealed, once and with its own hash."""
    known = [(leaf_id, leaf) for leaves in logs.values() for _, leaf_id, leaf in leaves]
    known += [(leaf_id, bytes(leaf)) for _, leaf_id, leaf in waiting]
    times, hashes = Counter(leaf_id for leaf_id, _ in known), dict(known)
    written = {record_id: bytes(leaf) for record_id, leaf in rows}
    for record_id, leaf in written.items():
        if times[record_id] != 1:
            yield f"{record_id} is {times[record_id]} times in the log"
        elif hashes[record_id] != leaf:
            yield f"{record_id} has another leaf in the log"
    for leaf_id in times.keys() - written.keys():
        yield f"the log has {leaf_id}, which nobody wrote"


def _roots(
    logs: Mapping[str, Sequence[tuple[int, str, bytes]]], checkpoints: list[Row]
) -> Iterator[str]:
    """Every checkpoint says the root of its first leaves, and the newest one all of them."""
    newest: dict[str, int] = {}
    for tenant_id, size, root in checkpoints:
        leaves = [leaf for *_, leaf in logs[tenant_id][:size]]
        if len(leaves) < size or tree_head(leaves) != bytes(root):
            yield f"the checkpoint of {tenant_id} at {size} is not what the leaves say"
        newest[tenant_id] = size
    for tenant_id, sealed in logs.items():
        if newest.get(tenant_id) != len(sealed):
            yield f"{tenant_id} has {len(sealed)} leaves, its checkpoint {newest.get(tenant_id)}"


def tree_head(leaves: Sequence[bytes]) -> bytes:
    """MTH of RFC 6962, over leaf hashes."""
    if not leaves:
        return hashlib.sha256(b"").digest()
    if len(leaves) == 1:
        return leaves[0]
    half = 1 << ((len(leaves) - 1).bit_length() - 1)
    both = tree_head(leaves[:half]) + tree_head(leaves[half:])
    return hashlib.sha256(b"\1" + both).digest()
