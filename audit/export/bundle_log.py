"""A bundle's part of the log: places, checkpoint, proofs, and what stands between the records."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from django.db.models import Max, Min

from audit.checkpoint_note import read_checkpoint
from audit.export.base import Cover
from audit.export.offline.verify import Places
from audit.export.proofs import ProofMaker
from audit.export.scratch import Distinct, Ids
from audit.log import consistency_proof, latest_checkpoint, log_indexes
from audit.models import AuditEvent, Checkpoint, DecisionBody, DecisionRow, LogLeaf, UnsealedLeaf
from audit.proofs import encoded
from contextos.core.canonical import canonicalise
from contextos.core.clock import format_time
from contextos.core.errors import coded_error
from contextos.core.signing import KeyPurpose
from contextos.identity.keyring import key_store

SEALED_WITHIN = 60.0  # seconds; sealing takes one
_LOOK_EVERY = 0.2
_AT_ONCE = 500
_Leaf = tuple[int, str, bytes]  # place, id, hash


class LogPart:
    """Writes approvals, others, checkpoint, proofs and consistency into the members."""

    def __init__(self, folder: Path, cover: Cover, pulse: Callable[[], None]) -> None:
        self._folder, self._members = folder, folder / "members"
        self._cover, self._pulse = cover, pulse
        self._tenant_id = cover.tenant_id
        self.span: dict[str, Any] | None = None
        self._since = cover.wanted.get("from", "")
        # What was recorded after the export was asked for is no part of it.
        asked_at = format_time(cover.requested_at)
        self._until = min(cover.wanted.get("to", asked_at), asked_at)

    def write(self, records: Ids, approvals: Distinct, *, whole: bool) -> dict[str, int]:
        """Everything; how many lines each file has."""
        events = Ids(self._folder / "approvals.ids")
        self._write_approvals(approvals, events)
        self._find_places(records)
        self._find_places(events)
        if self._cover.sample:
            self._wait_for_population()
        self._checkpoint = self._newest()
        self._write_text("checkpoint.txt", self._checkpoint.text)
        self._proofs = ProofMaker(tenant_id=self._tenant_id, size=self._checkpoint.tree_size)
        with (self._members / "proofs.jsonl").open("wb") as proofs:
            counts = {
                "records.jsonl": self._prove("records.jsonl", records, proofs),
                "approvals.jsonl": self._prove("approvals.jsonl", events, proofs),
            }
            others, bare = self._write_others(records, proofs, whole=whole)
        self._write_consistency(records)
        events.close()
        return {**counts, "others.jsonl": others, "by_hash_only": bare}

    def checkpoint_claim(self) -> dict[str, Any]:
        """What the signed statement says of the log."""
        note = read_checkpoint(self._checkpoint.text)
        root = note.root_hash.hex()
        return {"origin": note.origin, "tree_size": note.tree_size, "root_hash": root}

    # --- places -----------------------------------------------------------------------------------
    def _find_places(self, ids: Ids) -> None:
        """Where each leaf stands; the newest may still wait for the sealer, but not for long."""
        until = time.monotonic() + SEALED_WITHIN
        for some in ids.batches():
            found = log_indexes(tenant_id=self._tenant_id, leaf_ids=some)
            while len(found) < len(some):
                self._pause(until)
                found = log_indexes(tenant_id=self._tenant_id, leaf_ids=some)
            ids.places.extend(found[each] for each in some)
            self._pulse()

    def _wait_for_population(self) -> None:
        """What was not drawn has to be in the log as well, to be counted."""
        until = time.monotonic() + SEALED_WITHIN
        ids = self._cover.selection.rows().order_by().values("record_id")
        while UnsealedLeaf.objects.filter(tenant_id=self._tenant_id, leaf_id__in=ids).exists():
            self._pause(until)

    def _pause(self, until: float) -> None:
        if time.monotonic() > until:
            raise coded_error("export.not_sealed", data={"seconds": SEALED_WITHIN})
        time.sleep(_LOOK_EVERY)
        self._pulse()

    def _newest(self) -> Checkpoint:
        """Under a key that counts: after a revocation the sealer signs the log anew."""
        until = time.monotonic() + SEALED_WITHIN
        newest = latest_checkpoint(tenant_id=self._tenant_id)
        while newest is not None and newest.kid in _revoked():
            self._pause(until)
            newest = latest_checkpoint(tenant_id=self._tenant_id)
        if newest is None:
            raise coded_error("export.not_sealed", data={"seconds": SEALED_WITHIN})
        return newest

    # --- lines and their proofs -------------------------------------------------------------------
    def _write_approvals(self, approvals: Distinct, ids: Ids) -> None:
        with (self._members / "approvals.jsonl").open("wb") as file:
            for some in approvals.batches():
                rows = AuditEvent.objects.filter(
                    tenant_id=self._tenant_id, subject_kind="approval", subject_id__in=some
                )
                shown = self._cover.selection.window.limit(rows).order_by("event_id")
                for event_id, text in shown.values_list("event_id", "text"):
                    file.write(f"{text}\n".encode())
                    ids.add(event_id)
                self._pulse()

    def _prove(self, name: str, ids: Ids, proofs: IO[bytes]) -> int:
        number = 0
        for number, place in enumerate(ids.places, start=1):
            proofs.write(self._line({"file": name, "line": number}, place))
            if number % 1000 == 0:
                self._pulse()
        return number

    def _line(self, head: dict[str, Any], place: int) -> bytes:
        hashes = encoded(self._proofs.proof(place))
        return canonicalise({**head, "log_index": place, "hashes": hashes}) + b"\n"

    # --- nothing left out -------------------------------------------------------------------------
    def _write_others(self, records: Ids, proofs: IO[bytes], *, whole: bool) -> tuple[int, int]:
        """Every other leaf from just before the period to just after it."""
        written = 0
        bare = self._folder / "bare.jsonl"
        with (self._members / "others.jsonl").open("wb") as file, bare.open("wb") as unseen:
            if whole and records.places:
                for leaves in self._between(records):
                    written += self._write_some(leaves, file, proofs, unseen, written)
                    self._pulse()
        if self.span is not None:
            self.span["until"] = self._until
        with bare.open("rb") as unseen:
            count = sum(proofs.write(line) > 0 for line in unseen)
        return written, count

    def _between(self, records: Ids) -> Iterator[list[_Leaf]]:
        """The leaves that are no record of the bundle; sets the span on the way."""
        lowest, highest = self._ends(records)
        first, end = self._edge_before(lowest), self._edge_behind(highest)
        self.span = {"first": first, "end": end}
        seen = Places()
        for place in records.places:
            seen.add(place, "")
        for start in range(first, end, _AT_ONCE):
            found = self._leaves(start, min(end, start + _AT_ONCE))
            yield [leaf for leaf in found if not seen.has(leaf[0])]

    def _leaves(self, first: int, end: int) -> list[_Leaf]:
        rows = LogLeaf.objects.filter(
            tenant_id=self._tenant_id, log_index__gte=first, log_index__lt=end
        ).order_by("log_index")
        found = rows.values_list("log_index", "leaf_id", "leaf_hash")
        return [(at, name, bytes(leaf)) for at, name, leaf in found]

    def _edge_before(self, place: int) -> int:
        """The nearest leaf from before the period, or one that nobody can date any more: without
        it the span would be no more than our word."""
        while place > 0 and self._since:
            start = max(0, place - _AT_ONCE)
            for at, moment in reversed(self._dated(start, place)):
                if moment is None or moment < self._since:
                    return at
            place = start
            self._pulse()
        return 0

    def _edge_behind(self, place: int) -> int:
        """Just behind the nearest leaf from after the period, or where the log ends."""
        size = self._checkpoint.tree_size
        for start in range(place + 1, size, _AT_ONCE):
            for at, moment in self._dated(start, min(size, start + _AT_ONCE)):
                if moment is None or moment >= self._until:
                    return at + 1
            self._pulse()
        return size

    def _dated(self, first: int, end: int) -> list[tuple[int, str | None]]:
        leaves = self._leaves(first, end)
        names = [name for _, name, _ in leaves]
        moments: dict[str, Any] = {}
        for model in (AuditEvent, DecisionRow):
            rows = model._default_manager.filter(pk__in=names, tenant_id=self._tenant_id)
            moments.update(rows.values_list("pk", "created_at"))
        return [
            (at, format_time(moments[name]) if name in moments else None) for at, name, _ in leaves
        ]

    def _ends(self, records: Ids) -> tuple[int, int]:
        """The first and the last place; of a sample, those of all it was drawn from."""
        if not self._cover.sample:
            return min(records.places), max(records.places)
        drawn_from = LogLeaf.objects.filter(
            tenant_id=self._tenant_id,
            leaf_id__in=self._cover.selection.rows().order_by().values("record_id"),
        )
        ends = drawn_from.aggregate(lowest=Min("log_index"), highest=Max("log_index"))
        return ends["lowest"], ends["highest"]

    def _write_some(
        self,
        leaves: Sequence[_Leaf],
        file: IO[bytes],
        proofs: IO[bytes],
        unseen: IO[bytes],
        before: int,
    ) -> int:
        names = [name for _, name, _ in leaves]
        texts = {} if self._cover.sample else self._texts(names)
        drawn_from = self._cover.selection.among(names) if self._cover.sample else set()
        written = 0
        for place, name, leaf in leaves:
            if name in texts:
                written += 1
                file.write(f"{texts[name]}\n".encode())
                proofs.write(self._line({"file": "others.jsonl", "line": before + written}, place))
            else:
                head = {"file": None, "leaf_hash": leaf.hex(), "in_population": name in drawn_from}
                unseen.write(self._line(head, place))
        return written

    def _texts(self, ids: Sequence[str]) -> dict[str, str]:
        """What those leaves say, as far as it is kept and this reader may see it."""
        window = self._cover.selection.window
        events = AuditEvent.objects.filter(pk__in=ids, tenant_id=self._tenant_id)
        heads = window.limit(DecisionRow.objects.filter(pk__in=ids, tenant_id=self._tenant_id))
        moments = dict(heads.values_list("record_id", "created_at"))
        bodies = DecisionBody.objects.filter(
            record_id__in=list(moments), created_at__in=set(moments.values())
        )
        texts = dict(bodies.values_list("record_id", "text"))
        self._note_late(format_time(moments[name]) for name in texts)
        return {**dict(window.limit(events).values_list("event_id", "text")), **texts}

    def _note_late(self, moments: Iterable[str]) -> None:
        """Records of the period that were committed while this was written: it is whole only up
        to the first of them."""
        late = [each for each in moments if self._since <= each < self._until]
        self._until = min([self._until, *late])

    # --- how the log grew -------------------------------------------------------------------------
    def _write_consistency(self, records: Ids) -> None:
        """From the last checkpoint before the records to the one they are proved under."""
        first = min(records.places, default=0)
        size = self._checkpoint.tree_size
        rows = Checkpoint.objects.filter(
            tenant_id=self._tenant_id, tree_size__gt=0, tree_size__lte=first
        ).exclude(kid__in=_revoked())
        earlier = rows.order_by("-tree_size", "-pk").first()
        document = None
        if earlier is not None:
            hashes = consistency_proof(
                tenant_id=self._tenant_id, first=earlier.tree_size, second=size
            )
            document = {"checkpoint": earlier.text, "hashes": encoded(hashes)}
        (self._members / "consistency.json").write_bytes(canonicalise(document) + b"\n")

    def _write_text(self, name: str, text: str) -> None:
        (self._members / name).write_bytes(text.encode())


def _revoked() -> set[str]:
    """Log keys whose signatures count no more."""
    keys = key_store().keys(KeyPurpose.LOG)
    return {each.key.kid for each in keys if each.revoked_at is not None}
