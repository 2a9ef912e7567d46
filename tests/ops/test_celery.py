"""The Celery worker and beat as real processes on a real Redis."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest
from celery.fixups import django as celery_and_django
from django.db import connection

from contextos.celery import app, drop_broken_connections
from contextos.core import strict_json
from tests.ops.environment import bare_environment, run
from tests.ops.processes import started

CELERY = ["-m", "celery", "-A", "contextos.celery"]


def test_results_are_kept_nowhere_and_only_json_is_taken() -> None:
    assert app.conf.task_ignore_result
    assert app.conf.accept_content == ["json"]
    assert app.conf.task_acks_late
    assert str(app.conf.timezone) == "UTC"


def test_every_scheduled_task_is_known_to_the_worker() -> None:
    app.loader.import_default_modules()
    scheduled = {entry["task"] for entry in app.conf.beat_schedule.values()}
    assert scheduled <= set(app.tasks)


@pytest.mark.live
def test_the_web_server_sends_to_the_broker_that_the_environment_names(tmp_path: Path) -> None:
    url = "redis://127.0.0.1:1/0"
    told = {"CONTEXTOS_DATA_DIR": str(tmp_path), "REDIS_URL": url}
    asked = (
        "import contextos.wsgi; from gateway.tasks import work_on_call; "
        "print(work_on_call.app.conf.broker_url)"
    )
    answer = run(["-c", asked], bare_environment() | told)
    assert answer.stdout.strip() == url, answer.stderr


@pytest.mark.django_db
def test_tasks_of_a_worker_share_their_connection_to_the_database() -> None:
    fixup = celery_and_django.DjangoWorkerFixup(app)  # type: ignore[attr-defined]
    connection.ensure_connection()
    opened = connection.connection
    for _ in range(2):  # before a task, and after it
        fixup.close_database()
    drop_broken_connections()
    assert connection.connection is opened


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    url = os.environ.get("REDIS_URL")
    if not url:
        pytest.skip("needs a Redis: run through scripts/with_services.py, as `make test` does")
    return bare_environment() | {"CONTEXTOS_DATA_DIR": str(tmp_path), "REDIS_URL": url}


def _read_until(child: subprocess.Popen[str], words: str) -> list[str]:
    assert child.stderr is not None
    lines: list[str] = []
    for line in child.stderr:
        lines.append(line)
        if words in line:
            return lines
    raise AssertionError("".join(lines))


@pytest.mark.live
def test_a_worker_starts_logs_in_our_form_and_ends_on_sigterm(
    environment: dict[str, str],
) -> None:
    command = [*CELERY, "worker", "--concurrency", "1", "--without-gossip", "--without-mingle"]
    with started([*command, "--hostname", f"test-{os.getpid()}@%h"], environment) as worker:
        lines = _read_until(worker, " ready.")
        worker.send_signal(signal.SIGTERM)
        _, rest = worker.communicate(timeout=60)
    assert worker.returncode == 0
    records = [strict_json.loads_object(line) for line in [*lines, *rest.splitlines()]]
    assert all(record["logger"] for record in records)


@pytest.mark.live
def test_beat_starts_and_ends_on_sigterm(environment: dict[str, str], tmp_path: Path) -> None:
    command = [*CELERY, "beat", "--schedule", str(tmp_path / "beat"), "--pidfile", ""]
    # The line before its first nap: a signal in the middle of its start has no handler yet.
    with started(command, environment | {"CONTEXTOS_LOG_LEVEL": "DEBUG"}) as beat:
        _read_until(beat, "beat: Waking up")
        beat.send_signal(signal.SIGTERM)
        beat.communicate(timeout=60)
    assert beat.returncode == 0
    assert list(tmp_path.glob("beat*"))
