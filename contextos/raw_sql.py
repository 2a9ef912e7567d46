"""One statement, one row, at the least cost: for the few that every governed call makes.

On PostgreSQL the statement is prepared once a connection, and outside a transaction libpq is asked
at once: a cursor would cost as much again as the question. Where somebody listens (a test that
counts, a debugger's log) it goes through Django's own cursor instead.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from functools import cache
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections
from psycopg import OperationalError, RawCursor
from psycopg.adapt import PyFormat, Transformer
from psycopg.errors import error_from_result
from psycopg.pq import ConnStatus, DiagnosticField, ExecStatus
from psycopg.pq.abc import PGresult

from contextos import telemetry

MARK = re.compile("%[%s]")  # where Django puts a parameter, or a percent sign
_AT_MOST = 200  # statements prepared by name on one connection; any others take a cursor
_NO_SUCH_STATEMENT = b"26000"
LANE = "_contextos_lane"  # where a connection of Django keeps its own


@cache
def on_postgresql() -> bool:
    """Whether this process speaks to PostgreSQL; asked too often to ask the connection."""
    return connections[DEFAULT_DB_ALIAS].vendor == "postgresql"


def numbered(text: str) -> str:
    """The marks of Django (`%s`) as PostgreSQL itself numbers them."""
    numbers = itertools.count(1)
    return MARK.sub(lambda mark: f"${next(numbers)}" if mark[0] == "%s" else "%", text)


def first_row(text: str, parameters: Sequence[Any]) -> tuple[Any, ...] | None:
    """Carry out a statement with numbered marks on PostgreSQL; its first row."""
    wrapper: Any = connections[DEFAULT_DB_ALIAS]
    wrapper.close_if_health_check_failed()
    wrapper.ensure_connection()
    if wrapper.queries_logged or wrapper.execute_wrappers:
        return _listened_to(wrapper, text, parameters)
    wrapper.validate_no_broken_transaction()
    with wrapper.wrap_database_errors, telemetry.statement(text):
        lane = _lane(wrapper)
        ask = lane.asked if lane.is_open() else lane.through_cursor
        return ask(text, parameters)


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


class Lane:
    """The shortest way over one connection; what it prepared dies with the connection, or sooner:
    with every transaction that is undone psycopg tells the server to forget all statements."""

    __slots__ = ("_cursor", "_names", "_numbers", "_pg", "_transformer", "connection")

    def __init__(self, connection: Any) -> None:
        self.connection, self._pg = connection, connection.pgconn
        self._transformer, self._names = Transformer(connection), dict[Any, bytes]()
        self._numbers = itertools.count()  # no name twice: it may be the others that were forgotten
        self._cursor: RawCursor[Any] = RawCursor(connection)

    def is_open(self) -> bool:
        """Not inside a transaction, which psycopg itself begins, nor past a pooler that forgets."""
        prepares = self.connection.prepare_threshold is not None
        return self.connection.autocommit and prepares and len(self._names) < _AT_MOST

    def through_cursor(self, text: str, parameters: Sequence[Any]) -> tuple[Any, ...] | None:
        """Psycopg's own way."""
        self._cursor.execute(text, parameters, prepare=True)
        row: tuple[Any, ...] | None = self._cursor.fetchone()
        return row

    def asked(self, text: str, parameters: Sequence[Any]) -> tuple[Any, ...] | None:
        """One message there, one back; values and rows are converted as psycopg converts them."""
        transformer = self._transformer
        values = transformer.dump_sequence(parameters, [PyFormat.AUTO] * len(parameters))
        name = self._names.get((text, transformer.types)) or self._prepared(text)
        result = self._pg.exec_prepared(name, values, transformer.formats)
        if _is_forgotten(result):
            self._names.clear()  # nothing was carried out yet, so that it can be asked again
            result = self._pg.exec_prepared(self._prepared(text), values, transformer.formats)
        if result.status != ExecStatus.TUPLES_OK:
            raise self._fault(result)
        transformer.set_pgresult(result)
        return transformer.load_row(0, tuple) if result.ntuples else None

    def _prepared(self, text: str) -> bytes:
        """A name for the text with parameters of these types, which are part of its plan."""
        types, name = self._transformer.types, b"contextos_%d" % next(self._numbers)
        result = self._pg.prepare(name, text.encode(), types)
        if result.status != ExecStatus.COMMAND_OK:
            raise self._fault(result)
        self._names[(text, types)] = name
        return name

    def _fault(self, result: PGresult) -> Exception:
        if self._pg.status != ConnStatus.OK:  # hung up: libpq says so without a code of its own
            return OperationalError(result.get_error_message())
        return error_from_result(result, encoding=self.connection.info.encoding)


def _is_forgotten(result: PGresult) -> bool:
    if result.status == ExecStatus.TUPLES_OK:
        return False
    return result.error_field(DiagnosticField.SQLSTATE) == _NO_SUCH_STATEMENT


def _lane(wrapper: Any) -> Lane:
    """The lane of this thread's connection; a new connection gets a new one."""
    kept: Lane | None = vars(wrapper).get(LANE)
    if kept is None or kept.connection is not wrapper.connection:
        kept = vars(wrapper)[LANE] = Lane(wrapper.connection)
    return kept
