"""Tokens made by hand: honest ones of other issuers, and dishonest ones."""

from __future__ import annotations

import hashlib
import hmac
import time
from typing import Any

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

from contextos.core import base64url, strict_json
from contextos.core.events import Actor
from contextos.core.signing import Ed25519Signer
from contextos.identity import services
from contextos.identity.models import User


def segment(part: dict[str, Any]) -> str:
    """One part of a token."""
    return base64url.encode(strict_json.dumps(part).encode())


def claims(**changes: Any) -> dict[str, Any]:
    """The claims of a token that would be in order, changed; None takes a claim away."""
    now = int(time.time())
    base: dict[str, Any] = {
        "iss": "contextos",
        "aud": "contextos",
        "sub": "refunds",
        "jti": "tok_forged",
        "iat": now,
        "nbf": now,
        "exp": now + 600,
    }
    return {name: value for name, value in (base | changes).items() if value is not None}


def eddsa(signer: Any, given: dict[str, Any], **header: Any) -> str:
    """Signed with Ed25519."""
    head = {"alg": "EdDSA", "kid": signer.verification_key.kid, "typ": "JWT"} | header
    signed = f"{segment(head)}.{segment(given)}"
    return f"{signed}.{base64url.encode(signer.sign(signed.encode()))}"


def unsigned(given: dict[str, Any], **header: Any) -> str:
    """`alg: none`."""
    return f"{segment({'alg': 'none', 'typ': 'JWT'} | header)}.{segment(given)}."


def hs256(secret: bytes, given: dict[str, Any], **header: Any) -> str:
    """Signed with a shared secret: the public key, if somebody is confused enough."""
    signed = f"{segment({'alg': 'HS256', 'typ': 'JWT'} | header)}.{segment(given)}"
    return (
        f"{signed}.{base64url.encode(hmac.new(secret, signed.encode(), hashlib.sha256).digest())}"
    )


class OutsideIssuer:
    """An identity provider with one key of each accepted kind."""

    def __init__(self) -> None:
        self.ed = Ed25519Signer.generate()
        self.ec = ec.generate_private_key(ec.SECP256R1())
        self.rsa = rsa.generate_private_key(public_exponent=65537, key_size=2048)

    def jwks(self) -> dict[str, Any]:
        """The public halves."""
        point = self.ec.public_key().public_numbers()
        numbers = self.rsa.public_key().public_numbers()
        return {
            "keys": [
                self.ed.verification_key.jwk(),
                {
                    "kty": "EC",
                    "crv": "P-256",
                    "kid": "ec",
                    "x": base64url.encode(point.x.to_bytes(32, "big")),
                    "y": base64url.encode(point.y.to_bytes(32, "big")),
                },
                {
                    "kty": "RSA",
                    "kid": "rsa",
                    "n": base64url.encode(numbers.n.to_bytes(256, "big")),
                    "e": "AQAB",
                },
            ]
        }

    def sign(self, algorithm: str, given: dict[str, Any]) -> str:
        """An honest token."""
        if algorithm == "EdDSA":
            return eddsa(self.ed, given, typ="at+jwt")
        kid = "ec" if algorithm == "ES256" else "rsa"
        signed = f"{segment({'alg': algorithm, 'kid': kid})}.{segment(given)}"
        made = self._es256(signed) if algorithm == "ES256" else self._rs256(signed)
        return f"{signed}.{base64url.encode(made)}"

    def _es256(self, signed: str) -> bytes:
        r, s = decode_dss_signature(self.ec.sign(signed.encode(), ec.ECDSA(hashes.SHA256())))
        return r.to_bytes(32, "big") + s.to_bytes(32, "big")

    def _rs256(self, signed: str) -> bytes:
        return self.rsa.sign(signed.encode(), padding.PKCS1v15(), hashes.SHA256())


def named_by_an_issuer_of(actor: Actor, *, tenant_id: str, user: User) -> str:
    """A token that names a person, of an issuer whose keys somebody has just entered."""
    provider, issuer = OutsideIssuer(), "https://id.example.test"
    services.trust_issuer(
        tenant_id=tenant_id,
        name="Their own",
        issuer=issuer,
        audience="contextos",
        subject_kind="user",
        algorithms=["EdDSA"],
        jwks=provider.jwks(),
        actor=actor,
    )
    return provider.sign("EdDSA", claims(iss=issuer, sub=user.user_id))
