"""Client certificates: one PEM text with chain and key, judged when it is entered."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization

from contextos.core.errors import coded_error

MOST_READ = 64
_PEM = serialization.Encoding.PEM
_PUBLIC = serialization.PublicFormat.SubjectPublicKeyInfo


@dataclass(frozen=True, slots=True)
class ClientCertificate:
    """Chain and key apart, as TLS wants them."""

    chain: str
    key: str = field(repr=False)
    ends_at: datetime
    fingerprint: str


@lru_cache(maxsize=MOST_READ)
def read_certificate(pem: str) -> ClientCertificate:
    """The certificate and its key, or a coded error that repeats nothing of either.

    Remembered: checking an RSA key takes longer than the call that it is for.
    """
    data = pem.encode()
    try:
        chain = x509.load_pem_x509_certificates(data)
        key = serialization.load_pem_private_key(_key_block(pem), password=None)
    except (ValueError, TypeError):
        raise _invalid("It needs a PEM certificate and its PEM key without a password.") from None
    if chain[0].public_key().public_bytes(_PEM, _PUBLIC) != key.public_key().public_bytes(
        _PEM, _PUBLIC
    ):
        raise _invalid("The key is not that of the first certificate.")
    return ClientCertificate(
        chain="".join(certificate.public_bytes(_PEM).decode() for certificate in chain),
        key=key.private_bytes(
            _PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        ).decode(),
        ends_at=chain[0].not_valid_after_utc,
        fingerprint=chain[0].fingerprint(hashes.SHA256()).hex()[:32],
    )


def check_authority(pem: str) -> None:
    """Refuse what is no certificate."""
    try:
        x509.load_pem_x509_certificates(pem.encode())
    except ValueError:
        raise _invalid("The private authority is not a PEM certificate.") from None


def _key_block(pem: str) -> bytes:
    """The key alone: the parser takes the first block that it finds, whatever it is."""
    start = pem.find("-----BEGIN", pem.find("PRIVATE KEY-----") - 40)
    for marker in ("-----BEGIN PRIVATE KEY", "-----BEGIN EC PRIVATE", "-----BEGIN RSA PRIVATE"):
        found = pem.find(marker)
        start = found if found >= 0 else start
    return pem[max(start, 0) :].encode()


def _invalid(message: str) -> Exception:
    return coded_error("credential.invalid", message=message)
