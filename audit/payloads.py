"""The one encrypted store of values; everything else refers to them by salted commitment."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from audit.models import Payload
from audit.one_statement import Insert
from contextos.core import strict_json
from contextos.core.canonical import canonicalise
from contextos.core.clock import utcnow
from contextos.core.errors import coded_error
from contextos.core.ids import new_id
from contextos.core.randomness import random_bytes
from contextos.identity.field_encryption import decrypt_field, encrypt_field

SALT_BYTES = 32  # low-entropy values such as amounts can't be guessed from their commitment
MAX_BYTES = 32 * 1024 * 1024
SALT_OF = "salt:"  # of a value that is only committed to
# Arguments and outputs keep to the usual depth; what they are stored in adds a few levels.
MAX_DEPTH = strict_json.MAX_DEPTH + 16


@dataclass(frozen=True, slots=True)
class SealedPayload:
    """A value ready to be stored: what records may say of it, and the write that keeps it."""

    payload_id: str
    commitment: str
    write: Insert
    size_bytes: int  # of the canonical value
    salt: bytes = field(default=b"", repr=False)


def salted_mark(salt: bytes, label: str, value: Any) -> str:
    """`sha256:<hex>` of something that belongs to a payload: once its salt is erased with it,
    nobody can tell by guessing what it was."""
    content = label.encode() + b"\n" + canonicalise(value)
    return "sha256:" + hmac.new(salt, content, hashlib.sha256).hexdigest()


def commitment_to(salt: bytes, content: bytes) -> str:
    """`sha256:<hex>` over the salt and the canonical value."""
    return "sha256:" + hashlib.sha256(salt + content).hexdigest()


def seal_payload(
    *, tenant_id: str, decision_id: str, kind: str, value: Any, after: str | None = None
) -> SealedPayload:
    """Commit to a value and encrypt it; the caller writes the row with what refers to it.

    The write is named for its kind; `after` names the write it depends on.
    """
    salt, content = random_bytes(SALT_BYTES), canonicalise(value)
    payload_id = new_id("pay")
    commitment = commitment_to(salt, content)
    row = {
        "payload_id": payload_id,
        "tenant_id": tenant_id,
        "decision_id": decision_id,
        "kind": kind,
        "commitment": commitment,
        "sealed": encrypt_field(salt + content, context=payload_context(tenant_id, payload_id)),
        "created_at": utcnow(),
    }
    write = Insert(name=f"payload_{kind}", table=Payload._meta.db_table, values=row, after=after)
    return SealedPayload(payload_id, commitment, write, len(content), salt)


def commit_only(
    *, tenant_id: str, decision_id: str, kind: str, value: Any, after: str | None = None
) -> SealedPayload:
    """Commit to a value without keeping it: only the salt is stored, to show a match later."""
    salt, content = random_bytes(SALT_BYTES), canonicalise(value)
    commitment = commitment_to(salt, content)
    kept = seal_payload(
        tenant_id=tenant_id,
        decision_id=decision_id,
        kind=SALT_OF + kind,
        value={"salt": salt.hex(), "commitment": commitment},
        after=after,
    )
    return SealedPayload(kept.payload_id, commitment, kept.write, len(content))


def payload_rows(
    *, tenant_id: str, decision_ids: Iterable[str], kinds: Iterable[str]
) -> dict[tuple[str, str], Payload]:
    """The newest row of each kind that each decision left, in one statement."""
    rows = Payload.objects.filter(
        tenant_id=tenant_id, decision_id__in=list(decision_ids), kind__in=list(kinds)
    )
    return {(row.decision_id, row.kind): row for row in rows.order_by("payload_id")}


def find_payload(*, tenant_id: str, decision_id: str, kind: str) -> Any | None:
    """The newest value of a kind that a decision left, or None when it left none."""
    rows = Payload.objects.filter(tenant_id=tenant_id, decision_id=decision_id, kind=kind)
    payload_id = rows.order_by("-payload_id").values_list("payload_id", flat=True).first()
    return None if payload_id is None else open_payload(tenant_id=tenant_id, payload_id=payload_id)


def open_payload(*, tenant_id: str, payload_id: str) -> Any:
    """The value behind a commitment, checked against it; erased values stay erased."""
    return open_row(_row(tenant_id, payload_id))


def open_committed(*, tenant_id: str, payload_id: str, commitment: str | None) -> Any:
    """The value that a record names: another payload in its place is tampering, however sound."""
    row = _row(tenant_id, payload_id)
    if row.commitment != commitment:
        raise coded_error("artefact.tampered", data={"payload_id": payload_id})
    return open_row(row)


def open_row(row: Payload) -> Any:
    """The value in a row that was read already, checked against its commitment."""
    return opened_parts(row)[1]


def opened_parts(row: Payload) -> tuple[bytes, Any]:
    """Salt and value: whoever is given both can check the commitment alone."""
    parts = unsealed(row)
    return parts.salt, strict_json.loads(parts.content, max_bytes=MAX_BYTES, max_depth=MAX_DEPTH)


@dataclass(frozen=True, slots=True)
class Unsealed:
    """What a commitment is made of."""

    salt: bytes
    content: bytes


def unsealed(row: Payload) -> Unsealed:
    """Salt and canonical value, checked against the commitment; erased values stay erased."""
    payload_id = row.payload_id
    if row.sealed is None:
        raise coded_error("payload.erased", data={"payload_id": payload_id})
    opened = decrypt_field(bytes(row.sealed), context=payload_context(row.tenant_id, payload_id))
    salt, content = opened[:SALT_BYTES], opened[SALT_BYTES:]
    if commitment_to(salt, content) != row.commitment:
        raise coded_error("artefact.tampered", data={"payload_id": payload_id})
    return Unsealed(salt, content)


def _row(tenant_id: str, payload_id: str) -> Payload:
    row = Payload.objects.filter(tenant_id=tenant_id, payload_id=payload_id).first()
    if row is None:
        raise coded_error("payload.missing", data={"payload_id": payload_id})
    return row


def payload_context(tenant_id: str, payload_id: str) -> str:
    """The place of a payload's ciphertext; moved to another row it does not open."""
    return f"audit.payload:{tenant_id}:{payload_id}"
