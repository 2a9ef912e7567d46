"""Comparing the log with the checkpoints outside the database: what was signed stays signed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Set
from pathlib import Path

from audit.checkpoint_note import Note
from audit.log import tree_size_of
from audit.models import Checkpoint, OutsideMark
from audit.outside.files import OutsideLine, file_of, folder_of, lines_of
from audit.outside.sending import FILES
from audit.verifying.checkpoints import Signers, fingerprint
from audit.verifying.findings import Kind, Report

Root = Callable[[int], bytes | None]


def check_outside(
    base: Path, report: Report, *, known: Set[bytes], signers: Signers, root: Root
) -> None:
    """Every line of the files against the leaves; every checkpoint of ours against the files."""
    # Asked first: a sealer that is at work adds to mark, files and database meanwhile.
    mark_at = _written_up_to(report.tenant_id)
    seen: set[bytes] = set()
    for line in lines_of(base, report.tenant_id):
        report.outside += 1
        if line.note is None:
            said = f"{_name(line.path)}, line {line.number}, is no checkpoint"
            report.add(Kind.OUTSIDE_UNREADABLE, said)
            continue
        mark = fingerprint(line.note.text)
        seen.add(mark)
        if mark not in known:
            _check_line(line, report, signers, root)
    _check_all_there(base, report, seen, mark_at)


def _check_line(line: OutsideLine, report: Report, signers: Signers, root: Root) -> None:
    """A line that the database does not have word for word."""
    note = line.note
    if note is None:
        return
    counts, _ = signers.judge(note)
    if not counts:
        if not signers.is_revoked(note):
            said = f"{_name(line.path)}, line {line.number}: no key of ours signed it"
            report.add(Kind.OUTSIDE_DIFFERS, said)
        return
    said = f"{_name(line.path)}, line {line.number}, has a signed checkpoint over "
    # The log may have grown while it was read.
    if note.tree_size > report.tree_size and note.tree_size > tree_size_of(report.tenant_id):
        said += f"{note.tree_size} leaves; the database has {report.tree_size}"
        report.add(Kind.OUTSIDE_DIFFERS, said, report.tree_size)
    elif root(note.tree_size) != note.root_hash:
        said += f"{note.tree_size} leaves that are not those of the database"
        report.add(Kind.OUTSIDE_DIFFERS, said, 0)
    elif not _is_kept(report.tenant_id, note):
        said += f"{note.tree_size} leaves that the database lacks"
        report.add(Kind.CHECKPOINT, said)


def _is_kept(tenant_id: str, note: Note) -> bool:
    """Whether the database has it too; where only a part was read, nobody has looked yet."""
    rows = Checkpoint.objects.filter(tenant_id=tenant_id, tree_size=note.tree_size)
    return note.text in rows.values_list("text", flat=True)


def _check_all_there(base: Path, report: Report, seen: Set[bytes], mark_at: int) -> None:
    """What was written once has to be there: a file that is gone is named."""
    gone: dict[Path, int] = {}
    for row in _written(report.tenant_id, mark_at):
        if fingerprint(row.text) not in seen:
            gone.setdefault(file_of(base, row), row.tree_size)
    for path, size in gone.items():
        how = f"lacks the checkpoint over {size} leaves" if path.exists() else "is missing"
        report.add(Kind.OUTSIDE_MISSING, f"{_name(path)} {how}")
    if (
        not seen
        and not gone
        and report.tree_size
        and not folder_of(base, report.tenant_id).exists()
    ):
        said = f"{base} holds no checkpoints of this log: nothing outside vouches for it"
        report.add(Kind.OUTSIDE_MISSING, said)


def _written_up_to(tenant_id: str) -> int:
    """The newest checkpoint that was written to the files; 0 before the first."""
    marks = OutsideMark.objects.filter(sink=FILES, tenant_id=tenant_id)
    return marks.values_list("checkpoint_id", flat=True).first() or 0


def _written(tenant_id: str, mark_at: int) -> Iterator[Checkpoint]:
    rows = Checkpoint.objects.filter(tenant_id=tenant_id, pk__lte=mark_at)
    yield from rows.order_by("pk").iterator(chunk_size=1000)


def _name(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"
