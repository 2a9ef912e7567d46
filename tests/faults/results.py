"""What a run of the faults has shown: one row for each fault, in `build/faults.json`."""

from __future__ import annotations

import fcntl
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tests.faults.plant import Plant
from tests.ops.environment import ROOT

FILE = ROOT / "build" / "faults.json"
RECOVERY_SECONDS = 30.0


@dataclass(slots=True)
class Row:
    """One fault: how often it struck, what was under way, how long until all was settled again."""

    fault: str
    points: int = 0
    calls: int = 0
    effects: int = 0
    unknown: int = 0
    recovery_seconds: float | None = None  # where there was nothing to recover
    ok: bool = True

    def recovered(self, seconds: float) -> None:
        """Settled again after this long, which has its limit."""
        self.recovery_seconds = round(max(self.recovery_seconds or 0.0, seconds), 1)
        assert seconds <= RECOVERY_SECONDS, f"{self.fault}: settled only after {seconds:.0f} s"

    def settled_since(self, moment: float) -> None:
        """The same, counted from a moment of `time.monotonic`."""
        self.recovered(time.monotonic() - moment)


@dataclass(slots=True)
class Results:
    """The rows so far; faults of one name are one row."""

    rows: dict[str, Row] = field(default_factory=dict)

    @contextmanager
    def of(self, fault: str, plant: Plant, *, points: int = 1) -> Iterator[Row]:
        """What happens inside belongs to the fault, whether it ends well or not."""
        row = self.rows.setdefault(fault, Row(fault))
        before, ended_well = _counted(plant), False
        try:
            yield row
            ended_well = True
        finally:
            row.points += points
            row.ok = row.ok and ended_well
            if ended_well:
                after = _counted(plant)
                row.calls += after[0] - before[0]
                row.effects += after[1] - before[1]
                row.unknown += after[2] - before[2]

    def write(self, file: Path = FILE) -> None:
        """Beside what other parts of the same run have written, or are writing just now."""
        file.parent.mkdir(exist_ok=True)
        with file.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            known = {row.fault: row for row in read_rows(file)}
            merged = {**known, **self.rows}
            rows = [asdict(merged[fault]) for fault in sorted(merged, key=str.casefold)]
            file.write_text(json.dumps(rows, indent=2) + "\n")


def read_rows(file: Path = FILE) -> list[Row]:
    """What a run has written."""
    if not file.exists():
        return []
    return [Row(**row) for row in json.JSONDecoder().decode(file.read_text())]


def _counted(plant: Plant) -> tuple[int, int, int]:
    sql = "SELECT count(*), count(*) FILTER (WHERE state = 'unknown_outcome') FROM gateway_toolcall"
    calls, unknown = plant.store.rows(sql)[0]
    return int(calls), len(plant.ledger.effects()), int(unknown)
