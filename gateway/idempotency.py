"""Keys: whose they are, what they are bound to, and where they stand in the arguments (C9)."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Exists, OuterRef

from contextos.core.canonical import digest
from contextos.core.errors import coded_error
from contextos.core.idempotency_keys import key_fault
from contextos.core.randomness import random_bytes
from gateway.hashes import keyed_hash
from gateway.models import IdempotencyKey, ToolCall
from gateway.states import CALLS

MEMBER = "idempotency_key"
SALT_BYTES = 32


@dataclass(frozen=True, slots=True)
class KeyScope:
    """A key means something only to the caller who brought it, for one capability."""

    tenant_id: str
    agent_id: str
    user_id: str
    capability_id: str

    def hash_of(self, key: str) -> str:
        """Where the key is filed; the key itself is not kept."""
        return digest([self.tenant_id, self.agent_id, self.user_id, self.capability_id, key])


@dataclass(frozen=True, slots=True)
class SettledKey:
    """The key of a call and the arguments with the key at its place."""

    key: str | None
    args: dict[str, Any]


def settle_key(
    given: str | None, args: Mapping[str, Any], *, schema_has_member: bool
) -> SettledKey:
    """One key, whether it came at the top, in the arguments or both; two different are refused."""
    inside = args.get(MEMBER)
    if inside is not None and not isinstance(inside, str):
        return SettledKey(given, dict(args))  # the schema says what is wrong with it
    if given is not None and inside is not None and given != inside:
        raise coded_error(
            "idempotency.conflict",
            message="The key at the top and the key in the arguments differ.",
        )
    key = given if given is not None else inside
    fault = None if key is None else key_fault(key)
    if fault:
        raise coded_error("idempotency.malformed", message=fault)
    settled = dict(args)
    if key is not None and schema_has_member:
        settled[MEMBER] = key
    return SettledKey(key, settled)


def without_key(args: Mapping[str, Any]) -> dict[str, Any]:
    """What was asked for: a new key does not make a new request."""
    return {name: value for name, value in args.items() if name != MEMBER}


def forget_expired_keys(now: datetime) -> int:
    """Drop keys past their window, but never while nobody knows how their call ends."""
    open_calls = ToolCall.objects.filter(pk=OuterRef("tool_call_id")).exclude(
        state__in=CALLS.terminal
    )
    old = IdempotencyKey.objects.filter(~Exists(open_calls), expires_at__lte=now)
    return old.delete()[0]


def new_salt() -> bytes:
    """The salt of one key row; erasing it unlinks the fingerprint from the arguments."""
    return random_bytes(SALT_BYTES)


def fingerprint(salt: bytes, args: Mapping[str, Any]) -> str:
    """`sha256:<hex>`: the same arguments give the same value under the same salt."""
    return keyed_hash(salt, dict(args))


def same_fingerprint(stated: str, salt: bytes, args: Mapping[str, Any]) -> bool:
    """Whether a repeat brings the arguments that the key was first used with."""
    return hmac.compare_digest(stated, fingerprint(salt, args))
