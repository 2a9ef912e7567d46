"""Keeps what was read from signed rows, as long as row, signature and trusted keys are the same."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import orjson

from contextos.core.signing import KeyPurpose
from contextos.identity.keyring import key_store
from contextos.review.models import ReviewedVersion

T = TypeVar("T")
V = TypeVar("V", bound=ReviewedVersion)
Key = tuple[str, str, tuple[Any, ...], bytes, frozenset[str]]


def trusted_kids() -> frozenset[str]:
    """The keys whose signatures count now; read once for all rows of one build."""
    return frozenset(key.kid for key in key_store().verification_keys(KeyPurpose.MANIFESTS))


class OpenedCache(Generic[V, T]):
    """Opening means checking a signature and reading a document: once per distinct content.

    The key covers the envelope as it stands in the row, so that a row somebody tampered with is
    never taken for the one that was checked; refusals are not kept.
    """

    def __init__(self, opening: Callable[[V], T], *, limit: int = 2048) -> None:
        self._opening = opening
        self._limit = limit
        self._lock = threading.Lock()
        self._held: OrderedDict[Key, T] = OrderedDict()

    def get(self, version: V, kids: frozenset[str]) -> T:
        """What the opening made of this row; raises what the opening raises."""
        key = (version.pk, version.digest, _place(version), _mark(version.envelope), kids)
        with self._lock:
            if key in self._held:
                self._held.move_to_end(key)
                return self._held[key]
        opened = self._opening(version)
        with self._lock:
            self._held[key] = opened
            while len(self._held) > self._limit:
                self._held.popitem(last=False)
        return opened


def _place(version: ReviewedVersion) -> tuple[Any, ...]:
    """Where the row says it belongs: one moved past the triggers is opened, and refused, anew."""
    names = ("tenant_id", "environment", "version")
    return tuple(getattr(version, name, None) for name in names)


def _mark(envelope: Any) -> bytes:
    return hashlib.sha256(orjson.dumps(envelope, option=orjson.OPT_SORT_KEYS)).digest()
