"""Encryption of stored secrets under rotating keys, each bound to the place it is stored in."""

import base64
import hashlib
import hmac
import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from contextos.core.errors import ContextOSError, coded_error
from contextos.core.randomness import random_bytes

_FORMAT = b"\x01"
_MIN_KEY_BYTES = 32
_AES_BYTES = 32
_KEY_ID_BYTES = 4
_NONCE_BYTES = 12
_HEADER_BYTES = len(_FORMAT) + _KEY_ID_BYTES + _NONCE_BYTES
_FINGERPRINT_HEX = 12


@dataclass(frozen=True, slots=True, repr=False)
class _FieldKey:
    """The keys derived from one configured key: no two uses share key material."""

    key_id: bytes
    cipher: AESGCM
    fingerprint_key: bytes


class FieldCipher:
    """Encrypts with the first key, decrypts with any; `context` names table, column and row.

    A ciphertext decrypts only under the context it was made for, so that whoever can write to
    the database can't move a secret to a row where they may use it.
    """

    def __init__(self, keys: Sequence[str]) -> None:
        if not keys:
            raise coded_error("field_key.invalid", message="No field encryption key is set.")
        self._keys = tuple(_derive(key) for key in keys)

    def encrypt(self, plain: bytes, *, context: str) -> bytes:
        """The ciphertext: format, key id, nonce, then AES-256-GCM output."""
        key = self._keys[0]
        head = self.head
        nonce = random_bytes(_NONCE_BYTES)
        return head + nonce + key.cipher.encrypt(nonce, plain, head + context.encode())

    def decrypt(self, sealed: bytes | memoryview, *, context: str) -> bytes:
        """The plain bytes, or a coded error that says nothing about them."""
        sealed = bytes(sealed)  # PostgreSQL hands out memoryviews
        head, nonce = _split(sealed)
        for key in self._matching(head):
            try:
                return key.cipher.decrypt(nonce, sealed[_HEADER_BYTES:], head + context.encode())
            except InvalidTag:
                continue
        raise _undecryptable()

    @property
    def head(self) -> bytes:
        """The first bytes of whatever is encrypted now: format and key id."""
        return _FORMAT + self._keys[0].key_id

    def needs_rotation(self, sealed: bytes | memoryview) -> bool:
        """Whether a ciphertext was made under another key than the one that encrypts now."""
        head, _ = _split(bytes(sealed))
        return head != self.head

    def fingerprint(self, secret: bytes, *, context: str = "") -> str:
        """A short keyed mark to tell secrets apart on screen; it changes with the first key."""
        key = self._keys[0].fingerprint_key
        message = len(context).to_bytes(4, "big") + context.encode() + secret
        return hmac.new(key, message, hashlib.sha256).hexdigest()[:_FINGERPRINT_HEX]

    def _matching(self, head: bytes) -> list[_FieldKey]:
        return [key for key in self._keys if _FORMAT + key.key_id == head]


def generate_key() -> str:
    """A new field key in the form that CONTEXTOS_FIELD_KEYS takes."""
    return base64.urlsafe_b64encode(secrets.token_bytes(_AES_BYTES)).decode()


def _derive(configured: str) -> _FieldKey:
    material = configured.strip().encode()
    if len(material) < _MIN_KEY_BYTES:
        raise coded_error(
            "field_key.invalid",
            message=f"A field key has {len(material)} bytes; at least {_MIN_KEY_BYTES} are needed.",
        )
    return _FieldKey(
        key_id=_expand(material, b"contextos.field.key-id", _KEY_ID_BYTES),
        cipher=AESGCM(_expand(material, b"contextos.field.encrypt", _AES_BYTES)),
        fingerprint_key=_expand(material, b"contextos.field.fingerprint", _AES_BYTES),
    )


def _expand(material: bytes, purpose: bytes, length: int) -> bytes:
    # Extract first: the configured text need not be uniformly random, only unguessable.
    return HKDF(algorithm=SHA256(), length=length, salt=None, info=purpose).derive(material)


def _split(sealed: bytes) -> tuple[bytes, bytes]:
    if len(sealed) <= _HEADER_BYTES or not sealed.startswith(_FORMAT):
        raise _undecryptable()
    head = sealed[: _HEADER_BYTES - _NONCE_BYTES]
    return head, sealed[len(head) : _HEADER_BYTES]


def _undecryptable() -> ContextOSError:
    return coded_error("field.undecryptable")
