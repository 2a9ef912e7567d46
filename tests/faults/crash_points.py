"""Named points at which a process of the plant dies by SIGKILL, before or after a durable step.

Nothing of this is in the product. The plant's processes load `tests.faults.settings`, which puts a
look at one file around every statement that is sent; a test arms a point by writing that
file, and the first process of the right kind to come by removes it and kills itself.
"""

from __future__ import annotations

import json
import os
import re
import signal
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import psycopg

ARMED_VARIABLE, ROLE_VARIABLE = "FAULTS_ARMED", "FAULTS_ROLE"


class Moment(StrEnum):
    """When, seen from the durable step."""

    BEFORE = "before"
    AFTER = "after"
    BEFORE_COMMIT = "before its commit"
    AFTER_COMMIT = "after its commit"
    ANSWERING = "before the answer"


@dataclass(frozen=True, slots=True)
class Point:
    """One place in the life of a call: which process, which statement, when."""

    step: str
    role: str
    statement: str
    moment: Moment

    def __str__(self) -> str:
        return f"{self.role}: {self.moment} {self.step}"


def arm(file: Path, point: Point) -> None:
    """Whoever comes to the point next dies there."""
    draft = file.with_suffix(".draft")
    draft.write_text(json.dumps(asdict(point)))
    draft.rename(file)


def watch_this_process() -> None:
    """Look at every statement and every commit from now on, if the environment asks for it."""
    if ARMED_VARIABLE not in os.environ:
        return
    cursor: Any = psycopg.Cursor
    connection: Any = psycopg.Connection
    cursor.execute = _watched_statement(cursor.execute)
    connection.commit = _watched_commit(connection.commit)
    _watch_the_short_way()


def _watch_the_short_way() -> None:
    """The statements of every governed call pass psycopg's cursors by."""
    from contextos import raw_sql

    lane: Any = raw_sql.Lane
    lane.asked = _watched_statement(lane.asked)


class AnsweringPoint:
    """The outermost middleware: all is done, only the caller has not heard of it."""

    def __init__(self, get_response: Callable[[Any], Any]) -> None:
        self._get_response = get_response

    def __call__(self, request: Any) -> Any:
        """Answer, unless this is the point."""
        answer = self._get_response(request)
        point = _armed()
        wanted = point is not None and point.moment is Moment.ANSWERING
        if point and wanted and request.path.startswith(point.statement):
            _die()
        return answer


_doomed = threading.local()


def _watched_statement(execute: Callable[..., Any]) -> Callable[..., Any]:
    def watched(cursor: Any, query: Any, *arguments: Any, **options: Any) -> Any:
        point = _armed()
        if point is None or not re.search(point.statement, str(query), re.DOTALL):
            return execute(cursor, query, *arguments, **options)
        if point.moment is Moment.BEFORE:
            _die()
        result = execute(cursor, query, *arguments, **options)
        if point.moment is Moment.AFTER:
            _die()
        _doomed.point = point
        return result

    return watched


def _watched_commit(commit: Callable[..., Any]) -> Callable[..., Any]:
    def watched(connection: Any) -> None:
        point: Point | None = vars(_doomed).pop("point", None)
        if point is not None and point.moment is Moment.BEFORE_COMMIT:
            _die()
        commit(connection)
        if point is not None and point.moment is Moment.AFTER_COMMIT:
            _die()

    return watched


def _armed() -> Point | None:
    """The point that a process like this one is to die at, if there is one just now."""
    try:
        told = json.JSONDecoder().decode(Path(os.environ[ARMED_VARIABLE]).read_text())
    except FileNotFoundError:
        return None
    point = Point(**{**told, "moment": Moment(told["moment"])})
    return point if point.role == os.environ[ROLE_VARIABLE] else None


def _die() -> None:
    """Only one does: whoever removes the file."""
    try:
        os.unlink(os.environ[ARMED_VARIABLE])  # noqa: PTH108  nothing between this and the end
    except FileNotFoundError:
        return
    os.kill(os.getpid(), signal.SIGKILL)
