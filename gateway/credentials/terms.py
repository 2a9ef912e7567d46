"""What the reviewed manifest says about being let in, for one capability (C7)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from gateway.attempts import Attempt

NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """Who wants to be let in where, for what; everything but the credential itself."""

    tenant_id: str
    environment: str
    adapter_id: str
    capability_id: str
    auth_type: str
    scopes: tuple[str, ...]
    resource: str | None
    audiences: tuple[str, ...]
    agent_id: str
    user_id: str
    deadline_at: datetime

    @property
    def audience(self) -> str | None:
        """The one name that records and requests carry."""
        return self.audiences[0] if self.audiences else self.resource

    @property
    def acceptable(self) -> frozenset[str]:
        """Names under which a token may say whom it is meant for."""
        return frozenset({*self.audiences, *([self.resource] if self.resource else [])})


def ask_of(attempt: Attempt) -> Ask | None:
    """What this call asks for; None where the manifest says that nobody is asked."""
    call = attempt.call
    return ask_by(
        attempt.capability.manifest,
        tenant_id=call.tenant_id,
        environment=attempt.environment,
        adapter_id=call.adapter_id,
        capability_id=call.capability_id,
        agent_id=call.agent_id,
        user_id=call.user_id,
        deadline_at=call.deadline_at or call.created_at,
    )


def ask_by(manifest: Mapping[str, Any], *, capability_id: str, **who: Any) -> Ask | None:
    """The terms of this manifest; without a capability they are those of every read."""
    auth = manifest.get("auth") or {}
    if auth.get("type", NONE) == NONE:
        return None
    return Ask(
        capability_id=capability_id,
        auth_type=str(auth["type"]),
        scopes=scopes_for(auth, capability_id),
        resource=str(auth["resource"]) if auth.get("resource") else None,
        audiences=_audiences(auth.get("token_audience")),
        **who,
    )


def scopes_for(auth: Mapping[str, Any], capability_id: str) -> tuple[str, ...]:
    """The initial ones, and the step-up scopes of this very capability and of no other."""
    extra = (auth.get("step_up_scopes") or {}).get(capability_id) or []
    return tuple(sorted({*(auth.get("initial_scopes") or []), *extra}))


def _audiences(stated: Any) -> tuple[str, ...]:
    if isinstance(stated, str):
        return (stated,)
    return tuple(str(item) for item in stated or ())
