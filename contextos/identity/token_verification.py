"""From a bearer token to a principal: our own tokens, and those of issuers a tenant trusts."""

from __future__ import annotations

from collections.abc import Callable

from contextos.core.errors import ContextOSError, coded_error
from contextos.core.tokens import UnverifiedToken, VerifiedToken, peek_token, verify_token
from contextos.identity import subjects
from contextos.identity.keyring import token_keys
from contextos.identity.models import TrustedIssuer
from contextos.identity.models.issuers import SubjectKind
from contextos.identity.models.tokens import TokenKind
from contextos.identity.outside_keys import issuer_keys
from contextos.identity.principals import Principal
from contextos.identity.seen_tokens import OWN_LEEWAY_SECONDS, SeenTokens
from contextos.identity.token_terms import AUDIENCE, TOKEN_TYPE, token_issuer

_MAX_ROWS = 20  # each costs a signature check, for anybody who asks

_seen = SeenTokens()

_OWN_SUBJECTS: dict[str, Callable[[VerifiedToken, str], Principal]] = {
    TokenKind.AGENT.value: subjects.own_agent,
    TokenKind.USER.value: subjects.own_person,
}
_OUTSIDE_SUBJECTS: dict[str, Callable[[VerifiedToken, str], Principal | None]] = {
    SubjectKind.AGENT.value: subjects.outside_agent,
    SubjectKind.USER.value: subjects.outside_person,
}


def verify_bearer(token: str) -> Principal:
    """Whom the token speaks for, or a coded `auth.*` error; ours cost one statement."""
    known = _seen.get(token)
    if known is not None:
        return _own_subject(known)
    claimed = peek_token(token)
    if claimed.issuer == token_issuer():
        return _own(token, claimed)
    return _outside(token, claimed)


def seen_agent_token(token: str) -> VerifiedToken | None:
    """What an agent's token of ours says whose signature was checked a moment ago; whether it and
    its agent still count has not been asked."""
    known = _seen.get(token)
    is_agents = known is not None and known.claims.get("kind") == TokenKind.AGENT.value
    return known if is_agents else None


def _own(token: str, claimed: UnverifiedToken) -> Principal:
    keys = token_keys(claimed.kid)
    verified = verify_token(
        token,
        keys=keys,
        issuer=token_issuer(),
        audience=AUDIENCE,
        algorithms=("EdDSA",),
        typ=TOKEN_TYPE,
        leeway=OWN_LEEWAY_SECONDS,
    )
    principal = _own_subject(verified)
    _seen.keep(token, verified, keys)
    return principal


def _own_subject(verified: VerifiedToken) -> Principal:
    find = _OWN_SUBJECTS.get(_text_claim(verified, "kind"))
    if find is None:
        raise coded_error("auth.wrong_type", message="This token is not for an agent or a person.")
    return find(verified, _text_claim(verified, "tenant_id"))


def _outside(token: str, claimed: UnverifiedToken) -> Principal:
    verified, refusal = _verified_by(_trusting_rows(claimed), token, claimed)
    if not verified:
        raise refusal or coded_error("auth.wrong_issuer")
    return _only_one(_principals(verified))


def _trusting_rows(claimed: UnverifiedToken) -> list[TrustedIssuer]:
    """The entries that could vouch for the token; its unverified claims only narrow them."""
    rows = TrustedIssuer.objects.filter(
        issuer=claimed.issuer or "", is_active=True, tenant__is_active=True
    )
    found = rows.filter(tenant_id=claimed.tenant_id) if claimed.tenant_id else rows
    few = list(found.order_by("pk")[: _MAX_ROWS + 1])
    if len(few) > _MAX_ROWS:
        raise coded_error("auth.tenant_needed")
    return few


def _verified_by(
    rows: list[TrustedIssuer], token: str, claimed: UnverifiedToken
) -> tuple[list[tuple[TrustedIssuer, VerifiedToken]], ContextOSError | None]:
    """The rows whose keys, audience and algorithms fit the token; else why the first does not."""
    fitting, refusal = [], None
    for row in rows:
        try:
            verified = verify_token(
                token,
                keys=issuer_keys(row, claimed.kid),
                issuer=row.issuer,
                audience=row.audience,
                algorithms=tuple(row.algorithms),
            )
        except ContextOSError as reason:
            refusal = refusal or reason
        else:
            fitting.append((row, verified))
    return fitting, refusal


def _principals(verified: list[tuple[TrustedIssuer, VerifiedToken]]) -> list[Principal]:
    found = []
    for row, token in verified:
        if token.claims.get("tenant_id", row.tenant_id) != row.tenant_id:
            continue
        if token.claims.get("kind", row.subject_kind) != row.subject_kind:
            continue
        principal = _OUTSIDE_SUBJECTS[row.subject_kind](token, row.tenant_id)
        if principal is not None:
            found.append(principal)
    return found


def _only_one(found: list[Principal]) -> Principal:
    if not found:
        raise coded_error("auth.subject_inactive")
    if len(found) > 1:
        raise coded_error("auth.tenant_needed")
    return found[0]


def _text_claim(token: VerifiedToken, name: str) -> str:
    value = token.claims.get(name)
    if not isinstance(value, str):
        raise coded_error("auth.claim_missing", data={"claims": name})
    return value
