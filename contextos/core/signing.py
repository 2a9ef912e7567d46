"""Signing keys: what each is for, how it signs, how anyone can check it."""

import hashlib
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any, Protocol, Self

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from contextos.core import base64url
from contextos.core.canonical import canonicalise
from contextos.core.errors import coded_error

ALGORITHM = "EdDSA"


class KeyPurpose(StrEnum):
    """One key per purpose, so that one stolen key can't forge everything."""

    MANIFESTS = "manifests"
    LOG = "log"
    EXPORTS = "exports"
    METADATA = "metadata"
    TOKENS = "tokens"
    WORKLOAD = "workload"


@dataclass(frozen=True)
class VerificationKey:
    """The public half of an Ed25519 key; its kid is its RFC 7638 thumbprint."""

    public_bytes: bytes

    @cached_property
    def kid(self) -> str:
        """A name that can't be chosen: the hash of the key itself."""
        members = {"crv": "Ed25519", "kty": "OKP", "x": base64url.encode(self.public_bytes)}
        return base64url.encode(hashlib.sha256(canonicalise(members)).digest())

    def verify(self, data: bytes, signature: bytes) -> bool:
        """Whether this key made the signature over exactly these bytes."""
        try:
            self._key.verify(signature, data)
        except InvalidSignature:
            return False
        return True

    def jwk(self) -> dict[str, str]:
        """The key as a public JSON Web Key."""
        return {
            "kty": "OKP",
            "crv": "Ed25519",
            "x": base64url.encode(self.public_bytes),
            "kid": self.kid,
            "use": "sig",
            "alg": ALGORITHM,
        }

    @classmethod
    def from_jwk(cls, jwk: Any) -> Self:
        """The key in a JWK; a `kid` that is not its thumbprint is refused."""
        try:
            if (jwk["kty"], jwk["crv"]) != ("OKP", "Ed25519"):
                raise ValueError("not an Ed25519 key")
            key = cls(base64url.decode(jwk["x"]))
            if len(key.public_bytes) != 32 or jwk.get("kid", key.kid) != key.kid:
                raise ValueError("kid and key do not belong together")
        except (KeyError, TypeError, AttributeError, ValueError):
            raise coded_error("signing.key_invalid") from None
        return key

    @cached_property
    def _key(self) -> Ed25519PublicKey:
        return Ed25519PublicKey.from_public_bytes(self.public_bytes)


class Signer(Protocol):
    """Anything that signs with Ed25519: a key file, or a service that never shows its key."""

    @property
    def verification_key(self) -> VerificationKey:
        """The public half, from which the kid follows."""

    def sign(self, data: bytes) -> bytes:
        """The 64-byte signature over data."""


class Ed25519Signer:
    """A signer that holds its private key in memory."""

    def __init__(self, private_key: Ed25519PrivateKey) -> None:
        self._private_key = private_key
        public = private_key.public_key()
        self._verification_key = VerificationKey(public.public_bytes_raw())

    @classmethod
    def generate(cls) -> Self:
        """A signer with a new key."""
        return cls(Ed25519PrivateKey.generate())

    @classmethod
    def from_pem(cls, pem: bytes) -> Self:
        """The signer in a PKCS#8 file; the error never repeats its content."""
        try:
            key = serialization.load_pem_private_key(pem, password=None)
        except (ValueError, TypeError):
            raise coded_error("signing.key_invalid") from None
        if not isinstance(key, Ed25519PrivateKey):
            raise coded_error("signing.key_invalid", message="The key file is not Ed25519.")
        return cls(key)

    @property
    def verification_key(self) -> VerificationKey:
        """The public half of the key."""
        return self._verification_key

    def sign(self, data: bytes) -> bytes:
        """The 64-byte signature over data."""
        return self._private_key.sign(data)

    def to_pem(self) -> bytes:
        """The private key as PKCS#8, for the key store to write."""
        return self._private_key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )

    def __repr__(self) -> str:
        return f"<Ed25519Signer {self._verification_key.kid}>"
