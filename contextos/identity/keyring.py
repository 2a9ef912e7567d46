"""Our own keys as identity uses them: what signs tokens, what verifies them, what is published."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from django.conf import settings
from joserfc.jwk import KeySet

from contextos.core.keystore import FileKeyStore
from contextos.core.signing import KeyPurpose, Signer
from contextos.core.tokens import key_set
from contextos.identity.key_cache import CacheTimes, KeyCache

# A rotated key counts everywhere within ten seconds; an unknown kid makes us look once a second.
_TIMES = CacheTimes(fresh_for=10.0, retry_after=1.0)
_MAKES_ITS_OWN_KEYS = frozenset({"development", "workstation"})
PUBLISHED = (
    KeyPurpose.TOKENS,
    KeyPurpose.METADATA,
    KeyPurpose.WORKLOAD,
    KeyPurpose.MANIFESTS,
    KeyPurpose.LOG,
    KeyPurpose.EXPORTS,
)


@lru_cache(maxsize=4)
def _store(directory: Path, log_keys: Path | None = None) -> FileKeyStore:
    return FileKeyStore(directory, private={KeyPurpose.LOG: log_keys} if log_keys else None)


def key_store() -> FileKeyStore:
    """The keys of this installation."""
    return _store(Path(settings.KEYS_DIR), settings.LOG_KEY_DIR)


def signer_for(purpose: KeyPurpose) -> Signer:
    """The active signer; only where a developer sits is a missing key made on the spot."""
    store = key_store()
    if settings.CONTEXTOS_ENV in _MAKES_ITS_OWN_KEYS:
        return store.ensure(purpose)
    return store.signer(purpose)


def token_signer() -> Signer:
    """The signer of tokens."""
    return signer_for(KeyPurpose.TOKENS)


@lru_cache(maxsize=4)
def _token_keys(directory: str | Path) -> KeyCache:
    return KeyCache(lambda: key_set(_store(Path(directory)).jwks(KeyPurpose.TOKENS)), _TIMES)


def token_keys(kid: str | None) -> KeySet:
    """The keys that verify our tokens, the rotated-out ones included until their end."""
    return _token_keys(settings.KEYS_DIR).keys_for(kid)


def forget_cached_keys() -> None:
    """Read the key folder anew at the next use, in this process."""
    _token_keys.cache_clear()
