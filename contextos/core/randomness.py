"""Random bytes for the hot path, drawn from the system's generator many at a time.

Every question to the system lets another thread run first, and a governed call needs some twenty
ids, salts and nonces: with eight callers that was most of the waiting for one another.
"""

import os
import threading

AT_ONCE = 1024


class _Pool(threading.local):
    """What one thread has drawn and not yet used."""

    drawn = b""
    used = 0


_pool = _Pool()


def random_bytes(count: int) -> bytes:
    """So many bytes that nobody can guess and nobody else was given."""
    pool = _pool
    end = pool.used + count
    if end > len(pool.drawn):
        if count > AT_ONCE:
            return os.urandom(count)
        pool.drawn, end = os.urandom(AT_ONCE), count
    pool.used = end
    return pool.drawn[end - count : end]


def _forget() -> None:
    """A child that was forked off must not use what its parent will use."""
    global _pool
    _pool = _Pool()


os.register_at_fork(after_in_child=_forget)
