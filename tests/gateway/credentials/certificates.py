"""A private authority, and certificates that it signs."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from datetime import timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from contextos.core.clock import utcnow

_PEM = serialization.Encoding.PEM


@dataclass(frozen=True)
class Certificate:
    """A certificate and its key, as PEM."""

    certificate: str
    key: str

    @property
    def bundle(self) -> str:
        return self.certificate + self.key


@dataclass(frozen=True)
class Authority:
    """Signs certificates for loopback."""

    key: ec.EllipticCurvePrivateKey
    root: x509.Certificate

    @classmethod
    def new(cls) -> Authority:
        key = ec.generate_private_key(ec.SECP256R1())
        root = (
            _begun("Tests", "Tests", key)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .sign(key, hashes.SHA256())
        )
        return cls(key, root)

    @property
    def pem(self) -> str:
        return self.root.public_bytes(_PEM).decode()

    def certificate(self, name: str) -> Certificate:
        key = ec.generate_private_key(ec.SECP256R1())
        loopback = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
        made = (
            _begun(name, "Tests", key)
            .add_extension(x509.SubjectAlternativeName([loopback]), critical=False)
            .sign(self.key, hashes.SHA256())
        )
        plain = serialization.NoEncryption()
        private = key.private_bytes(_PEM, serialization.PrivateFormat.PKCS8, plain)
        return Certificate(made.public_bytes(_PEM).decode(), private.decode())


def _begun(name: str, issuer: str, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    def named(common_name: str) -> x509.Name:
        return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])

    now = utcnow()
    return (
        x509.CertificateBuilder()
        .subject_name(named(name))
        .issuer_name(named(issuer))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(minutes=5))
        .not_valid_after(now + timedelta(days=20))
    )
