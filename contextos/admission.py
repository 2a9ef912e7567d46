"""Turns callers away at once, with a time to come back, while more wait than can be served soon."""

from __future__ import annotations

import math
import os
import resource
import threading
import time
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

from contextos.core.envelopes import ResultStatus, ToolResultEnvelope
from contextos.core.errors import PROBLEM_CONTENT_TYPE, coded_error, problem, tool_error
from contextos.core.strict_json import dumps
from contextos.restkit import error_codes  # noqa: F401 - declares service.crowded

RETRY_AFTER_SECONDS = 2
# Callers a thread may have in front of it: at the usual two hundred answers a second, four seconds.
OPEN_PER_THREAD = 64
_LOOK_EVERY_SECONDS = 0.25  # time for the sockets of those turned away to be closed
_NEVER_TURNED_AWAY = frozenset({"/healthz"})  # a crowd is no reason to be restarted
_REST = "/api/"  # reads the body of nobody whom it does not know
_ENVELOPES = "/api/v1/tool-calls"
_OPEN_FILES = "/proc/self/fd"

Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


class Doorkeeper:
    """A WSGI application in front of another: full house and a crowd outside is 503.

    The server queues requests before Python sees them, so their number is read from the process's
    open sockets, and only while every thread is busy. Forms get half of the threads at most: a page
    reads the form of any stranger, who may send it slowly or not at all.
    """

    def __init__(self, application: Application, *, threads: int) -> None:
        self._application = application
        self._threads = threads
        self._most_open = threads * OPEN_PER_THREAD
        self._forms = threading.Semaphore(max(1, threads // 2))
        self._inside = 0
        self._lock = threading.Lock()
        self._looked_at = -math.inf
        self._open = 0

    def __call__(
        self, environ: dict[str, Any], start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        """Serve one request, or say when to come back."""
        if self._enter() and environ.get("PATH_INFO") not in _NEVER_TURNED_AWAY:
            self._leave()
            return turned_away(environ, start_response)
        try:
            return self._admitted(environ, start_response)
        finally:
            self._leave()

    def _admitted(
        self, environ: dict[str, Any], start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        if not _brings_form(environ):
            return self._application(environ, start_response)
        if not self._forms.acquire(blocking=False):
            return turned_away(environ, start_response)
        try:
            return self._application(environ, start_response)
        finally:
            self._forms.release()

    def _enter(self) -> bool:
        """Count a request in; whether it meets a full house with a crowd outside."""
        with self._lock:
            self._inside += 1
            return self._inside >= self._threads and self._sees_crowd()

    def _leave(self) -> None:
        with self._lock:
            self._inside -= 1

    def _sees_crowd(self) -> bool:
        """Whoever is turned away is counted off: hundreds are between two looks, and those who
        are few enough to be served would be sent off with the rest."""
        now = time.monotonic()
        if now - self._looked_at > _LOOK_EVERY_SECONDS:
            self._looked_at, self._open = now, open_files()
        if self._open <= self._most_open:
            return False
        self._open -= 1
        return True


def _brings_form(environ: dict[str, Any]) -> bool:
    length = environ.get("CONTENT_LENGTH") or "0"
    return length != "0" and not str(environ.get("PATH_INFO")).startswith(_REST)


def turned_away(environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
    """The answer that costs next to nothing; the connection ends, so that another may come in."""
    in_envelope = str(environ.get("PATH_INFO", "")).startswith(_ENVELOPES)
    body, content_type = _answers()[in_envelope]
    headers = [
        ("Content-Type", content_type),
        ("Retry-After", str(RETRY_AFTER_SECONDS)),
        ("Cache-Control", "no-store"),
        ("Connection", "close"),
    ]
    start_response("503 Service Unavailable", headers)
    return [body]


@cache
def _answers() -> tuple[tuple[bytes, str], tuple[bytes, str]]:
    """As problem details, and as the envelope that callers of tools read."""
    error = coded_error("service.crowded", retry_after_ms=RETRY_AFTER_SECONDS * 1000)
    envelope = ToolResultEnvelope(
        tool_call_id=None,
        run_id=None,
        trace_id=None,
        capability_id=None,
        status=ResultStatus.FAILED,
        error=tool_error(error),
    )
    return (
        (dumps(problem(error, instance=None)).encode(), PROBLEM_CONTENT_TYPE),
        (dumps(envelope.as_dict()).encode(), "application/json"),
    )


def open_files() -> int:
    """How many files and sockets this process holds; 0 where the system does not tell."""
    try:
        return len(os.listdir(_OPEN_FILES))  # noqa: PTH208  only the number is wanted, quickly
    except OSError:
        return 0


def allow_many_sockets() -> None:
    """As many open sockets as the system lets us have: the usual 1024 are fewer than we accept."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
