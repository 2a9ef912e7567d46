"""A query whose SQL is worked out once, for the few that every governed call makes.

Django writes the SQL of a queryset anew each time it is asked; for one with subqueries that costs
more than the database's answer. The queryset stays the source of the SQL, so that models and
managers are obeyed; only its parameters change from call to call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from django.db import connection
from django.db.models import Model, QuerySet
from django.db.models.query import RawQuerySet

M = TypeVar("M", bound=Model)
_Part = tuple[str, Any]  # (name of a parameter, "") or ("", a value that never changes)


class FixedQuery(Generic[M]):
    """Built from a function that turns text parameters into a queryset."""

    def __init__(self, build: Callable[..., QuerySet[M, Any]], *names: str) -> None:
        self._build, self._names = build, names
        self._written: dict[str, tuple[type[M], str, tuple[_Part, ...]]] = {}

    def models(self, **values: str) -> RawQuerySet[M]:
        """The rows as models, annotations included."""
        model, sql, parts = self._statement()
        return model._default_manager.raw(sql, _filled(parts, values))

    def row(self, **values: str) -> tuple[Any, ...] | None:
        """The first row as the database gives it, for a queryset of `values_list`."""
        _, sql, parts = self._statement()
        with connection.cursor() as cursor:
            cursor.execute(sql, _filled(parts, values))
            found: tuple[Any, ...] | None = cursor.fetchone()
        return found

    def _statement(self) -> tuple[type[M], str, tuple[_Part, ...]]:
        vendor = connection.vendor
        if vendor not in self._written:
            self._written[vendor] = self._write()
        return self._written[vendor]

    def _write(self) -> tuple[type[M], str, tuple[_Part, ...]]:
        marks = {name: f"\x1a{name}\x1a" for name in self._names}
        queryset = self._build(**marks)
        sql, parameters = queryset.query.get_compiler(connection=connection).as_sql()
        named = {mark: name for name, mark in marks.items()}
        parts = tuple((named.get(value, ""), value) for value in parameters)
        missing = set(self._names) - {name for name, _ in parts}
        if missing:
            raise ValueError(f"the query makes no use of {sorted(missing)}")
        return queryset.model, sql, parts


def _filled(parts: tuple[_Part, ...], values: dict[str, str]) -> list[Any]:
    return [values[name] if name else value for name, value in parts]
