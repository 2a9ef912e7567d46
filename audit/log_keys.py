"""The public keys of a log, under the name that its signatures carry (E2)."""

from __future__ import annotations

import base64
from typing import Any

from django.conf import settings

from audit.checkpoint_note import key_id, origin_of, verifier_key
from audit.models import LogHead
from contextos.core.keystore import KeyRecord
from contextos.core.signing import KeyPurpose
from contextos.identity.keyring import key_store


def origin_of_log(tenant_id: str) -> str:
    """The name a tenant's log has, or will have."""
    head = LogHead.objects.filter(pk=tenant_id).only("origin").first()
    return head.origin if head else origin_of(settings.LOG_ORIGIN, tenant_id)


def keys_of_log(tenant_id: str) -> dict[str, Any]:
    """Every key that signed checkpoints, oldest first, as others need them to check."""
    origin = origin_of_log(tenant_id)
    records = key_store().keys(KeyPurpose.LOG)
    return {"origin": origin, "keys": [_shown(origin, record) for record in records]}


def state_of(record: KeyRecord) -> str:
    """What the key is to whoever checks a signature."""
    if record.revoked_at is not None:
        return "revoked"
    return "active" if record.active else "retired"


def _shown(origin: str, record: KeyRecord) -> dict[str, Any]:
    key = record.key
    return {
        "kid": key.kid,
        "key_id": key_id(origin, key).hex(),
        "vkey": verifier_key(origin, key),
        "x": base64.urlsafe_b64encode(key.public_bytes).rstrip(b"=").decode(),
        "state": state_of(record),
    }
