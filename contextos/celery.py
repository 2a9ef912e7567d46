"""The Celery application: tasks carry ids only, the database rows are the jobs."""

from __future__ import annotations

import os
from typing import Any

from celery import Celery, signals

from contextos.env import settings_module

os.environ.setdefault("DJANGO_SETTINGS_MODULE", settings_module())

app = Celery("contextos")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@signals.setup_logging.connect
def keep_our_log(**_: Any) -> None:
    """Being connected is enough: Celery then leaves the logging of contextos.logs alone."""


@signals.celeryd_init.connect
@signals.beat_init.connect
def refuse_unsafe_start(**_: Any) -> None:
    """Worker and beat run no checks and would try a default broker; refuse both with one line."""
    from contextos.startup import preload, prepare_process, refuse_without_broker

    prepare_process()
    refuse_without_broker()
    preload()


@signals.celeryd_init.connect
def outlive_the_broker(**_: Any) -> None:
    """Only workers load what it takes: the web process sends messages and acknowledges none."""
    from contextos import unacknowledged

    unacknowledged.outlive_the_broker()


@signals.worker_shutting_down.connect
def tell_long_work(**_: Any) -> None:
    """Work that can be gone on with elsewhere gives its rows back instead of being waited for."""
    from contextos.ending import announce_end

    announce_end()


@signals.worker_process_init.connect
def begin_telemetry(**_: Any) -> None:
    """Exporter threads don't survive a fork, so each pool process starts its own."""
    from contextos import telemetry

    telemetry.start()


@signals.task_prerun.connect
def drop_broken_connections(**_: Any) -> None:
    """As at the start of a request: what is broken or too old is opened anew."""
    from django.db import close_old_connections

    close_old_connections()


@signals.worker_process_shutdown.connect
def close_connectors(**_: Any) -> None:
    """A pool process runs no exit handlers."""
    from gateway.connectors import close

    close()


@signals.worker_process_shutdown.connect
def end_telemetry(**_: Any) -> None:
    """Send what is still waiting."""
    from contextos import telemetry

    telemetry.shutdown()
