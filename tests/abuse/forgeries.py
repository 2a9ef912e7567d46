"""Dishonest tokens by the dozen: each is an honest one of ours with exactly one trick to it."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from contextos.core import base64url, strict_json
from contextos.core.signing import Ed25519Signer, KeyPurpose
from contextos.identity.keyring import key_store
from contextos.identity.token_terms import TOKEN_TYPE
from tests.identity.forged import eddsa, hs256, segment, unsigned

Claims = dict[str, Any]
_NONES = ("none", "None", "NONE", "nOnE", "", " none", "none ", "no\u0000ne")
_ALGORITHMS: tuple[Any, ...] = (
    "HS256",
    "HS512",
    "RS256",
    "ES256",
    "PS256",
    "Ed25519",
    "eddsa",
    "EDDSA",
    None,
    1,
    [],
)
_KIDS: tuple[Any, ...] = (
    "",
    "../../../../dev/null",
    "/proc/self/environ",
    "..%2f..%2fkeys",
    "' OR '1'='1",
    "'; DROP TABLE identity_user; --",
    "|/usr/bin/id",
    "http://127.0.0.1:1/jwks.json",
    "file:///etc/passwd",
    "\u0000",
    "k" * 5_000,
    None,
    0,
    True,
    ["x"],
    {"kid": "x"},
)
_POINTERS: dict[str, Any] = {
    "jku": "https://127.0.0.1:1/jwks.json",
    "x5u": "https://127.0.0.1:1/cert.pem",
    "crit": ["exp"],
    "b64": False,
}


def forgeries(signer: Any, claims: Claims) -> Iterator[tuple[str, str]]:
    """Each trick by its name."""
    yield from _without_a_signature(claims)
    yield from _with_confused_keys(signer, claims)
    yield from _with_odd_headers(signer, claims)
    yield from _with_the_wrong_use(signer, claims)
    yield from _spelt_oddly(as_ours(signer, claims))


def _without_a_signature(claims: Claims) -> Iterator[tuple[str, str]]:
    for name in _NONES:
        yield f"alg {name!r}", unsigned(claims, alg=name)
        yield f"alg {name!r}, some signature", unsigned(claims, alg=name) + "AAAA"
    yield "empty signature", unsigned(claims, alg="EdDSA")


def _with_confused_keys(signer: Any, claims: Claims) -> Iterator[tuple[str, str]]:
    key = signer.verification_key
    pem = Ed25519PublicKey.from_public_bytes(key.public_bytes).public_bytes(
        Encoding.PEM, PublicFormat.SubjectPublicKeyInfo
    )
    secrets = {
        "raw": key.public_bytes,
        "pem": pem,
        "pem without its end": pem.strip(),
        "jwk": strict_json.dumps(key.jwk()).encode(),
        "x": key.jwk()["x"].encode(),
        "hash": hashlib.sha256(key.public_bytes).digest(),
        "nothing": b"",
    }
    for name, secret in secrets.items():
        yield f"HS256 under the public key as {name}", hs256(secret, claims, kid=key.kid)
    for algorithm in _ALGORITHMS:
        yield (
            f"signed by us, said to be {algorithm!r}",
            eddsa(signer, claims, typ=TOKEN_TYPE, alg=algorithm),
        )


def _with_odd_headers(signer: Any, claims: Claims) -> Iterator[tuple[str, str]]:
    for kid in _KIDS:
        yield f"kid {str(kid)[:30]!r}", eddsa(signer, claims, typ=TOKEN_TYPE, kid=kid)
    stranger = Ed25519Signer.generate()
    yield "a stranger's key", as_ours(stranger, claims)
    yield (
        "a stranger under our kid",
        eddsa(stranger, claims, typ=TOKEN_TYPE, kid=signer.verification_key.kid),
    )
    yield (
        "a key brought along",
        eddsa(stranger, claims, typ=TOKEN_TYPE, jwk=stranger.verification_key.jwk()),
    )
    for name, value in _POINTERS.items():
        yield f"header {name}", eddsa(signer, claims, **{"typ": TOKEN_TYPE, name: value})
    yield "alg named twice", _resigned(signer, '{"alg":"none","alg":"EdDSA"}', claims)
    yield "a header that is a list", _resigned(signer, "[]", claims)


def _with_the_wrong_use(signer: Any, claims: Claims) -> Iterator[tuple[str, str]]:
    for purpose in KeyPurpose:
        if purpose is not KeyPurpose.TOKENS:
            yield f"the key for {purpose.value}", as_ours(key_store().ensure(purpose), claims)
    for name in ("JWS", "at+jwt", "dpop+jwt", "JOSE", None, 7):
        yield f"typ {name!r}", eddsa(signer, claims, typ=name)
    changes: dict[str, Any] = {
        "aud": "somebody-else",
        "iss": "https://issuer.example.test",
        "exp": 1,
        "nbf": 99_999_999_999,
        "sub": "nobody_at_all",
        "jti": "tok_never_issued",
    }
    for name, value in changes.items():
        yield f"another {name}", as_ours(signer, {**claims, name: value})


def _spelt_oddly(honest: str) -> Iterator[tuple[str, str]]:
    """The same bytes for a lenient reader, and other bytes for nobody."""
    head, body, signature = honest.split(".")
    yield "padding", f"{head}.{body}.{signature}=="
    yield "padding inside", f"{head}=.{body}.{signature}"
    yield "unused bits set", f"{head}.{body}.{_with_unused_bits(signature)}"
    yield "the other alphabet", f"{_other_alphabet(head)}+/.{body}.{signature}"
    yield "a space at the end", f"{head}.{body}.{signature[:-1]} {signature[-1]}"
    yield "a fourth part", f"{honest}.AAAA"
    yield "five parts", f"{head}..{body}.{signature}.{signature}"
    yield "two tokens", f"{honest},{honest}"
    yield "full-width dots", honest.replace(".", "\uff0e")
    yield "a doubled signature", f"{honest}{signature}"
    yield "a shortened signature", honest[:-4]
    yield (
        "in JSON form",
        strict_json.dumps({"protected": head, "payload": body, "signature": signature}),
    )


def _resigned(signer: Any, header: str, claims: Claims) -> str:
    signed = f"{base64url.encode(header.encode())}.{segment(claims)}"
    return f"{signed}.{base64url.encode(signer.sign(signed.encode()))}"


def as_ours(signer: Any, claims: Claims) -> str:
    """An honest copy."""
    return eddsa(signer, claims, typ=TOKEN_TYPE)


def _with_unused_bits(part: str) -> str:
    """64 bytes leave four unused bits in the last letter; a strict reader wants them zero."""
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    changed = part[:-1] + letters[letters.index(part[-1]) | 1]
    assert base64.urlsafe_b64decode(changed + "==") == base64.urlsafe_b64decode(part + "==")
    return changed


def _other_alphabet(part: str) -> str:
    return part.replace("-", "+").replace("_", "/")
