"""The engine named in settings: Django's own, but it asks the socket whether the server is there.

Django sends `SELECT 1` before the first statement of every request. A server that stopped or was
restarted has closed the connection, which the socket knows without a round trip.
"""

from __future__ import annotations

import select

from django.db.backends.postgresql import base


class DatabaseWrapper(base.DatabaseWrapper):
    """A connection that is used again as long as nobody has hung up."""

    def is_usable(self) -> bool:
        """Whether the connection can be used; what waits on it unread is looked at closely."""
        if self.connection is None or self.connection.closed:
            return False
        poll = select.poll()
        poll.register(self.connection.pgconn.socket, select.POLLIN | select.POLLERR)
        return not poll.poll(0) or super().is_usable()
