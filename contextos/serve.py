"""Runs the web server: granian with threads, our log, a refused busy port, a graceful end."""

from __future__ import annotations

import gc
import logging
import os
import select
import signal
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from granian.constants import HTTPModes, Interfaces, RuntimeModes
from granian.http import HTTP1Settings
from granian.log import LogLevels
from granian.server.mp import MPServer

from contextos.admission import Doorkeeper, allow_many_sockets
from contextos.ending import announce_end

DRAIN_SECONDS = 20
_HEADER_TIMEOUT_MS = 10_000
_COLLECT_AFTER = 20_000  # new objects: those of some twenty governed calls
_AT_ONCE = 1024  # connections of one worker, idle ones too
_BACKLOG = 2048  # and so many more may knock at the same moment


class PortTakenError(Exception):
    """The address can't be listened on; the text says why and what to do."""


@dataclass(frozen=True, slots=True)
class ServerPlan:
    """Where and how to serve."""

    host: str = "127.0.0.1"
    port: int = 8000
    threads: int = 12  # more than the places of one adapter, so that a slow one can't take them all
    workers: int = 1
    target: str = "contextos.wsgi:application"
    asynchronous: bool = False
    log_level: str = "info"


class _Server(MPServer):
    """Granian, which tells its workers of the end before it waits for theirs."""

    def signal_handler_interrupt(self, *args: Any, **kwargs: Any) -> None:
        announce_end()
        super().signal_handler_interrupt(*args, **kwargs)  # type: ignore[no-untyped-call]


def serve(plan: ServerPlan) -> None:
    """Serve until SIGTERM or SIGINT; requests in flight are finished first."""
    refuse_taken_port(plan.host, plan.port)
    allow_many_sockets()
    guarded = partial(load_behind_doorkeeper, threads=plan.threads)
    loader = load_in_worker if plan.asynchronous else guarded  # an event loop keeps no queue
    build_server(plan).serve(target_loader=loader)


def refuse_taken_port(host: str, port: int) -> None:
    """Raise PortTakenError unless the port is free; granian itself would share a taken one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # TIME_WAIT is not "taken"
        try:
            probe.bind((host, port))
        except (OSError, OverflowError) as fault:
            raise PortTakenError(_why_not(host, port, fault)) from fault


def build_server(plan: ServerPlan) -> MPServer:
    """Granian, set up so that only our own log line per request is written."""
    logging.getLogger("_granian").addFilter(_is_no_advice)
    return _Server(
        plan.target,
        address=plan.host,
        port=plan.port,
        interface=Interfaces.ASGINL if plan.asynchronous else Interfaces.WSGI,
        workers=plan.workers,
        blocking_threads=1 if plan.asynchronous else plan.threads,
        # One thread reads and writes the sockets; of several, a request wakes up one after another.
        runtime_mode=RuntimeModes.st,
        websockets=False,
        backlog=_BACKLOG,
        backpressure=_AT_ONCE,
        # Hundreds of HTTP/2 streams would share a socket, and the doorkeeper counts sockets.
        http=HTTPModes.http1,
        http1_settings=HTTP1Settings(header_read_timeout=_HEADER_TIMEOUT_MS),
        workers_kill_timeout=DRAIN_SECONDS,
        log_level=LogLevels(plan.log_level),
        log_dictconfig=_THROUGH_OUR_HANDLER,
    )


def _is_no_advice(record: logging.LogRecord) -> bool:
    """Threads here mostly wait for somebody outside; that they outnumber the cores is meant so."""
    return "Python threads, which seems quite high" not in record.getMessage()


def load_behind_doorkeeper(target: str, *, threads: int) -> Callable[..., Any]:
    """The application, where threads are few and callers may be many."""
    return Doorkeeper(load_in_worker(target), threads=threads)


def load_in_worker(target: str) -> Callable[..., Any]:
    """Load the application in the worker process, which ends when its parent is killed."""
    _end_with_parent()
    from granian._internal import load_target

    application: Callable[..., Any] = load_target(target)
    _spare_what_stays()
    return application


def _spare_what_stays() -> None:
    """What was loaded stays until the end: the collector need not walk it again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_COLLECT_AFTER, *gc.get_threshold()[1:])


def _why_not(host: str, port: int, fault: Exception) -> str:
    if isinstance(fault, OverflowError):
        return f"port {port} does not exist: choose one from 1 to 65535."
    if isinstance(fault, PermissionError):
        return f"port {port} may not be used by this user: choose one above 1023."
    if isinstance(fault, socket.gaierror):
        return f"{host} is no address of this machine: use 127.0.0.1 or 0.0.0.0."
    reason = getattr(fault, "strerror", None) or str(fault)
    return f"port {port} can't be used ({reason}): stop what listens there, or choose another."


def _end_with_parent() -> None:
    """A killed parent can't stop its workers, so each watches it from a thread of its own."""
    if hasattr(os, "pidfd_open"):
        threading.Thread(target=_watch, args=[os.getppid()], name="parent", daemon=True).start()


def _watch(parent: int) -> None:
    try:
        handle = os.pidfd_open(parent)
    except ProcessLookupError:
        os._exit(1)
    select.select([handle], [], [])
    announce_end()
    os.kill(os.getpid(), signal.SIGTERM)  # requests in flight may finish ...
    threading.Event().wait(DRAIN_SECONDS)
    os._exit(1)  # ... but not for ever


# Laid over granian's own logging set-up, so that its records reach the root handler: ours.
_THROUGH_OUR_HANDLER: dict[str, Any] = {
    "formatters": {},
    "handlers": {},
    "loggers": {
        "_granian": {"handlers": [], "propagate": True},
        "granian.access": {"handlers": [], "propagate": True},
    },
}
