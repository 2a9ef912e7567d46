"""The signed bundle: records, what they rest on, and all that is needed to check them at home."""

from __future__ import annotations

import shutil
from typing import IO, Any

from audit.export.base import Totals, Writer
from audit.export.bundle_files import Documents, keys_document, pack
from audit.export.bundle_log import LogPart
from audit.export.columns import record_of
from audit.export.scratch import Distinct, Ids
from audit.export.selection import Line
from audit.export.words import cover_lines

_BUFFER = 1024 * 1024
_PERIOD = frozenset({"from", "to"})


class BundleWriter(Writer):
    """Everything is put into a folder of its own first; the zip file is made of it at the end."""

    extension = "zip"
    media_type = "application/zip"

    def begin(self) -> None:
        """The folder, the records, and notes for what comes last."""
        self._folder = self.path.with_name(f"{self.path.name}.d")
        shutil.rmtree(self._folder, ignore_errors=True)
        self._members = self._folder / "members"
        (self._members / "artefacts").mkdir(parents=True)
        self._records: IO[bytes] = (self._members / "records.jsonl").open("wb", buffering=_BUFFER)
        self._ids = Ids(self._folder / "records.ids")
        self._approvals = Distinct(self._folder / "approvals.db")
        self._documents = Documents(self.cover.tenant_id, self._members / "artefacts")

    def add(self, line: Line) -> None:
        """The text as it was stored, and a note of what it rests on."""
        self._records.write(line.text + b"\n")
        self._ids.add(line.record_id)
        record = record_of(line.text)
        self._documents.note(record)
        approvals = record.get("approvals") or ()
        self._approvals.add(
            str(each["approval_id"]) for each in approvals if each.get("approval_id")
        )

    def close(self, totals: Totals) -> None:
        """Proofs, documents and keys; then the signed list of it all, and the zip file."""
        self._records.close()
        log = LogPart(self._folder, self.cover, self.pulse)
        try:
            counts = log.write(self._ids, self._approvals, whole=self._is_whole_period())
        finally:
            self._ids.close()
            self._approvals.close()
        missing = self._documents.write()
        (self._members / "keys.json").write_bytes(keys_document())
        pack(self._members, self.path, self._statement(totals, log, counts, missing))
        shutil.rmtree(self._folder, ignore_errors=True)

    def abandon(self) -> None:
        """Drop the folder."""
        for part in (self._records, self._ids, self._approvals):
            part.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _is_whole_period(self) -> bool:
        """Only a period can be shown to be complete: other filters leave gaps in the log."""
        return set(self.cover.wanted) <= _PERIOD

    def _statement(
        self, totals: Totals, log: LogPart, counts: dict[str, int], missing: list[str]
    ) -> dict[str, Any]:
        cover = self.cover
        sample = cover.sample and {**cover.sample, "population": totals.population}
        return {
            "export_version": "contextos.export_bundle.v1",
            "export_id": cover.export_id,
            "tenant_id": cover.tenant_id,
            "about": dict(cover_lines(cover, totals)),
            "filter": dict(cover.wanted),
            "sample": sample,
            "choice": ", ".join(f"{name} = {value}" for name, value in cover.wanted.items())
            or "there is no record in the period",
            "counts": counts,
            "text_missing": totals.missing,
            "checkpoint": log.checkpoint_claim(),
            "complete": log.span,
            "artefacts_missing": missing,
        }
