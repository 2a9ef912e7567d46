"""Who is calling: an agent, perhaps in a person's name; the chain every record carries (C6)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from rest_framework.request import Request

from contextos.core.envelopes import PrincipalKind, PrincipalRef, check_principal_chain
from contextos.core.errors import coded_error
from contextos.core.modes import ApprovalMode, lowest
from contextos.identity.authentication import read_delegation
from contextos.identity.principals import Principal, principal_of


@dataclass(frozen=True, slots=True)
class Caller:
    """An agent and, where it acts for somebody, that person. Both from verified tokens only."""

    agent: Principal
    user: Principal | None

    @property
    def tenant_id(self) -> str:
        """The one tenant both belong to."""
        return self.agent.tenant_id

    @property
    def user_id(self) -> str:
        """The person's id; empty when nobody delegated."""
        return self.user.id if self.user else ""

    @property
    def columns(self) -> dict[str, str]:
        """The columns by which what is this very caller's is found."""
        return {"tenant_id": self.tenant_id, "agent_id": self.agent.id, "user_id": self.user_id}

    @property
    def max_mode(self) -> ApprovalMode:
        """The highest mode that every token sent carries."""
        return lowest(principal.max_mode for principal in (self.agent, self.user) if principal)

    def may_use(self, capability_id: str) -> bool:
        """Whether no token sent is narrowed to other capabilities.

        The scopes of a person's token from elsewhere are an issuer's own words, for policy to read.
        """
        person = self.user if self.user and self.user.issuer == settings.TOKEN_ISSUER else None
        return self.agent.may_use(capability_id) and (not person or person.may_use(capability_id))

    @property
    def chain(self) -> tuple[PrincipalRef, ...]:
        """Outermost first: on whose behalf, then through whom."""
        links = [_link(PrincipalKind.USER, self.user)] if self.user else []
        return check_principal_chain([*links, _link(PrincipalKind.AGENT, self.agent)])

    def agent_facts(self) -> dict[str, Any]:
        """The `agent` member of a RunContext."""
        return {
            "agent_id": self.agent.id,
            "agent_urn": self.agent.agent_urn or None,
            "workload_identity": self.agent.workload_identity or None,
            "role": self.agent.role,
        }

    def user_facts(self) -> dict[str, Any] | None:
        """The `user` member of a RunContext."""
        if self.user is None:
            return None
        own = self.user.issuer == settings.TOKEN_ISSUER
        delegation = {
            "auth_type": "service" if own else "oidc",
            "scopes": sorted(self.user.scopes) if self.user.scopes is not None else [],
            "subject": self.user.id,
            "token_ref": self.user.token_id,
        }
        return {"user_id": self.user.id, "delegation": delegation, "role": self.user.role}


def _link(kind: PrincipalKind, principal: Principal) -> PrincipalRef:
    return PrincipalRef(
        kind=kind,
        id=principal.id,
        tenant_id=principal.tenant_id,
        display=principal.display or None,
    )


def caller_of(request: HttpRequest | Request) -> Caller:
    """The caller of a gateway request; a person alone can't act, an agent has to."""
    agent = principal_of(request)
    if agent.is_person:
        raise coded_error("run.agent_needed")
    return Caller(agent, read_delegation(request))


def require_agreement(claimed: Any, actual: Mapping[str, Any] | None, *, member: str) -> None:
    """Refuse a body that says something else, or more, than the tokens do."""
    if claimed is None:
        return
    if actual is None or not _agrees(claimed, actual):
        raise coded_error("run.claim_exceeds_token", data={"member": member})


def _agrees(claimed: Any, actual: Any) -> bool:
    if isinstance(claimed, Mapping):
        return isinstance(actual, Mapping) and all(
            name in actual and _agrees(value, actual[name]) for name, value in claimed.items()
        )
    if isinstance(claimed, list):
        return isinstance(actual, list) and all(item in actual for item in claimed)
    return bool(claimed == actual)
