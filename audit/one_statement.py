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
from contextos.raw_sql import first_row, numbered, on_postgresql


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

    def shape(self) -> tuple[Any, ...]:
        """What its text depends on; two writes of one shape differ in their values only."""
        where = ("insert", self.name, self.table, self.after)
        return (*where, *self.values, None, *self.unless_taken)

    def text(self) -> str:
        """The statement, with a mark for every parameter."""
        columns = ", ".join(_quote(name) for name in self.values)
        marks = ", ".join(["%s"] * len(self.values))
        source = f"SELECT {marks}{_condition(self.after)}" if self.after else f"VALUES ({marks})"
        text = f"INSERT INTO {_quote(self.table)} ({columns}) {source}"
        if self.unless_taken:
            taken = ", ".join(_quote(name) for name in self.unless_taken)
            text += f" ON CONFLICT ({taken}) DO NOTHING"
        return text

    def parameters(self) -> list[Any]:
        """The values, in the order of the marks."""
        return list(self.values.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class InsertRows:
    """Some new rows of one table, all of text columns; they may be any number but none."""

    name: str
    table: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    after: str | None = None

    def shape(self) -> tuple[Any, ...]:
        """What its text depends on: besides the names, how many rows there are."""
        return ("rows", self.name, self.table, self.after, *self.columns, len(self.rows))

    def text(self) -> str:
        """The statement, with a mark for every parameter."""
        columns = ", ".join(_quote(name) for name in self.columns)
        marks = f"({', '.join(['%s'] * len(self.columns))})"
        source = f"VALUES {', '.join([marks] * len(self.rows))}"
        if self.after:
            source = f"SELECT * FROM ({source}) AS given{_condition(self.after)}"
        return f"INSERT INTO {_quote(self.table)} ({columns}) {source}"

    def parameters(self) -> list[Any]:
        """The values, row by row."""
        return [value for row in self.rows for value in row]


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

    def shape(self) -> tuple[Any, ...]:
        """What its text depends on; two writes of one shape differ in their values only."""
        computed = [part for name, made in self.compute.items() for part in (name, made.sql)]
        return (
            *("update", self.name, self.table, self.after),
            *(*self.values, None, *self.add, None, *computed, None),
            *(*self.where, None, *self.unless_later),
        )

    def text(self) -> str:
        """The statement, with a mark for every parameter."""
        settings = [f"{_quote(name)} = %s" for name in self.values]
        settings += [f"{_quote(name)} = {_quote(name)} + %s" for name in self.add]
        settings += [f"{_quote(name)} = ({made.sql})" for name, made in self.compute.items()]
        tests = [f"{_quote(name)} = %s" for name in self.where]
        tests += [f"({_quote(n)} IS NULL OR {_quote(n)} <= %s)" for n in self.unless_later]
        text = f"UPDATE {_quote(self.table)} SET {', '.join(settings)} WHERE {' AND '.join(tests)}"
        if self.after:
            text += f" AND EXISTS (SELECT 1 FROM {_quote(self.after)})"
        return text

    def parameters(self) -> list[Any]:
        """The values, in the order of the marks."""
        computed = [value for made in self.compute.values() for value in made.parameters]
        changed = [*self.values.values(), *self.add.values(), *computed]
        return [*changed, *self.where.values(), *self.unless_later.values()]


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """Writes nothing: it takes effect when its query, our own text, finds something."""

    name: str
    sql: str
    values: Sequence[Any]
    after: str | None = None

    def shape(self) -> tuple[Any, ...]:
        """What its text depends on."""
        return ("condition", self.name, self.sql)

    def text(self) -> str:
        """The query, with a mark for every parameter."""
        return self.sql

    def parameters(self) -> Sequence[Any]:
        """The values, in the order of the marks."""
        return self.values


Write = Insert | InsertRows | Update | Condition


def write_together(*writes: Write) -> frozenset[str]:
    """Carry the writes out; the names of those that took effect. A failure leaves no trace."""
    if on_postgresql():
        return _one_statement(writes)
    return _one_transaction(writes)


def _one_statement(writes: Sequence[Write]) -> frozenset[str]:
    parameters = [value for write in writes for value in write.parameters()]
    if Json in map(type, parameters):
        parameters = [Jsonb(v.value) if isinstance(v, Json) else v for v in parameters]
    row = first_row(_statement(writes), parameters) or ()
    return frozenset(write.name for write, count in zip(writes, row, strict=True) if count)


def _statement(writes: Sequence[Write]) -> str:
    """The whole text, written once for each shape; there are as many as kinds of change."""
    shape = tuple(write.shape() for write in writes)
    if shape not in _texts:
        parts = [f"{_quote(write.name)} AS ({_told(write)})" for write in writes]
        counts = ", ".join(f"(SELECT count(*) FROM {_quote(write.name)})" for write in writes)
        _texts[shape] = numbered(f"WITH {', '.join(parts)} SELECT {counts}")
    return _texts[shape]


def _told(write: Write) -> str:
    """The text of one part, which says whether it found or wrote anything."""
    return write.text() if isinstance(write, Condition) else f"{write.text()} RETURNING 1"


_texts: dict[tuple[Any, ...], str] = {}


def _one_transaction(writes: Sequence[Write]) -> frozenset[str]:
    done: set[str] = set()
    with transaction.atomic(), connection.cursor() as cursor:
        for write in writes:
            if write.after is not None and write.after not in done:
                continue
            free = _freed(write)
            cursor.execute(free.text(), [_spelled(value) for value in free.parameters()])
            found = cursor.fetchone() if isinstance(write, Condition) else cursor.rowcount >= 1
            if found:
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
