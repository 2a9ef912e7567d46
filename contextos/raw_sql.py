"""One statement, one row, at the least cost: for the few that every governed call makes.

On PostgreSQL the statement is prepared once a connection and the cursor is kept. Where somebody
listens (a test that counts, a debugger's log) it goes through Django's own cursor instead.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections
from psycopg import RawCursor

_MARK = re.compile("%[%s]")


def numbered(text: str) -> str:
    """The marks of Django (`%s`) as PostgreSQL itself numbers them."""
    numbers = itertools.count(1)
    return _MARK.sub(lambda mark: f"${next(numbers)}" if mark[0] == "%s" else "%", text)


def first_row(text: str, parameters: Sequence[Any]) -> tuple[Any, ...] | None:
    """Carry out a statement with numbered marks on PostgreSQL; its first row."""
    wrapper: Any = connections[DEFAULT_DB_ALIAS]
    wrapper.close_if_health_check_failed()
    wrapper.ensure_connection()
    if wrapper.queries_logged or wrapper.execute_wrappers:
        return _listened_to(wrapper, text, parameters)
    wrapper.validate_no_broken_transaction()
    with wrapper.wrap_database_errors:
        raw = _kept_cursor(wrapper)
        raw.execute(text, parameters, prepare=True)
        row: tuple[Any, ...] | None = raw.fetchone()
    return row


class _SpokenCursor(RawCursor[Any]):
    """Sends the text every time, so that a listener can be told what was sent."""

    def execute(self, *arguments: Any, **options: Any) -> _SpokenCursor:
        """As usual, never prepared."""
        return super().execute(*arguments, **{**options, "prepare": False})


def _listened_to(wrapper: Any, text: str, parameters: Sequence[Any]) -> tuple[Any, ...] | None:
    with wrapper.wrap_database_errors:
        raw = _SpokenCursor(wrapper.connection)
    with wrapper._prepare_cursor(raw) as cursor:
        cursor.execute(text, parameters)
        row: tuple[Any, ...] | None = cursor.fetchone()
    return row


def _kept_cursor(wrapper: Any) -> RawCursor[Any]:
    """The cursor of this thread's connection; a new connection gets a new one."""
    kept: RawCursor[Any] | None = vars(wrapper).get("_kept_raw_cursor")
    if kept is None or kept.connection is not wrapper.connection:
        kept = RawCursor(wrapper.connection)
        vars(wrapper)["_kept_raw_cursor"] = kept
    return kept
