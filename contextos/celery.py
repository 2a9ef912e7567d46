"""The Celery application: tasks carry ids only, the database rows are the jobs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import structlog
from celery import Celery, signals
from kombu.transport import redis as redis_transport

from contextos.env import settings_module

os.environ.setdefault("DJANGO_SETTINGS_MODULE", settings_module())

log = structlog.get_logger(__name__)


class _Unacknowledged(redis_transport.QoS):
    """Gives back or acknowledges messages, if the connection they came by is still there.

    Where it is not, kombu 5.7 stumbles over what it has closed, and the whole worker ends instead
    of connecting anew. Nothing is lost without it: the sweep sends their calls again.
    """

    def restore_unacked_once(self, stderr: Any = None) -> None:
        """As usual, or not at all."""
        with self._while_connected():
            super().restore_unacked_once(stderr)

    def ack(self, delivery_tag: Any) -> None:
        """As usual, or not at all."""
        with self._while_connected():
            super().ack(delivery_tag)

    @contextmanager
    def _while_connected(self) -> Iterator[None]:
        try:
            yield
        except AttributeError:
            if getattr(self.channel.connection, "client", None) is not None:
                raise
            log.warning("the broker went away with messages that were not acknowledged")


redis_transport.Channel.QoS = _Unacknowledged

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
