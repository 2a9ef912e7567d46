"""Where exports lie: parts while they are written, whole files under names nobody can guess."""

from __future__ import annotations

import hashlib
import os
import shutil
from datetime import datetime
from pathlib import Path

from django.conf import settings

from audit.models import ExportJob
from contextos.core.errors import coded_error

_CHUNK = 1024 * 1024
_FOLDER_MODE = 0o700


def folder() -> Path:
    """The folder of all exports, made when it is first needed; nobody else on the machine reads."""
    path = Path(settings.EXPORTS_DIR)
    path.mkdir(mode=_FOLDER_MODE, parents=True, exist_ok=True)
    return path


def part_path(job: ExportJob) -> Path:
    """The file of this attempt; another attempt writes another, so they never meet."""
    return folder() / f".{job.export_id}.{job.attempts}.part"


def final_name(job: ExportJob, extension: str) -> str:
    """The name of the whole file."""
    return f"{job.export_id}.{job.attempts}.{extension}"


def path_of(job: ExportJob) -> Path:
    """The whole file of a finished export."""
    path = folder() / Path(job.file_name).name
    if not path.is_file():
        raise coded_error("export.file_missing", data={"export_id": job.export_id})
    return path


def take_over(job: ExportJob, target: Path) -> bool:
    """Copy the settled bytes of an earlier attempt; False where they are not all there.

    Copied, not renamed: the earlier worker may still be alive and hold its file open.
    """
    for earlier in range(job.attempts - 1, 0, -1):
        source = folder() / f".{job.export_id}.{earlier}.part"
        if source.is_file() and source.stat().st_size >= job.position > 0:
            _copy_head(source, target, job.position)
            return True
    return False


def _copy_head(source: Path, target: Path, count: int) -> None:
    with source.open("rb") as old, target.open("wb") as new:
        left = count
        while left and (chunk := old.read(min(_CHUNK, left))):
            new.write(chunk)
            left -= len(chunk)


def publish(part: Path, name: str) -> tuple[int, str]:
    """Give the whole file its name in one step; its size and SHA-256."""
    size, found = part.stat().st_size, sha256_of(part)
    with part.open("rb") as file:
        os.fsync(file.fileno())
    part.replace(folder() / name)
    return size, found


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file, read in pieces."""
    hashed = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            hashed.update(chunk)
    return hashed.hexdigest()


def remove_parts(export_id: str) -> None:
    """Drop what was never finished."""
    for path in folder().glob(f".{export_id}.*"):
        _remove(path)


def with_parts() -> set[str]:
    """The ids of exports of which something unfinished lies here."""
    return {path.name.split(".")[1] for path in folder().glob(".exp_*.*")}


def remove_strays(*, older_than: datetime) -> None:
    """Drop what a crash left behind: no export keeps a file for so long."""
    for path in folder().glob("*exp_*"):
        if path.stat().st_mtime < older_than.timestamp():
            _remove(path)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def remove_file(job: ExportJob) -> None:
    """Drop the whole file, and strays of other attempts."""
    for path in folder().glob(f"{job.export_id}.*"):
        path.unlink(missing_ok=True)
