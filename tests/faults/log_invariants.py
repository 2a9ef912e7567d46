"""The log as a stranger checks it: nothing missing, nothing twice, every signed root right.

The tree is built here a second time, straight from RFC 6962, and checkpoints are read a second
time, straight from C2SP, so that a fault of ours in the product's own can't hide in the check.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote, unquote

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from tests.faults.store import Row, Store

_LEAVES = "SELECT tenant_id, log_index, leaf_id, leaf_hash FROM audit_logleaf ORDER BY 1, 2"
_WAITING = "SELECT tenant_id, leaf_id, leaf_hash FROM audit_unsealedleaf"
_WRITTEN = (
    "SELECT record_id, leaf_hash FROM audit_decisionrow "
    "UNION ALL SELECT event_id, leaf_hash FROM audit_auditevent"
)
_CHECKPOINTS = (
    "SELECT tenant_id, tree_size, root_hash, kid, text FROM audit_checkpoint ORDER BY 1, 2"
)
_ID_BYTES = 4  # before the signature stands which key made it

Leaves = Mapping[str, Sequence[tuple[int, str, bytes]]]


@dataclass(slots=True)
class Roots:
    """What the first leaves of a log come to, each worked out once."""

    logs: Leaves
    _known: dict[tuple[str, int], bytes | None] = field(default_factory=dict)

    def of(self, tenant_id: str, size: int) -> bytes | None:
        """None where there are not so many."""
        if (tenant_id, size) not in self._known:
            leaves = [leaf for *_, leaf in self.logs.get(tenant_id, ())[:size]]
            root = tree_head(leaves) if len(leaves) == size else None
            self._known[tenant_id, size] = root
        return self._known[tenant_id, size]


def log_violations(store: Store) -> Iterator[str]:
    """Every sentence about the log that does not hold."""
    logs: dict[str, list[tuple[int, str, bytes]]] = defaultdict(list)
    # Before the rest: what is outside has been in the database, and sealers go on while we look.
    outside = list(_lines_outside(store.home / "checkpoints")) if store.home else []
    # At one moment: sealers go on while we look.
    leaves, waiting, written, checkpoints = store.together(
        _LEAVES, _WAITING, _WRITTEN, _CHECKPOINTS
    )
    for tenant_id, index, leaf_id, leaf in leaves:
        logs[tenant_id].append((index, leaf_id, bytes(leaf)))
    yield from _gaps(logs)
    yield from _places(logs, waiting, written)
    roots = Roots(logs)
    yield from _roots(roots, checkpoints)
    yield from _outside(roots, outside)
    if store.home is not None:
        yield from _signatures(checkpoints, store.home / "keys" / "log")


def _gaps(logs: Leaves) -> Iterator[str]:
    for tenant_id, leaves in logs.items():
        if [index for index, *_ in leaves] != list(range(len(leaves))):
            yield f"the log of {tenant_id} has gaps"


def _places(logs: Leaves, waiting: list[Row], rows: list[Row]) -> Iterator[str]:
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


def _roots(roots: Roots, checkpoints: list[Row]) -> Iterator[str]:
    """Every checkpoint says the root of its first leaves, and the newest one all of them."""
    newest: dict[str, int] = {}
    for tenant_id, size, root, *_ in checkpoints:
        if roots.of(tenant_id, size) != bytes(root):
            yield f"the checkpoint of {tenant_id} at {size} is not what the leaves say"
        newest[tenant_id] = size
    for tenant_id, sealed in roots.logs.items():
        if newest.get(tenant_id) != len(sealed):
            yield f"{tenant_id} has {len(sealed)} leaves, its checkpoint {newest.get(tenant_id)}"


def _signatures(checkpoints: list[Row], keys: Path) -> Iterator[str]:
    """Every checkpoint is signed by the key it names, and signed is what its columns say."""
    for tenant_id, size, root, kid, text in checkpoints:
        if _said(text) != (tenant_id, size, bytes(root)):
            yield f"the checkpoint of {tenant_id} at {size} says {text!r}"
        elif not _is_signed(text, keys / f"{kid}.json"):
            yield f"the checkpoint of {tenant_id} at {size} is not signed by {kid}"


def _outside(roots: Roots, lines: list[tuple[str, str]]) -> Iterator[str]:
    """The log still says what it said when a checkpoint left the database: nothing was cut off."""
    for folder, text in lines:
        tenant_id, size, root = _said(text)
        if quote(tenant_id, safe="") != folder:
            yield f"{folder} has a checkpoint of {tenant_id}"
        elif roots.of(tenant_id, size) != root:
            yield f"{tenant_id} was signed at {size} outside, the log says otherwise"


def _lines_outside(checkpoints: Path) -> Iterator[tuple[str, str]]:
    """Each checkpoint that was written there, with its folder."""
    for path in sorted(checkpoints.glob("*/*.jsonl")):
        for line in path.read_text().splitlines():
            with suppress(ValueError):  # torn by a kill: the whole line follows
                yield path.parent.name, json.JSONDecoder().decode(line)["checkpoint"]


def _said(text: str) -> tuple[str, int, bytes]:
    """Whose log, how many leaves, which root."""
    origin, size, root, *_ = text.split("\n")
    return unquote(origin.rpartition("/log/")[2]), int(size), base64.b64decode(root)


def _is_signed(text: str, key_file: Path) -> bool:
    """By its last line, over all before the empty one."""
    if not key_file.exists():
        return False
    body, _, line = text.partition("\n\n")
    signature = base64.b64decode(line.split()[-1])[_ID_BYTES:]
    jwk = json.JSONDecoder().decode(key_file.read_text())["jwk"]
    key = Ed25519PublicKey.from_public_bytes(base64.urlsafe_b64decode(jwk["x"] + "=="))
    try:
        key.verify(signature, f"{body}\n".encode())
    except InvalidSignature:
        return False
    return True


def tree_head(leaves: Sequence[bytes]) -> bytes:
    """MTH of RFC 6962, over leaf hashes."""
    if not leaves:
        return hashlib.sha256(b"").digest()
    if len(leaves) == 1:
        return leaves[0]
    half = 1 << ((len(leaves) - 1).bit_length() - 1)
    both = tree_head(leaves[:half]) + tree_head(leaves[half:])
    return hashlib.sha256(b"\1" + both).digest()
