"""Messages of a broker that went away: a worker outlives it and connects anew."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import structlog
from kombu.transport import redis as redis_transport

log = structlog.get_logger(__name__)


class Unacknowledged(redis_transport.QoS):
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


def outlive_the_broker() -> None:
    """For workers, before they connect."""
    redis_transport.Channel.QoS = Unacknowledged
