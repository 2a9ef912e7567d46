"""Embedded mode: threads that claim due rows themselves, where no broker carries ids."""

from __future__ import annotations

import threading
from queue import Empty, Queue

import structlog
from django.db import DatabaseError, close_old_connections, connections

from contextos.core.clock import utcnow
from gateway.leases import due_calls
from gateway.worker import work_on

log = structlog.get_logger(__name__)
LOOK_EVERY_SECONDS = 0.1


class WorkerPool:
    """One thread looks for due calls, the others work; stopping lets what runs come to its end."""

    def __init__(self, size: int) -> None:
        self._waiting: Queue[str] = Queue()
        self._taken: set[str] = set()
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._size = size
        loops = [self._look, *[self._work] * size]
        self._threads = [
            threading.Thread(target=loop, name=f"calls-{number}", daemon=True)
            for number, loop in enumerate(loops)
        ]

    def start(self) -> None:
        """Begin to look and to work."""
        log.info("call workers started", workers=self._size)
        for thread in self._threads:
            thread.start()

    def stop(self, *, timeout: float = 15.0) -> bool:
        """Take nothing new and wait for what runs; False when something did not end in time.

        What is cut off then is found again by its lease.
        """
        self._stopping.set()
        for thread in self._threads:
            thread.join(timeout)
        return not any(thread.is_alive() for thread in self._threads)

    def _look(self) -> None:
        while not self._stopping.wait(LOOK_EVERY_SECONDS):
            try:
                self._offer_due()
            except DatabaseError:
                log.exception("looking for due calls failed")
                close_old_connections()
        connections.close_all()

    def _offer_due(self) -> None:
        found = due_calls(utcnow()).values_list("tool_call_id", flat=True)[: 4 * self._size]
        for tool_call_id in found:
            with self._lock:
                fresh = tool_call_id not in self._taken
                self._taken.add(tool_call_id)
            if fresh:
                self._waiting.put(tool_call_id)

    def _work(self) -> None:
        while not self._stopping.is_set():
            try:
                tool_call_id = self._waiting.get(timeout=0.2)
            except Empty:
                continue
            self._work_on(tool_call_id)
        connections.close_all()

    def _work_on(self, tool_call_id: str) -> None:
        try:
            work_on(tool_call_id)
        except Exception:
            # The row keeps its lease: the sweep decides what becomes of it.
            log.exception("working on a call failed", tool_call_id=tool_call_id)
            close_old_connections()
        finally:
            with self._lock:
                self._taken.discard(tool_call_id)
