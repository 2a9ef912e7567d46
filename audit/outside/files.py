"""Checkpoints as files: one folder per tenant, one file per month, one line per checkpoint.

A line is `{"at": <time>, "checkpoint": <C2SP text>}`. Lines are only ever added. Whoever copies the
folder to a place that the database's administrator can't write to holds proof against them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from audit.checkpoint_note import Note, read_checkpoint
from audit.models import Checkpoint
from contextos.core import strict_json
from contextos.core.clock import format_time
from contextos.core.errors import ContextOSError

_ENDING = ".jsonl"
_MOST_LINE = 20_000
_FILE, _FOLDER = 0o644, 0o755


@dataclass(frozen=True, slots=True)
class OutsideLine:
    """One line of a file; no note where it is not a checkpoint."""

    path: Path
    number: int
    note: Note | None
    text: str


def folder_of(base: Path, tenant_id: str) -> Path:
    """Where a tenant's files lie."""
    return base / quote(tenant_id, safe="")


def file_of(base: Path, checkpoint: Checkpoint) -> Path:
    """The file that a checkpoint belongs into."""
    return folder_of(base, checkpoint.tenant_id) / f"{checkpoint.created_at:%Y-%m}{_ENDING}"


def append(base: Path, checkpoints: Sequence[Checkpoint]) -> None:
    """Add lines and make sure they are on the disk; those of one call are of one tenant."""
    by_file: dict[Path, list[str]] = {}
    for checkpoint in checkpoints:
        by_file.setdefault(file_of(base, checkpoint), []).append(_line(checkpoint))
    for path, lines in by_file.items():
        _append_to(path, "".join(lines).encode())


def lines_of(base: Path, tenant_id: str) -> Iterator[OutsideLine]:
    """Every line ever written for a tenant, oldest file first; torn ones that follow whole."""
    for path in sorted(folder_of(base, tenant_id).glob(f"*{_ENDING}")):
        yield from _read(path)


def last_note(base: Path, tenant_id: str) -> Note | None:
    """The newest checkpoint that was written, by the end of the newest file."""
    for path in sorted(folder_of(base, tenant_id).glob(f"*{_ENDING}"), reverse=True):
        for text in reversed(_tail(path).splitlines()):
            note = _note(text)
            if note is not None:
                return note
    return None


def _line(checkpoint: Checkpoint) -> str:
    written = {"at": format_time(checkpoint.created_at), "checkpoint": checkpoint.text}
    return strict_json.dumps(written) + "\n"


def _append_to(path: Path, content: bytes) -> None:
    """One write at the end; a line that an earlier crash left torn gets its end first."""
    path.parent.mkdir(mode=_FOLDER, parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR | os.O_APPEND, _FILE)
    try:
        size = os.fstat(descriptor).st_size
        torn = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
        _write_all(descriptor, b"\n" + content if torn else content)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write_all(descriptor: int, content: bytes) -> None:
    """A disk that fills up takes a part first and refuses the rest; then nothing counts as sent."""
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _read(path: Path) -> Iterator[OutsideLine]:
    """A torn line is the beginning of a later one, written again; it says nothing new."""
    torn: list[OutsideLine] = []
    with path.open(encoding="utf-8", errors="replace") as file:
        for number, raw in enumerate(file, start=1):
            line = OutsideLine(path, number, _note(raw), raw)
            if line.note is None:
                torn.append(line)
                continue
            torn = [old for old in torn if not raw.startswith(old.text.rstrip("\n"))]
            yield line
    yield from (line for line in torn if line.text.endswith("\n"))  # else it is being written


def _tail(path: Path) -> str:
    with path.open("rb") as file:
        file.seek(0, os.SEEK_END)
        file.seek(max(0, file.tell() - 3 * _MOST_LINE))
        return file.read().decode("utf-8", errors="replace")


def _note(raw: str) -> Note | None:
    try:
        return read_checkpoint(str(strict_json.loads_object(raw).get("checkpoint")))
    except ContextOSError:
        return None
