"""Checks a file that was exported: bundles by their own checker, other files by their hash."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path

from audit.event_record import record_hash
from audit.export.files import sha256_of
from audit.export.offline.verify import Report, verify
from audit.models import ExportJob
from contextos.core import strict_json
from contextos.core.canonical import canonicalise
from contextos.core.errors import ContextOSError
from contextos.core.keystore import FileKeyStore
from contextos.core.signing import KeyPurpose

_LARGEST = 8 * 1024 * 1024
_MOST = 20
_SIGNING = (KeyPurpose.EXPORTS, KeyPurpose.LOG)


def check_export(path: Path, *, keys: FileKeyStore) -> Report:
    """What can be said of a file or an unpacked folder."""
    if path.is_dir() or (zipfile.is_zipfile(path) and not _is_workbook(path)):
        return _check_bundle(path, keys)
    report = Report()
    if not path.is_file():
        report.fail(f"There is no file {path.name}.")
        return report
    _check_hash(path, report)
    if path.suffix == ".jsonl":
        _check_lines(path, report)
    report.open.append("that these are all the records: only a bundle of a whole period shows that")
    return report


def _check_bundle(path: Path, keys: FileKeyStore) -> Report:
    """With our own keys as the fingerprints: somebody else's bundle is told from ours."""
    report = verify(str(path))
    if not any(keys.keys(purpose) for purpose in _SIGNING):
        # The product without an installation: as much can be said as verify.py says.
        report.open.append("that it is ours: no keys are here; name an installation: --data-dir")
        return report
    used = {kid for kid in _ours(keys) if any(kid in line for line in report.proved)}
    if len(used) >= 2 and not report.wrong:
        return verify(str(path), sorted(used))
    if not report.wrong:
        report.fail(
            "It agrees with itself, but its keys are not keys of this installation, or revoked."
        )
    return report


def _ours(keys: FileKeyStore) -> Iterator[str]:
    """Retired keys too, for what they signed in their time; never one that was revoked."""
    for purpose in _SIGNING:
        yield from (each.key.kid for each in keys.keys(purpose) if each.revoked_at is None)


def _is_workbook(path: Path) -> bool:
    with zipfile.ZipFile(path) as packed:
        return "[Content_Types].xml" in packed.namelist()


def _check_hash(path: Path, report: Report) -> None:
    found = sha256_of(path)
    beside = path.with_name(f"{path.name}.sha256")
    if beside.is_file():
        stated = beside.read_text(encoding="utf-8").split(" ")[0].strip()
        if stated == found:
            report.proved.append(f"the file is the one that {beside.name} was written for")
        else:
            report.fail(f"The file was changed: {beside.name} states another SHA-256.")
            return
    job = ExportJob.objects.filter(sha256=found).first()
    if job is not None:
        report.proved.append(
            f"it is export {job.pk} of this installation, asked for by "
            f"{job.requested_by_name}, with {job.rows} records"
        )
    elif not beside.is_file():
        report.fail("No export of this installation has this SHA-256, and no .sha256 lies beside.")


def _check_lines(path: Path, report: Report) -> None:
    """Each line is canonical and has the hash that it states."""
    number, wrong = 0, 0
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            if wrong < _MOST and not _is_sound(line.rstrip(b"\n")):
                wrong += 1
                report.fail(f"Line {number} is not as it was recorded.")
    if not wrong:
        report.proved.append(
            f"each of {number} lines is canonical and has the record_hash it states"
        )


def _is_sound(text: bytes) -> bool:
    try:
        record = strict_json.loads_object(text, max_bytes=_LARGEST)
        return canonicalise(record) == text and record.get("record_hash") == record_hash(record)
    except ContextOSError:
        return False
