"""Bearer authentication for REST, and the person an agent acts for."""

from __future__ import annotations

from django.http import HttpRequest
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request

from contextos.core.errors import ContextOSError, coded_error
from contextos.core.tokens import VerifiedToken
from contextos.identity.principals import Principal, principal_of
from contextos.identity.token_verification import seen_agent_token, verify_bearer

_DELEGATION = "HTTP_X_USER_DELEGATION"


class BearerAuthentication(BaseAuthentication):
    """`Authorization: Bearer <token>` -> `request.user` is a `Principal`."""

    def authenticate(self, request: Request) -> tuple[Principal, str] | None:
        """The principal and its auth_ref; None without a header: the permission then says 401."""
        principal = bearer_of(request)
        return None if principal is None else (principal, principal.auth_ref)

    def authenticate_header(self, request: Request) -> str:
        """The challenge; its presence makes the answer 401 rather than 403."""
        return 'Bearer realm="contextos"'


def bearer_of(request: HttpRequest | Request) -> Principal | None:
    """Whom the bearer token speaks for; None where none was sent."""
    header = request.META.get("HTTP_AUTHORIZATION")
    return None if header is None else verify_bearer(_bearer_token(header))


def seen_agent_of(request: HttpRequest) -> VerifiedToken | None:
    """The agent's own token that stands alone in the request, where it was checked a moment ago;
    whether it still counts has not been asked."""
    header = request.META.get("HTTP_AUTHORIZATION")
    if header is None or _DELEGATION in request.META:
        return None
    try:
        return seen_agent_token(_bearer_token(header))
    except ContextOSError:
        return None


def read_delegation(request: HttpRequest | Request) -> Principal | None:
    """The person in whose name the caller acts; a person's token, of the caller's tenant."""
    header = request.META.get(_DELEGATION)
    if header is None:
        return None
    person = verify_bearer(header.strip())
    if not person.is_person:
        raise coded_error("auth.person_needed")
    if person.tenant_id != principal_of(request).tenant_id:
        raise coded_error("auth.tenant_mismatch")
    return person


def _bearer_token(header: str) -> str:
    scheme, _, token = header.strip().partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise coded_error("auth.malformed")
    return token.strip()
