"""So many quick calls of one adapter at once in a process; others are told to come back (C12).

Nobody waits for a place: a queue would hold the very threads that the other adapters need.
"""

from __future__ import annotations

import threading

from contextos.core.errors import coded_error
from gateway.adapter_terms import terms_at
from gateway.context import CallContext

RETRY_AFTER_MS = 1000
_lock = threading.Lock()
_held: dict[tuple[str, str], int] = {}


class place_for:  # noqa: N801  read as `with place_for(context)`; a generator costs twice as much
    """Hold a place while a quick call runs in this thread; other calls need none here."""

    __slots__ = ("_key", "_limit")

    def __init__(self, context: CallContext) -> None:
        self._key: tuple[str, str] | None = None
        self._limit = 0
        if context.is_quick:
            self._key = (context.caller.tenant_id, context.capability.adapter_id)
            self._limit = terms_at(*self._key, context.generation).at_once

    def __enter__(self) -> None:
        if self._key is None:
            return
        with _lock:
            held = _held.get(self._key, 0)
            if held < self._limit:
                _held[self._key] = held + 1
                return
        raise coded_error(
            "adapter.busy",
            data={"adapter_id": self._key[1], "at_once": self._limit},
            retry_after_ms=RETRY_AFTER_MS,
        )

    def __exit__(self, *_: object) -> None:
        if self._key is not None:
            _give_back(self._key)


def places_held(tenant_id: str, adapter_id: str) -> int:
    """How many quick calls of the adapter run in this process now."""
    return _held.get((tenant_id, adapter_id), 0)


def _give_back(key: tuple[str, str]) -> None:
    with _lock:
        left = _held.pop(key) - 1
        if left:
            _held[key] = left
