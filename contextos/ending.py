"""Tells a server's workers that it ends, so that nobody is kept waiting for the end."""

from __future__ import annotations

import multiprocessing

# Made before the workers are forked, so that they share it.
_ending = multiprocessing.Event()


def announce_end() -> None:
    """From now on nobody should begin to wait, and who waits should be answered."""
    _ending.set()


def is_ending() -> bool:
    """Whether the server that this worker belongs to was asked to stop."""
    return _ending.is_set()
