"""Rotating signing keys."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import transaction

from contextos.core.clock import format_time, utcnow
from contextos.core.events import PLATFORM_TENANT, Actor
from contextos.core.signing import KeyPurpose
from contextos.identity.events import record_event
from contextos.identity.keyring import forget_cached_keys, key_store
from contextos.identity.services.tokens import MAX_LIFETIME


def rotate_key(*, purpose: KeyPurpose, actor: Actor, reason: str = "") -> str:
    """Sign with a new key from now on; returns its kid.

    A tokens key verifies until the last token it signed has expired; what other keys signed
    (manifests, checkpoints, exports) has to verify for ever.
    """
    not_after = _last_use(purpose)
    with transaction.atomic():
        # Files can't roll back, so the rotation comes last and the record says what it was to be.
        record_event(
            tenant_id=PLATFORM_TENANT,
            action="identity.key.rotated",
            actor=actor,
            subject_kind="key",
            subject_id=purpose.value,
            reason=reason,
            data={
                "retired_kids": [r.key.kid for r in key_store().keys(purpose) if r.active],
                "old_key_verifies_until": format_time(not_after) if not_after else None,
            },
        )
        kid = key_store().rotate(purpose, not_after=not_after).verification_key.kid
    forget_cached_keys()
    return kid


def _last_use(purpose: KeyPurpose) -> datetime | None:
    if purpose is not KeyPurpose.TOKENS:
        return None
    return utcnow() + MAX_LIFETIME + timedelta(minutes=1)
