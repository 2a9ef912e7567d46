"""Periodic jobs without a broker."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from celery.schedules import crontab, schedule
from django.conf import settings

from contextos.celery import app
from contextos.embedded import PeriodicJob, PeriodicRunner, jobs_from_schedule
from tests.ops.capture import written_log
from tests.ops.environment import bare_environment, manage
from tests.ops.processes import started

SOON = 10.0


def _often(name: str, call: Callable[[], object]) -> PeriodicJob:
    return PeriodicJob(name=name, call=call, schedule=schedule(timedelta(milliseconds=5), app=app))


def test_a_job_runs_again_and_again() -> None:
    thrice = threading.Semaphore(0)
    runner = PeriodicRunner([_often("tick", thrice.release)])
    runner.start()
    assert all(thrice.acquire(timeout=SOON) for _ in range(3))
    assert runner.stop()


def test_a_job_that_fails_is_logged_and_stops_nobody() -> None:
    ran = threading.Semaphore(0)

    def fail() -> None:
        ran.release()
        raise RuntimeError("password=s3cr3t is wrong")

    others = threading.Event()
    runner = PeriodicRunner([_often("bad", fail), _often("good", others.set)])
    with written_log() as log:
        runner.start()
        assert others.wait(SOON)
        assert all(ran.acquire(timeout=SOON) for _ in range(2))
        assert runner.stop()
    record = log.named("periodic job failed")[0]
    assert record["job"] == "bad"
    assert "RuntimeError" in record["exception"]
    assert "s3cr3t" not in log.text


def test_a_job_that_takes_long_delays_no_other() -> None:
    may_end, others = threading.Event(), threading.Event()
    slow, quick = _often("slow", lambda: may_end.wait(SOON)), _often("quick", others.set)
    runner = PeriodicRunner([slow, quick])
    runner.start()
    assert others.wait(SOON / 2)
    may_end.set()
    assert runner.stop()


def test_stopping_waits_for_the_job_that_runs() -> None:
    began, may_end, ended = threading.Event(), threading.Event(), threading.Event()

    def work() -> None:
        began.set()
        may_end.wait(SOON)
        ended.set()

    runner = PeriodicRunner([_often("long", work)])
    runner.start()
    assert began.wait(SOON)
    assert runner.stop(timeout=0.01) is False
    may_end.set()
    assert runner.stop()
    assert ended.is_set()


def test_a_runner_that_was_never_started_stops_at_once() -> None:
    assert PeriodicRunner([]).stop()


def test_nothing_is_due_before_its_time() -> None:
    job = PeriodicJob("hourly", lambda: None, crontab(minute="17", app=app))
    assert 0 < job.seconds_until_due() <= 3600


def test_every_entry_of_the_schedule_names_a_callable() -> None:
    jobs = jobs_from_schedule(settings.CELERY_BEAT_SCHEDULE)
    assert [job.name for job in jobs] == list(settings.CELERY_BEAT_SCHEDULE)


def test_arguments_of_an_entry_are_passed_on() -> None:
    entry = {
        "task": "tests.ops.test_embedded.note",
        "schedule": 60,
        "args": [1],
        "kwargs": {"b": 2},
    }
    job = jobs_from_schedule({"note": entry})[0]
    # On a thread of its own, as the runner does it: a job's run tidies its thread's connections.
    runner = threading.Thread(target=job.run)
    runner.start()
    runner.join(SOON)
    assert NOTES == [(1, 2)]


NOTES: list[tuple[int, int]] = []


def note(a: int, *, b: int) -> None:
    """A job that leaves a trace."""
    NOTES.append((a, b))


@pytest.mark.live
def test_the_command_runs_until_sigterm(tmp_path: Path) -> None:
    environment = bare_environment() | {"CONTEXTOS_DATA_DIR": str(tmp_path)}
    with started(manage("run_embedded"), environment) as worker:
        assert worker.stderr is not None
        line = worker.stderr.readline()
        assert "periodic jobs started" in line
        worker.send_signal(signal.SIGTERM)
        _, rest = worker.communicate(timeout=30)
    assert worker.returncode == 0
    told = [line for line in rest.splitlines() if '"level":"info"' not in line]
    assert [line for line in told if "no such table" not in line] == []  # there is no database yet
