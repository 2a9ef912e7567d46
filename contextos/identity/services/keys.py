"""Rotating signing keys."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import transaction

from contextos.core.clock import format_time, utcnow
from contextos.core.errors import coded_error
from contextos.core.events import PLATFORM_TENANT, Actor
from contextos.core.signing import KeyPurpose
from contextos.identity.events import record_event
from contextos.identity.keyring import forget_cached_keys, key_store
from contextos.identity.services.tokens import MAX_LIFETIME

# What these sign is meant for one call and has run out long before the hour is over.
_MINUTES_LONG = frozenset({KeyPurpose.METADATA, KeyPurpose.WORKLOAD})


def rotate_key(*, purpose: KeyPurpose, actor: Actor, reason: str = "") -> str:
    """Sign with a new key from now on; returns its kid.

    A tokens key verifies until the last token it signed has expired, keys for single calls for an
    hour; what the others signed (manifests, checkpoints, exports) has to verify for ever.
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


def revoke_key(*, purpose: KeyPurpose, kid: str, actor: Actor, reason: str) -> str:
    """Let no signature by this key count any more; returns the kid that signs from now on.

    For a key that somebody else may hold. What it signed has to be signed anew: the sealer does so
    with the log at once, tokens are issued again, manifests are published again.
    """
    store = key_store()
    if kid not in {record.key.kid for record in store.keys(purpose)}:
        raise coded_error("signing.key_unknown", data={"purpose": purpose.value})
    if any(record.active and record.key.kid == kid for record in store.keys(purpose)):
        rotate_key(purpose=purpose, actor=actor, reason=reason)
    with transaction.atomic():
        record_event(
            tenant_id=PLATFORM_TENANT,
            action="identity.key.revoked",
            actor=actor,
            subject_kind="key",
            subject_id=purpose.value,
            reason=reason,
            data={"revoked_kid": kid},
        )
        store.revoke(purpose, kid)
    forget_cached_keys()
    return next(record.key.kid for record in store.keys(purpose) if record.active)


def _last_use(purpose: KeyPurpose) -> datetime | None:
    if purpose in _MINUTES_LONG:
        return utcnow() + timedelta(hours=1)
    if purpose is not KeyPurpose.TOKENS:
        return None
    return utcnow() + MAX_LIFETIME + timedelta(minutes=1)
