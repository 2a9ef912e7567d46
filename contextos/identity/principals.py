"""Who an API request speaks for, once its token has been verified."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from contextos.core.errors import coded_error
from contextos.core.events import Actor
from contextos.core.modes import ApprovalMode

PrincipalKind = Literal["agent", "user"]


@dataclass(frozen=True, slots=True)
class Principal:
    """An agent or a person in one tenant; stands as `request.user` in REST views.

    `scopes` narrows to capability ids (None = not narrowed); `max_mode` is the highest mode that
    token and agent both allow; `auth_ref` names the claims without holding them; `lent` says that
    another person issued the token, or an issuer that others entered, so that whoever holds it need
    not be the one it names.
    """

    kind: PrincipalKind
    id: str
    tenant_id: str
    display: str
    roles: tuple[str, ...]
    scopes: frozenset[str] | None
    max_mode: ApprovalMode
    token_id: str
    auth_ref: str
    issuer: str
    expires_at: datetime
    agent_urn: str = ""
    workload_identity: str = ""
    owner_id: str = ""
    lent: bool = False

    @property
    def is_authenticated(self) -> bool:
        """Always: without a verified token there is no principal."""
        return True

    @property
    def is_person(self) -> bool:
        """Whether a person, not an agent, is calling."""
        return self.kind == "user"

    @property
    def role(self) -> str:
        """The agent's role, or the weightiest role of the person."""
        return self.roles[0] if self.roles else ""

    def may_use(self, capability_id: str) -> bool:
        """Whether the token's own narrowing lets this capability through."""
        return self.scopes is None or capability_id in self.scopes

    def as_actor(self) -> Actor:
        """The same, as the log names it."""
        return Actor(kind=self.kind, id=self.id, tenant_id=self.tenant_id, display=self.display)


def principal_of(request: Any) -> Principal:
    """The caller of a REST request; raises 401 where none was authenticated."""
    caller = request.user
    if not isinstance(caller, Principal):
        raise coded_error("auth.missing")
    return caller
