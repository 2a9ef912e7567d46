"""Worlds that are made once a process and put into the database again for each test.

Making one through the services costs up to half a second; its rows can be copied back in a few
milliseconds. Every test still gets rows and objects of its own: what one test changes is gone with
its transaction, and the objects are deep copies.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from django.conf import settings
from django.db import connection, transaction

from contextos.identity.models import Tenant
from gateway import breaker, rates
from registry.models import RegistryGeneration
from tests.putting_back import kept_tables, tables, triggers_asleep

W = TypeVar("W")
_Rows = bytes | list[tuple[Any, ...]]
# Caches are filled per generation: each copy gets numbers that no earlier one had.
_generations = itertools.count(1_000_000, 1_000)
_recorded: dict[tuple[Any, ...], _Recorded] = {}


@dataclass(frozen=True, slots=True)
class _Recorded:
    world: Any
    rows: dict[str, _Rows]


def ready(make: Callable[..., W], **how: Any) -> W:
    """The world that `make(**how)` makes, in a database where there is no other yet."""
    name = (make, repr(sorted(how.items())), str(settings.KEYS_DIR))
    if name in _recorded:
        _put_in(_recorded[name].rows)
        copied: W = copy.deepcopy(_recorded[name].world)
        return copied
    if Tenant.objects.exists():  # somebody else's rows would be recorded with it
        return make(**how)
    world = make(**how)
    _recorded[name] = _Recorded(copy.deepcopy(world), _rows())
    return world


def _put_in(recorded: dict[str, _Rows]) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        with triggers_asleep(connection, filling=recorded):
            for table, rows in recorded.items():
                _write(cursor, table, rows)
        RegistryGeneration.objects.update(number=next(_generations))
    rates._counter.cache_clear()
    breaker._successes.clear()


def _rows() -> dict[str, _Rows]:
    with connection.cursor() as cursor:
        found = {table: _read(cursor, table) for table in tables()}
    return {table: rows for table, rows in found.items() if rows}


def _read(cursor: Any, table: str) -> _Rows:
    text = f"SELECT * FROM {table}"
    if table in kept_tables():
        text += f" EXCEPT SELECT * FROM {kept_tables()[table]}"
    if connection.vendor != "postgresql":
        return list(cursor.execute(text).fetchall())
    with cursor.copy(f"COPY ({text}) TO STDOUT") as copied:
        return b"".join(bytes(part) for part in copied)


def _write(cursor: Any, table: str, rows: _Rows) -> None:
    if isinstance(rows, bytes):
        with cursor.copy(f"COPY {table} FROM STDIN") as copied:
            copied.write(rows)
        return
    marks = ", ".join(["%s"] * len(rows[0]))
    cursor.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)
