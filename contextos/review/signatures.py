"""Signing what was approved, and checking it on every load."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from contextos.core.canonical import digest_bytes
from contextos.core.dsse import sign_envelope, verify_envelope
from contextos.core.errors import coded_error
from contextos.core.signing import KeyPurpose
from contextos.identity.keyring import key_store


def type_for_tenant(payload_type: str, tenant_id: str) -> str:
    """The signed payload type: naming the tenant, a signature is worth nothing in another one."""
    return f"{payload_type}; tenant={tenant_id}"


def sign_document(document: bytes, *, payload_type: str, purpose: KeyPurpose) -> dict[str, Any]:
    """A DSSE envelope over the canonical document."""
    signer = key_store().ensure(purpose)
    return sign_envelope(document, payload_type=payload_type, signers=[signer])


def open_signed(
    envelope: Mapping[str, Any] | None, *, digest: str, payload_type: str, purpose: KeyPurpose
) -> bytes:
    """The document, if a trusted key signed exactly the bytes that `digest` names."""
    if envelope is None:
        raise coded_error("signature.invalid", message="The version carries no signature.")
    keys = key_store().verification_keys(purpose)
    verified = verify_envelope(envelope, keys=keys, payload_type=payload_type)
    if digest_bytes(verified.payload) != digest:
        raise coded_error(
            "signature.invalid", message="The signed document is not the one this version names."
        )
    return verified.payload
