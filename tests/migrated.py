"""A database of their own for every worker, migrated once and copied.

Migrating takes ten CPU seconds, copying a fraction of one. PostgreSQL copies what the first worker
of a run made. SQLite's file outlives the run in build/, named after all code it could depend on.
"""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connection

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
ROOMS = ("contextos", "audit", "registry", "approvals", "gateway")


@contextmanager
def own_database(*, run: str, worker: str, finish: Callable[[], None]) -> Iterator[None]:
    """Migrated and finished, whoever did it; gone afterwards."""
    before = str(connection.settings_dict["NAME"])
    sqlite = connection.vendor == "sqlite"
    BUILD.mkdir(exist_ok=True)
    with _sqlite_copy(finish) if sqlite else _postgresql_copy(run, worker, finish) as name:
        _point_to(name)
        try:
            yield
        finally:
            _point_to(before)


def _point_to(name: str) -> None:
    connection.close()
    settings.DATABASES[connection.alias]["NAME"] = name
    connection.settings_dict["NAME"] = name


def _make(name: str, finish: Callable[[], None]) -> None:
    before = str(connection.settings_dict["NAME"])
    connection.settings_dict["TEST"]["NAME"] = name
    connection.creation.create_test_db(verbosity=0, autoclobber=True, serialize=False)
    finish()
    _point_to(before)


# --- SQLite ---
@contextmanager
def _sqlite_copy(finish: Callable[[], None]) -> Iterator[str]:
    own = Path(connection.settings_dict["TEST"]["NAME"])
    with _one_at_a_time():
        kept = BUILD / f"migrated-{_fingerprint()}.sqlite3"
        if not kept.exists():
            for old in BUILD.glob("migrated-*.sqlite3"):
                old.unlink()
            _make(str(own), finish)
            shutil.copy(own, kept.with_suffix(".new"))
            kept.with_suffix(".new").rename(kept)
        else:
            shutil.copy(kept, own)
    yield str(own)
    own.unlink()


def _fingerprint() -> str:
    """Of everything that migrations and what follows them could read."""
    sources = [path for room in ROOMS for path in (ROOT / room).rglob("*.*")]
    sources += [ROOT / "requirements.lock", *(ROOT / "tests").glob("*.py")]
    hashed = hashlib.sha256(sys.version.encode())
    for path in sorted(path for path in sources if path.is_file() and path.suffix != ".pyc"):
        hashed.update(f"{path.relative_to(ROOT)}\0".encode() + path.read_bytes() + b"\0")
    return hashed.hexdigest()[:16]


# --- PostgreSQL ---
@contextmanager
def _postgresql_copy(run: str, worker: str, finish: Callable[[], None]) -> Iterator[str]:
    source = f"test_{connection.settings_dict['NAME']}_{run}"
    own, made = f"{source}_{worker}", False
    with _one_at_a_time():
        if not _answer("SELECT 1 FROM pg_database WHERE datname = %s", source):
            _make(source, finish)
            made = True
        _answer(f'CREATE DATABASE "{own}" TEMPLATE "{source}"')
    yield own
    _answer(f'DROP DATABASE "{own}" WITH (FORCE)')
    if made:  # whoever comes later makes it again
        with _one_at_a_time():
            _answer(f'DROP DATABASE "{source}"')


def _answer(statement: str, *values: str) -> bool:
    """Asked beside all test databases, as making and dropping one must be."""
    creation: Any = connection.creation
    with creation._nodb_cursor() as cursor:
        cursor.execute(statement, values)
        return bool(cursor.description and cursor.fetchone())


@contextmanager
def _one_at_a_time() -> Iterator[None]:
    with (BUILD / "migrated.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield
