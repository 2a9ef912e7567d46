"""Our own tokens whose signature was checked a moment ago, so that a busy caller pays once.

What is signed does not change, so only the clock is asked again; the row that can be revoked is
read by whoever asks, and a changed key folder makes every signature count anew.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict

from joserfc.jwk import KeySet

from contextos.core.tokens import VerifiedToken, recheck_times
from contextos.identity.keyring import token_keys

OWN_LEEWAY_SECONDS = 5
_AT_MOST = 4096


class SeenTokens:
    """The latest few thousand, by hash: the tokens themselves are not kept."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[bytes, tuple[VerifiedToken, KeySet]] = OrderedDict()

    def get(self, token: str) -> VerifiedToken | None:
        """What the token says, if its signature was checked with the keys of today."""
        name = _name(token)
        verified, keys = self._kept.get(name, (None, None))
        if verified is None or token_keys(str(verified.header.get("kid"))) is not keys:
            return None
        recheck_times(verified, leeway=OWN_LEEWAY_SECONDS)
        return verified

    def keep(self, token: str, verified: VerifiedToken, keys: KeySet) -> None:
        """Remember a token that was just verified with these keys."""
        with self._lock:
            self._kept[_name(token)] = verified, keys
            while len(self._kept) > _AT_MOST:
                self._kept.popitem(last=False)


def _name(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
