"""A query whose SQL is worked out once, for the few that every governed call makes.

Django writes the SQL of a queryset anew each time it is asked; for one with subqueries that costs
more than the database's answer. The queryset stays the source of the SQL, so that models and
managers are obeyed; only its parameters change from call to call.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import orjson
from django.db import connection
from django.db.models import JSONField, Model, QuerySet
from psycopg.sql import Literal

from contextos.plain_models import plain_model
from contextos.raw_sql import MARK, first_row, numbered, on_postgresql

M = TypeVar("M", bound=Model)
_Part = tuple[str, Any]  # (name of a parameter, "") or ("", a value that never changes)
_Converter = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class _Written(Generic[M]):
    """The SQL, where its parameters go, and how a row of it becomes a model."""

    model: type[M]
    sql: str
    held: str  # the same, and the row once more as one text
    still: str  # finds something while the row reads as a text
    parts: tuple[_Part, ...]
    columns: tuple[tuple[str, _Converter | None], ...]  # attribute, and how its value is read

    def filled(self, values: Mapping[str, str]) -> list[Any]:
        """The parameters of one call."""
        return [values[name] if name else value for name, value in self.parts]

    def model_of(self, row: Sequence[Any]) -> M:
        """The row as the ORM would load it."""
        pairs = zip(row, self.columns, strict=True)
        members = {name: v if read is None else read(v) for v, (name, read) in pairs}
        return plain_model(self.model, members, stored=True)


class FixedQuery(Generic[M]):
    """Built from a function that turns text parameters into a queryset."""

    def __init__(self, build: Callable[..., QuerySet[M, Any]], *names: str) -> None:
        self._build, self._names = build, names
        self._written: _Written[M] | None = None

    def model(self, **values: str) -> M | None:
        """The first row as a model with its annotations, for a queryset of whole models."""
        row = self.row(**values)
        return None if row is None else self._statement().model_of(row)

    def held_row(self, **values: str) -> tuple[Any, ...] | None:
        """On PostgreSQL: the first row, and last the same as one text, to be held against later."""
        written = self._statement()
        return first_row(written.held, written.filled(values))

    def still(self, held: str, **values: str) -> tuple[str, list[Any]]:
        """On PostgreSQL: a query that finds a row while the first row reads as that text, and its
        parameters; its marks are Django's, so that it can be part of a larger statement."""
        written = self._statement()
        return written.still, [*written.filled(values), held]

    def row(self, **values: str) -> tuple[Any, ...] | None:
        """The first row as the database gives it."""
        written = self._statement()
        if on_postgresql():
            return first_row(written.sql, written.filled(values))
        with connection.cursor() as cursor:
            cursor.execute(written.sql, written.filled(values))
            found: tuple[Any, ...] | None = cursor.fetchone()
        return found

    def _statement(self) -> _Written[M]:
        if self._written is None:
            self._written = self._write()
        return self._written

    def _write(self) -> _Written[M]:
        marks = {name: f"\x1a{name}\x1a" for name in self._names}
        queryset = self._build(**marks)
        compiler = queryset.query.get_compiler(connection=connection)
        text, parameters = compiler.as_sql()
        named = {mark: name for name, mark in marks.items()}
        text, parts = _spelled_out(text, [(named.get(value, ""), value) for value in parameters])
        missing = set(self._names) - {name for name, _ in parts}
        if missing:
            raise ValueError(f"the query makes no use of {sorted(missing)}")
        fields = queryset.model._meta.concrete_fields
        names = [field.attname for field in fields] + list(queryset.query.annotation_select)
        columns = tuple(zip(names, _converters(compiler), strict=False))
        held = numbered(f"SELECT held.*, held::text FROM ({text}) AS held")  # noqa: S608
        still = f"SELECT 1 FROM ({text}) AS held WHERE held::text = %s"  # noqa: S608
        sql = numbered(text) if on_postgresql() else text
        return _Written(queryset.model, sql, held, still, parts, columns)


def _spelled_out(text: str, parts: Sequence[_Part]) -> tuple[str, tuple[_Part, ...]]:
    """Texts that never change stand in the SQL itself: PostgreSQL plans such a statement once, and
    takes an index over some rows only where it can read that those rows are asked for."""
    if not on_postgresql():
        return text, tuple(parts)
    left = iter(parts)
    kept: list[_Part] = []

    def spelled(mark: re.Match[str]) -> str:
        if mark[0] != "%s":
            return mark[0]
        name, value = next(left)
        if not name and isinstance(value, str):
            return Literal(str.__str__(value)).as_string(None).replace("%", "%%")
        kept.append((name, value))
        return mark[0]

    return MARK.sub(spelled, text), tuple(kept)


def _converters(compiler: Any) -> list[_Converter | None]:
    """For each selected column how Django reads it, or None where it is taken as it comes."""
    expressions = [column[0] for column in compiler.select]
    found = compiler.get_converters(expressions)
    return [
        _converter(found[number], expression) if number in found else None
        for number, expression in enumerate(expressions)
    ]


def _converter(found: tuple[Any, Any], expression: Any) -> _Converter:
    field = getattr(expression, "target", None)
    if isinstance(field, JSONField) and field.decoder is None:
        return _read_json
    return _chained(*found)


def _read_json(text: str | None) -> Any:
    """As the field reads it; what was stored had been read strictly, so that any reader may."""
    return None if text is None else orjson.loads(text)


def _chained(converters: Sequence[Callable[..., Any]], expression: Any) -> _Converter:
    def read(value: Any) -> Any:
        for convert in converters:
            value = convert(value, expression, connection)
        return value

    return read
