"""Checking what was signed: each checkpoint by its signature, its root and its neighbours."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field

from audit.checkpoint_note import Note, read_checkpoint, signer_of
from audit.models import Checkpoint
from audit.verifying.findings import Kind, Report
from contextos.core.errors import ContextOSError
from contextos.core.keystore import KeyRecord
from contextos.core.signing import KeyPurpose
from contextos.identity.keyring import key_store

AT_ONCE = 1000


def fingerprint(text: str) -> bytes:
    """A text in a few bytes: a log has as many checkpoints as there were rounds with work."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:16]


@dataclass(slots=True)
class Signers:
    """The keys of the log: whose signature counts, and whose did once."""

    records: tuple[KeyRecord, ...] = field(default_factory=lambda: key_store().keys(KeyPurpose.LOG))

    def judge(self, note: Note) -> tuple[bool, str]:
        """Whether a key that counts signed it; if not, what is wrong with who did."""
        key = signer_of(note, [record.key for record in self.records])
        if key is None:
            return False, "no key in the key folder signed it"
        record = next(each for each in self.records if each.key == key)
        if record.revoked_at is not None:
            return False, f"it was signed by the revoked key {key.kid}"
        return True, ""

    def is_revoked(self, note: Note) -> bool:
        """Signed by a key that was revoked since: a later checkpoint has to vouch for it."""
        revoked = [record.key for record in self.records if record.revoked_at is not None]
        return signer_of(note, revoked) is not None


@dataclass(slots=True)
class SignedSizes:
    """The checkpoints of a tenant in the order of their sizes, and which sizes count."""

    tenant_id: str
    origin: str
    signers: Signers
    report: Report
    trusted: int = 0  # the largest size that a key which counts has signed
    disowned: list[int] = field(default_factory=list)  # sizes that only revoked keys signed
    texts: set[bytes] = field(default_factory=set)  # by their fingerprints

    def rows(self, first: int, last: int) -> Iterator[Checkpoint]:
        """Those with a size in [first, last], smallest first."""
        at = (first, 0)
        while True:
            found = list(self._page(at, last))
            yield from found
            if len(found) < AT_ONCE:
                return
            at = found[-1].tree_size, found[-1].pk

    def _page(self, at: tuple[int, int], last: int) -> list[Checkpoint]:
        rows = Checkpoint.objects.filter(
            tenant_id=self.tenant_id, tree_size__gte=at[0], tree_size__lte=last
        )
        ordered = rows.order_by("tree_size", "pk")
        if at[1]:
            ordered = ordered.exclude(tree_size=at[0], pk__lte=at[1])
        return list(ordered[:AT_ONCE])

    def check(self, row: Checkpoint, root: bytes) -> None:
        """One checkpoint, now that the root over its leaves is known."""
        self.report.checkpoints += 1
        note = self._read(row)
        if note is None:
            return
        if note.root_hash != root:
            said = f"the leaves are not those of the checkpoint over {row.tree_size}"
            self.report.add(Kind.ROOT, said, self.trusted)
            return
        counts, problem = self.signers.judge(note)
        if counts:
            self.trusted = max(self.trusted, row.tree_size)
        elif self.signers.is_revoked(note):
            self.disowned.append(row.tree_size)
        else:
            said = f"the checkpoint over {row.tree_size} leaves: {problem}"
            self.report.add(Kind.SIGNATURE, said, self.trusted)

    def close(self) -> None:
        """What revoked keys signed stands only below a checkpoint that counts."""
        alone = [size for size in self.disowned if size > self.trusted]
        if alone:
            said = f"only a revoked key signed the checkpoint over {alone[0]} leaves"
            self.report.add(Kind.SIGNATURE, said, self.trusted)

    def _read(self, row: Checkpoint) -> Note | None:
        try:
            note = read_checkpoint(str(row.text))
        except ContextOSError:
            said = f"the text of the checkpoint over {row.tree_size} is none"
            self.report.add(Kind.CHECKPOINT, said, self.trusted)
            return None
        stored = (self.origin, row.tree_size, bytes(row.root_hash or b""))
        if (note.origin, note.tree_size, note.root_hash) != stored:
            said = f"the columns of the checkpoint over {row.tree_size} are not what it says"
            self.report.add(Kind.CHECKPOINT, said, self.trusted)
            return None
        self.texts.add(fingerprint(row.text))
        return note
