"""Writes that happen together or not at all; the first may be a claim the others depend on.

One statement on PostgreSQL (one round trip, one commit), one transaction on SQLite.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from django.db import connection, transaction
from psycopg.types.json import Jsonb

from contextos.core import strict_json


@dataclass(frozen=True, slots=True)
class Json:
    """A value for a JSON column; the databases want it spelled differently."""

    value: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Insert:
    """One new row. With `unless_taken` a clash on those columns is no error: nothing is written."""

    name: str
    table: str
    values: Mapping[str, Any]
    unless_taken: Sequence[str] = ()
    after: str | None = None  # only if the write of this name took effect

    def clause(self) -> tuple[str, list[Any]]:
        """The statement, for a place where `after` is already known to hold."""
        columns = ", ".join(_quote(name) for name in self.values)
        marks = ", ".join(["%s"] * len(self.values))
        source = f"SELECT {marks}{_condition(self.after)}" if self.after else f"VALUES ({marks})"
        text = f"INSERT INTO {_quote(self.table)} ({columns}) {source}"
        if self.unless_taken:
            taken = ", ".join(_quote(name) for name in self.unless_taken)
            text += f" ON CONFLICT ({taken}) DO NOTHING"
        return text, list(self.values.values())


@dataclass(frozen=True, slots=True)
class Computed:
    """A value the database works out from the row as it was; `sql` is our own text, never input."""

    sql: str
    parameters: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Update:
    """A compare-and-set: changes the row only while every column of `where` has its value."""

    name: str
    table: str
    values: Mapping[str, Any]
    where: Mapping[str, Any]
    after: str | None = None
    add: Mapping[str, int] = field(default_factory=dict)  # columns that grow by a number
    compute: Mapping[str, Computed] = field(default_factory=dict)
    unless_later: Mapping[str, datetime] = field(default_factory=dict)  # null or not after this

    def clause(self) -> tuple[str, list[Any]]:
        """The statement, for a place where `after` is already known to hold."""
        settings = [f"{_quote(name)} = %s" for name in self.values]
        settings += [f"{_quote(name)} = {_quote(name)} + %s" for name in self.add]
        settings += [f"{_quote(name)} = ({made.sql})" for name, made in self.compute.items()]
        tests = [f"{_quote(name)} = %s" for name in self.where]
        tests += [f"({_quote(n)} IS NULL OR {_quote(n)} <= %s)" for n in self.unless_later]
        text = f"UPDATE {_quote(self.table)} SET {', '.join(settings)} WHERE {' AND '.join(tests)}"
        if self.after:
            text += f" AND EXISTS (SELECT 1 FROM {_quote(self.after)})"
        computed = [value for made in self.compute.values() for value in made.parameters]
        parameters = [*self.values.values(), *self.add.values(), *computed]
        return text, [*parameters, *self.where.values(), *self.unless_later.values()]


Write = Insert | Update


def write_together(*writes: Write) -> frozenset[str]:
    """Carry the writes out; the names of those that took effect. A failure leaves no trace."""
    if connection.vendor == "postgresql":
        return _one_statement(writes)
    return _one_transaction(writes)


def _one_statement(writes: Sequence[Write]) -> frozenset[str]:
    parts: list[str] = []
    parameters: list[Any] = []
    for write in writes:
        text, values = write.clause()
        parts.append(f"{_quote(write.name)} AS ({text} RETURNING 1)")
        parameters += [Jsonb(v.value) if isinstance(v, Json) else v for v in values]
    counts = ", ".join(f"(SELECT count(*) FROM {_quote(write.name)})" for write in writes)
    with connection.cursor() as cursor:
        cursor.execute(f"WITH {', '.join(parts)} SELECT {counts}", parameters)
        row = cursor.fetchone()
    return frozenset(write.name for write, count in zip(writes, row or (), strict=True) if count)


def _one_transaction(writes: Sequence[Write]) -> frozenset[str]:
    done: set[str] = set()
    with transaction.atomic(), connection.cursor() as cursor:
        for write in writes:
            if write.after is not None and write.after not in done:
                continue
            text, values = _freed(write).clause()
            cursor.execute(text, [_spelled(value) for value in values])
            if cursor.rowcount == 1:
                done.add(write.name)
    return frozenset(done)


def _freed(write: Write) -> Write:
    """The same write without its condition, which was just seen to hold."""
    return replace(write, after=None)


def _spelled(value: Any) -> Any:
    """As the ORM would write it, so that the ORM finds it again."""
    if isinstance(value, Json):
        return strict_json.dumps(value.value)
    if isinstance(value, datetime):
        return connection.ops.adapt_datetimefield_value(value)
    return value


def _condition(after: str) -> str:
    return f" WHERE EXISTS (SELECT 1 FROM {_quote(after)})"


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
