"""Reads all columns of a record at once: a table of millions of rows can't ask cell by cell."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter
from typing import Any

from audit.export.columns import Column, Record

Places = list[tuple[int, str]]  # which column, and the last step to its value


class RowReader:
    """The values of some columns, in their order.

    Columns that lie in the same part of a record are taken out of it together. A record that lacks
    a member (an older form, or one that somebody changed) is read column by column instead.
    """

    def __init__(self, columns: Sequence[Column]) -> None:
        self._columns = columns
        self._worded = [
            (place, column.words) for place, column in enumerate(columns) if column.words
        ]
        parts: dict[str, Places] = {"": []}
        for place, column in enumerate(columns):
            *part, key = column.path
            parts.setdefault(part[0] if part else "", []).append((place, key))
        self._top = _getter(key for _, key in parts[""])
        self._parts = [
            (part, _getter(key for _, key in places), (None,) * len(places))
            for part, places in parts.items()
            if part
        ]
        taken = [place for places in parts.values() for place, _ in places]
        self._order = _getter(taken.index(place) for place in range(len(columns)))

    def __call__(self, record: Record) -> list[Any]:
        """One value a column."""
        try:
            taken = list(self._top(record))
            for name, get, nothing in self._parts:
                part = record[name]
                taken += get(part) if part is not None else nothing
            values = list(self._order(taken))
            for place, words in self._worded:
                items = values[place]
                values[place] = words(items) if items else ""
        except (KeyError, TypeError, AttributeError):
            return [column.read(record) for column in self._columns]
        return values


def _getter(keys: Iterable[Any]) -> Callable[[Any], Sequence[Any]]:
    """`itemgetter` that answers with a sequence for one key, and for none, too."""
    wanted = tuple(keys)
    if len(wanted) > 1:
        return itemgetter(*wanted)
    return lambda source: [source[key] for key in wanted]
