"""`manage.py run_embedded`: the worker of a single machine, without Redis."""

from __future__ import annotations

import signal
import threading
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from contextos.embedded import PeriodicRunner, jobs_from_schedule
from contextos.ending import announce_end
from contextos.startup import preload, refuse_if_unsafe


class Command(BaseCommand):
    """Run calls and periodic jobs in the foreground."""

    help = (
        "Work on waiting calls and run the periodic jobs on this machine, without a broker, "
        "until SIGTERM or SIGINT."
    )
    requires_system_checks: list[str] = []  # refuse_if_unsafe prints one line per fault instead

    def handle(self, *_: Any, **options: Any) -> None:
        """Start, wait for a signal, let what runs come to its end."""
        refuse_if_unsafe()
        from audit.sealer import SealerThread
        from gateway.worker_pool import WorkerPool

        preload()
        stopping = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stopping.set())
        runner = PeriodicRunner(jobs_from_schedule(settings.CELERY_BEAT_SCHEDULE))
        pool, sealer = WorkerPool(settings.EMBEDDED_WORKERS), SealerThread()
        for part in (runner, pool, sealer):
            part.start()
        stopping.wait()
        announce_end()
        # The sealer goes last: what the others write to the end is sealed too.
        if not all([pool.stop(), runner.stop(), sealer.stop()]):
            raise CommandError("a call or a periodic job did not finish in time and was cut off.")
