"""Breaks the database connection at a chosen statement: before it, or after it took effect."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import pytest
from django.db import DatabaseError, OperationalError, connection


class Crashed(BaseException):
    """The process is gone: nothing it would still have done happens."""


class Way(StrEnum):
    """How a statement fails."""

    ERROR_BEFORE = "the statement fails"
    ERROR_AFTER = "the statement works, but its answer is lost"
    CRASH_BEFORE = "the process dies before the statement"
    CRASH_AFTER = "the process dies after the statement"


@dataclass(slots=True)
class Break:
    """Counts statements, commits included, and breaks at the one with this number."""

    number: int
    way: Way
    seen: int = 0

    @property
    def happened(self) -> bool:
        """Whether there were that many statements at all."""
        return self.seen >= self.number

    def around(self, act: Callable[[], Any]) -> Any:
        """Carry a statement out, unless it is the one; a dead process carries nothing out."""
        self.seen += 1
        dies = self.way in (Way.CRASH_BEFORE, Way.CRASH_AFTER)
        if self.seen > self.number and dies:
            raise Crashed
        if self.seen != self.number:
            return act()
        if self.way in (Way.ERROR_AFTER, Way.CRASH_AFTER):
            act()
        if dies:
            raise Crashed
        _lose_connection()
        raise OperationalError("the connection was lost")


def _lose_connection() -> None:
    """PostgreSQL is out of reach until somebody connects anew; SQLite undoes what was open."""
    if connection.vendor == "sqlite":
        connection.connection.rollback()
    else:
        connection.connection.close()


@contextmanager
def broken(fault: Break) -> Iterator[None]:
    """Inside the block the fault is armed; a crash ends the block quietly."""

    def statement(execute: Callable[..., Any], *arguments: Any) -> Any:
        return fault.around(lambda: execute(*arguments))

    commit = connection._commit  # type: ignore[attr-defined]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(connection, "_commit", lambda: fault.around(commit))
        try:
            with connection.execute_wrapper(statement):
                yield
        except (Crashed, DatabaseError):
            pass
        finally:
            connection.close()  # as the end of a process or of a request would
