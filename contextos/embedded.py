"""Embedded mode: runs the periodic jobs of the beat schedule in this process, without a broker."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, cast

import structlog
from celery.schedules import BaseSchedule, maybe_schedule
from django.db import close_old_connections
from django.utils.module_loading import import_string

log = structlog.get_logger(__name__)

LONGEST_NAP_SECONDS = 5.0


@dataclass(slots=True)
class PeriodicJob:
    """One function, when it is due, and when it last ran."""

    name: str
    call: Callable[[], object]
    schedule: BaseSchedule
    last_run: datetime = field(init=False)

    def __post_init__(self) -> None:
        self.last_run = self.schedule.now()

    def seconds_until_due(self) -> float:
        """Zero when it is due now."""
        state = self.schedule.is_due(self.last_run)
        return 0.0 if state.is_due else float(state.next)

    def run(self) -> None:
        """Run once; a failure is logged and is nobody else's trouble."""
        self.last_run = self.schedule.now()
        close_old_connections()
        try:
            self.call()
        except Exception:
            log.exception("periodic job failed", job=self.name)
        finally:
            close_old_connections()


class PeriodicRunner:
    """Runs each job in a daemon thread of its own until it is stopped.

    A job that waits for somebody outside, such as a receiver of messages, delays no other.
    """

    def __init__(self, jobs: Iterable[PeriodicJob]) -> None:
        self._jobs = tuple(jobs)
        self._stopping = threading.Event()
        self._threads = [
            threading.Thread(target=self._loop, args=[job], name=f"job {job.name}", daemon=True)
            for job in self._jobs
        ]

    def start(self) -> None:
        """Begin; the first run of each job is when its schedule next says so."""
        log.info("periodic jobs started", jobs=[job.name for job in self._jobs])
        for thread in self._threads:
            thread.start()

    def stop(self, *, timeout: float = 10.0) -> bool:
        """Ask for the end and wait for the jobs that are running; False when one did not finish."""
        self._stopping.set()
        until = time.monotonic() + timeout
        for thread in self._threads:
            if thread.is_alive():
                thread.join(max(0.0, until - time.monotonic()))
        return not any(thread.is_alive() for thread in self._threads)

    def _loop(self, job: PeriodicJob) -> None:
        while not self._stopping.is_set():
            if job.seconds_until_due() <= 0:
                job.run()
            # Short naps at most, so that a clock that jumps is noticed.
            self._stopping.wait(min(LONGEST_NAP_SECONDS, job.seconds_until_due()))


def jobs_from_schedule(entries: Mapping[str, Mapping[str, Any]]) -> list[PeriodicJob]:
    """The jobs of CELERY_BEAT_SCHEDULE, called in this process instead of sent to a worker."""
    return [_job(name, entry) for name, entry in entries.items()]


def _job(name: str, entry: Mapping[str, Any]) -> PeriodicJob:
    from contextos.celery import app

    function = import_string(entry["task"])
    args, kwargs = tuple(entry.get("args", ())), dict(entry.get("kwargs", {}))
    return PeriodicJob(
        name=name,
        call=lambda: function(*args, **kwargs),
        schedule=cast(BaseSchedule, maybe_schedule(entry["schedule"], app=app)),
    )
