"""DSSE envelopes: a payload, its type, and signatures that bind the two together."""

import base64
import binascii
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from contextos.core.errors import ContextOSError, coded_error
from contextos.core.signing import Signer, VerificationKey

MAX_SIGNATURES = 16


@dataclass(frozen=True, slots=True)
class VerifiedEnvelope:
    """A payload that enough trusted keys signed, and which keys those were."""

    payload: bytes
    payload_type: str
    kids: tuple[str, ...]


def pae(payload_type: str, payload: bytes) -> bytes:
    """The bytes that are signed: lengths included, so type and payload can't run together."""
    kind = payload_type.encode()
    return b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)


def sign_envelope(
    payload: bytes, *, payload_type: str, signers: Sequence[Signer]
) -> dict[str, Any]:
    """An envelope signed by every signer given."""
    if not signers:
        raise ValueError("an envelope needs at least one signer")
    message = pae(payload_type, payload)
    signatures = [
        {"keyid": signer.verification_key.kid, "sig": _b64(signer.sign(message))}
        for signer in signers
    ]
    return {"payload": _b64(payload), "payloadType": payload_type, "signatures": signatures}


def verify_envelope(
    envelope: Mapping[str, Any],
    *,
    keys: Iterable[VerificationKey],
    payload_type: str,
    threshold: int = 1,
) -> VerifiedEnvelope:
    """The payload, if at least `threshold` distinct trusted keys signed it as this type."""
    if threshold < 1:
        raise ValueError("a threshold below one would accept unsigned envelopes")
    payload, declared_type, signatures = _read(envelope)
    if declared_type != payload_type:
        raise coded_error("signature.invalid", message="The envelope is of another payload type.")
    kids = _signing_kids(pae(payload_type, payload), signatures, keys)
    if len(kids) < threshold:
        raise coded_error(
            "signature.invalid",
            message=f"{len(kids)} trusted keys signed this; {threshold} are needed.",
        )
    return VerifiedEnvelope(payload=payload, payload_type=payload_type, kids=kids)


def _signing_kids(
    message: bytes, signatures: Sequence[bytes], keys: Iterable[VerificationKey]
) -> tuple[str, ...]:
    # The envelope's keyid plays no part: a key counts, once, if its own signature is there.
    trusted = {key.kid: key for key in keys}
    signed = (
        kid
        for kid, key in trusted.items()
        if any(key.verify(message, signature) for signature in signatures)
    )
    return tuple(sorted(signed))


def _read(envelope: Mapping[str, Any]) -> tuple[bytes, str, list[bytes]]:
    try:
        payload = _unb64(envelope["payload"])
        payload_type = envelope["payloadType"]
        entries = envelope["signatures"]
        if not isinstance(payload_type, str) or not isinstance(entries, list):
            raise _malformed()
        if not 1 <= len(entries) <= MAX_SIGNATURES:
            raise _malformed()
        return payload, payload_type, [_unb64(entry["sig"]) for entry in entries]
    except (KeyError, TypeError, ValueError):
        raise _malformed() from None


def _b64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _unb64(text: str) -> bytes:
    # The specification has verifiers accept both alphabets.
    try:
        return base64.b64decode(text.translate(_STANDARD_ALPHABET), validate=True)
    except (AttributeError, binascii.Error):
        raise _malformed() from None


_STANDARD_ALPHABET = str.maketrans("-_", "+/")


def _malformed() -> ContextOSError:
    return coded_error("signature.malformed")
