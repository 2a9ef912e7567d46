"""Encrypted columns: binds contextos.core.fieldcrypt to the field keys of the settings."""

from __future__ import annotations

from functools import lru_cache

from django.conf import settings

from contextos.core.fieldcrypt import FieldCipher


@lru_cache(maxsize=4)
def _cipher(keys: tuple[str, ...]) -> FieldCipher:
    return FieldCipher(keys)


def encrypt_field(plain: bytes, *, context: str) -> bytes:
    """Encrypt for one column of one row; `context` names both, so a ciphertext can't be moved."""
    return _cipher(tuple(settings.FIELD_KEYS)).encrypt(plain, context=context)


def needs_rotation(sealed: bytes) -> bool:
    """Whether a ciphertext was made under another key than the one that encrypts now."""
    return _cipher(tuple(settings.FIELD_KEYS)).needs_rotation(sealed)


def current_head() -> bytes:
    """The first bytes of every ciphertext under the key that encrypts now."""
    return _cipher(tuple(settings.FIELD_KEYS)).head


def field_fingerprint(secret: bytes, *, context: str) -> str:
    """A short keyed mark by which people tell secrets apart; it changes with the first key."""
    return _cipher(tuple(settings.FIELD_KEYS)).fingerprint(secret, context=context)


def decrypt_field(sealed: bytes, *, context: str) -> bytes:
    """Decrypt what encrypt_field made under the same context."""
    return _cipher(tuple(settings.FIELD_KEYS)).decrypt(sealed, context=context)
