"""Shows that a value is the one a record commits to; the salt goes to who may see it (E6)."""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from audit.models import Payload
from audit.payloads import SALT_BYTES, SALT_OF, commitment_to, open_row, unsealed
from audit.services import record_event
from contextos.core.canonical import canonicalise
from contextos.core.errors import coded_error
from contextos.core.events import Actor
from contextos.identity.actors import require_authority


@dataclass(frozen=True, slots=True)
class ReleasedSalt:
    """All that an outsider needs besides the value itself."""

    payload_id: str
    kind: str
    commitment: str
    salt: str  # hexadecimal


def stored_values(*, tenant_id: str, decision_id: str) -> list[Payload]:
    """The values that a decision left, erased ones too, without their content."""
    rows = Payload.objects.filter(tenant_id=tenant_id, decision_id=decision_id)
    return list(rows.defer("sealed").order_by("payload_id"))


def matches_with_salt(*, value: Any, salt: bytes, commitment: str) -> bool:
    """What an outsider computes: sha256 over the salt and the canonical value (RFC 8785)."""
    if len(salt) != SALT_BYTES:
        raise coded_error("payload.salt_malformed", data={"bytes": SALT_BYTES})
    return hmac.compare_digest(commitment_to(salt, canonicalise(value)), commitment)


@transaction.atomic
def compare_value(*, tenant_id: str, payload_id: str, value: Any, actor: Actor) -> bool:
    """Whether a value is the stored one. Each comparison is recorded: asking is guessing, too."""
    require_authority(actor, tenant_id)
    row = _row(tenant_id, payload_id)
    salt, commitment = _parts(row)
    same = matches_with_salt(value=value, salt=salt, commitment=commitment)
    _tell(row, "payload.compared", actor, {"matches": same})
    return same


@transaction.atomic
def release_salt(*, tenant_id: str, payload_id: str, reason: str, actor: Actor) -> ReleasedSalt:
    """The salt of one commitment, for somebody who has the value and wants to check it alone.

    Whoever has it can also try values out, so it is given with a reason and recorded.
    """
    require_authority(actor, tenant_id)
    why = reason.strip()[:500]
    if not why:
        raise coded_error("payload.reason_missing")
    row = _row(tenant_id, payload_id)
    salt, commitment = _parts(row)
    _tell(row, "payload.salt_released", actor, {}, reason=why)
    return ReleasedSalt(row.pk, row.kind, commitment, salt.hex())


def _parts(row: Payload) -> tuple[bytes, str]:
    """Salt and commitment; of a value that was only committed to, they are all that is kept."""
    if not row.kind.startswith(SALT_OF):
        return unsealed(row).salt, row.commitment
    kept = open_row(row)
    return bytes.fromhex(kept["salt"]), str(kept["commitment"])


def _row(tenant_id: str, payload_id: str) -> Payload:
    row = Payload.objects.filter(tenant_id=tenant_id, pk=payload_id).first()
    if row is None:
        raise coded_error("payload.unknown")
    return row


def _tell(
    row: Payload, action: str, actor: Actor, data: dict[str, Any], *, reason: str = ""
) -> None:
    record_event(
        tenant_id=row.tenant_id,
        action=action,
        actor=actor,
        subject_kind="payload",
        subject_id=row.pk,
        reason=reason,
        data={
            "decision_id": row.decision_id,
            "kind": row.kind,
            "commitment": row.commitment,
            **data,
        },
    )
