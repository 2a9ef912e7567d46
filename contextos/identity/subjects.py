"""From a subject and a tenant to a principal: one statement, and nothing but current rows count."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from django.db.models import Case, CharField, F, OuterRef, Q, Subquery, Value, When

from contextos.core.canonical import digest
from contextos.core.clock import format_time
from contextos.core.errors import ContextOSError, coded_error
from contextos.core.modes import ApprovalMode, lowest
from contextos.core.tokens import VerifiedToken
from contextos.fixed_query import FixedQuery
from contextos.identity.access import last_term_ended
from contextos.identity.models import Agent, IssuedToken, Membership
from contextos.identity.models.tokens import TokenKind
from contextos.identity.principals import Principal
from contextos.identity.roles import ordered

_REVOKED = "revoked"
_ISSUED = "issued"
_LENT = "lent"  # by one person, to speak as another
_PERSON = "user_"  # how the ids of people begin
_AGENT_FACTS = (
    "agent_id",
    "tenant_id",
    "name",
    "role",
    "max_mode",
    "agent_urn",
    "workload_identity",
    "is_active",
    "tenant__is_active",
    "owner__user_id",
)
AGENT_COLUMNS = (*_AGENT_FACTS, "token_state")


def own_agent(token: VerifiedToken, tenant_id: str) -> Principal:
    """The agent of a token we issued, with the token's row checked in the same statement."""
    row = _OWN_AGENT.row(subject=token.subject, tenant_id=tenant_id, token_id=token.token_id)
    if row is None:
        raise coded_error("auth.subject_inactive")
    return agent_in(row, token)


def agent_in(row: Sequence[Any], token: VerifiedToken) -> Principal:
    """The agent that a row of `own_agent_rows` says, if it and its token still count."""
    facts = dict(zip(AGENT_COLUMNS, row, strict=True))
    _require_issued(facts["token_state"])
    return _agent_principal(facts, token)


def own_agent_rows(*, subject: str, tenant_id: str, token_id: str) -> Any:
    """The agent of a token and how the token stands, as `AGENT_COLUMNS`."""
    state = _token_state(token_id, TokenKind.AGENT, subject="agent_id")
    rows = Agent.objects.filter(agent_id=subject, tenant_id=tenant_id)
    return rows.annotate(token_state=state).order_by().values_list(*AGENT_COLUMNS)


def own_person(token: VerifiedToken, tenant_id: str) -> Principal:
    """The person of a token we issued, with the token's row checked in the same statement."""
    state = _token_state(token.token_id, TokenKind.USER, subject="user__user_id")
    rows = list(_memberships(token.subject, tenant_id).annotate(token_state=state))
    if not rows:
        raise _not_current(token.subject, tenant_id)
    _require_issued(rows[0].token_state)
    return _person_principal(rows, token, lent=rows[0].token_state == _LENT)


def _not_current(user_id: str, tenant_id: str) -> ContextOSError:
    """Somebody whose time is over is told so; of all others only that they may not act here."""
    ended = last_term_ended(user_id, tenant_id)
    if ended is None:
        return coded_error("auth.subject_inactive")
    message = f"Your access ended on {ended:%Y-%m-%d at %H:%M} UTC."
    return coded_error("auth.access_ended", message=message, data={"ended_at": format_time(ended)})


def outside_agent(token: VerifiedToken, tenant_id: str) -> Principal | None:
    """The agent that an outside issuer names by id, URN or workload identity."""
    named = (
        Q(agent_id=token.subject) | Q(agent_urn=token.subject) | Q(workload_identity=token.subject)
    )
    found = list(Agent.objects.filter(named, tenant_id=tenant_id).values(*_AGENT_FACTS)[:2])
    # Two agents under one name would make the caller's identity a matter of chance.
    return _agent_principal(found[0], token) if len(found) == 1 else None


def outside_person(token: VerifiedToken, tenant_id: str) -> Principal | None:
    """The person that an outside issuer names by user id.

    Lent: whoever entered the issuer and its keys could speak as everybody, and decide alone.
    """
    rows = list(_memberships(token.subject, tenant_id))
    return _person_principal(rows, token, lent=True) if rows else None


def _memberships(user_id: str, tenant_id: str) -> Any:
    rows = Membership.objects.current().filter(user__user_id=user_id, tenant_id=tenant_id)
    return rows.select_related("user", "role").order_by("pk")


def _token_state(token_id: str, kind: TokenKind, *, subject: str) -> Subquery:
    state = Case(
        When(revoked_at__isnull=False, then=Value(_REVOKED)),
        When(Q(issued_by__startswith=_PERSON) & ~Q(issued_by=F("subject")), then=Value(_LENT)),
        default=Value(_ISSUED),
        output_field=CharField(),
    )
    rows = IssuedToken.objects.filter(
        pk=token_id, kind=kind, tenant_id=OuterRef("tenant_id"), subject=OuterRef(subject)
    )
    return Subquery(rows.annotate(verdict=state).values("verdict")[:1])


def _require_issued(state: str | None) -> None:
    # A token that verifies but has no row was signed by a stolen key, or its row is gone.
    if state not in {_ISSUED, _LENT}:
        raise coded_error("auth.revoked")


def _agent_principal(facts: Mapping[str, Any], token: VerifiedToken) -> Principal:
    if not (facts["is_active"] and facts["tenant__is_active"]):
        raise coded_error("auth.subject_inactive")
    return Principal(
        kind="agent",
        id=facts["agent_id"],
        display=facts["name"],
        tenant_id=facts["tenant_id"],
        roles=(facts["role"],),
        max_mode=lowest([ApprovalMode(facts["max_mode"]), _claimed_mode(token)]),
        agent_urn=facts["agent_urn"],
        workload_identity=facts["workload_identity"],
        owner_id=facts["owner__user_id"],
        **_from_token(token),
    )


def _person_principal(
    memberships: Sequence[Membership], token: VerifiedToken, *, lent: bool
) -> Principal:
    user = memberships[0].user
    return Principal(
        kind="user",
        id=user.user_id,
        display=user.username,
        tenant_id=memberships[0].tenant_id,
        roles=ordered(membership.role.name for membership in memberships),
        max_mode=_claimed_mode(token),
        lent=lent,
        **_from_token(token),
    )


@lru_cache(maxsize=4096)
def _from_token(token: VerifiedToken) -> Mapping[str, Any]:
    return {
        "scopes": _claimed_scopes(token),
        "token_id": token.token_id,
        "auth_ref": f"claim_hash:{digest(dict(token.claims))}",
        "issuer": token.issuer,
        "expires_at": datetime.fromtimestamp(token.claims["exp"], UTC),
    }


def _claimed_mode(token: VerifiedToken) -> ApprovalMode:
    claimed = token.claims.get("max_mode")
    if claimed is None:
        return ApprovalMode.DESTRUCTIVE  # not narrowed here; agents are bounded by their row
    if claimed not in list(ApprovalMode):
        raise coded_error("auth.claim_invalid", data={"claim": "max_mode"})
    return ApprovalMode(claimed)


def _claimed_scopes(token: VerifiedToken) -> frozenset[str] | None:
    claimed = token.claims.get("scopes")
    if claimed is None:
        return None
    if not isinstance(claimed, list) or not all(isinstance(name, str) for name in claimed):
        raise coded_error("auth.claim_invalid", data={"claim": "scopes"})
    return frozenset(claimed)


_OWN_AGENT = FixedQuery(own_agent_rows, "subject", "tenant_id", "token_id")
