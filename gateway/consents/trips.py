"""The trip of a person's browser to the authorization server and back (RFC 6749, 7636, 9207)."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from urllib.parse import urlencode

from django.conf import settings
from django.db import transaction
from django.urls import reverse

from audit.services import record_event
from contextos.core import base64url
from contextos.core.clock import utcnow
from contextos.core.errors import coded_error
from contextos.identity.access import roles_of
from contextos.identity.actors import person
from contextos.identity.models import User
from gateway.consents.resuming import answered_alike, consent_decided, settle
from gateway.consents.services import grant_consent
from gateway.credentials.endpoint import Granted
from gateway.credentials.keeping import open_text, seal_text, verifier_context
from gateway.credentials.overlap import token_with_either_secret
from gateway.models import ConsentRequest, ConsentState, ToolCall
from gateway.states import CallState

LIFETIME = timedelta(minutes=10)
_DECLINED_THERE = "access_denied"


@dataclass(frozen=True, slots=True)
class Traveller:
    """Who is on the way: the signed-in person and the mark of the browser they began in."""

    user: User
    browser: str = field(repr=False)

    def is_addressed(self, request: ConsentRequest) -> bool:
        """Whether this very person is asked, and still works where the call was made."""
        mine = self.user.user_id == request.user_id
        return mine and bool(roles_of(self.user, request.tenant_id))


def redirect_uri() -> str:
    """The one address answers may come to; registered at the server letter by letter."""
    return f"{settings.PUBLIC_URL}{reverse('admin:gateway_consent_back')}"


def own_request(request_id: str, traveller: Traveller) -> ConsentRequest | None:
    """The request, for the very person it is addressed to."""
    rows = ConsentRequest.objects.select_related("credential").filter(pk=request_id)
    request = rows.first()
    return request if request is not None and traveller.is_addressed(request) else None


def begin_trip(request: ConsentRequest, traveller: Traveller) -> str:
    """Where to send the browser. Beginning again makes an earlier trip worthless."""
    _require_waiting(request)
    state, verifier = secrets.token_urlsafe(32), secrets.token_urlsafe(48)
    rows = ConsentRequest.objects.filter(pk=request.pk, state=ConsentState.PENDING)
    rows.update(
        state_hash=_hash(state),
        browser_hash=_hash(traveller.browser),
        sealed_verifier=seal_text(verifier, verifier_context(request)),
        trip_ends_at=utcnow() + LIFETIME,
        trip_used_at=None,
    )
    row = request.credential
    query = {
        "response_type": "code",
        "client_id": row.client_id,
        "redirect_uri": redirect_uri(),
        "state": state,
        "code_challenge": base64url.encode(hashlib.sha256(verifier.encode()).digest()),
        "code_challenge_method": "S256",
        **({"scope": " ".join(request.scopes)} if request.scopes else {}),
        **({"resource": request.resource} if request.resource else {}),
    }
    joint = "&" if "?" in row.authorization_endpoint else "?"
    return f"{row.authorization_endpoint}{joint}{urlencode(query)}"


def finish_trip(answer: Mapping[str, str], traveller: Traveller) -> ConsentRequest:
    """Take the server's answer: every check first, then the code for tokens, then the calls."""
    request = _returned(answer.get("state", ""), traveller)
    _check_issuer(request, answer.get("iss"))
    if answer.get("error"):
        return _declined_there(request, answer["error"], traveller)
    granted = _redeemed(request, answer.get("code", ""))
    with transaction.atomic():
        consent = grant_consent(
            request=request, granted=granted, actor=person(traveller.user, request.tenant_id)
        )
        answered = answered_alike(consent)
    for one in answered:
        consent_decided(one)
    return request


def decline(request: ConsentRequest, traveller: Traveller) -> None:
    """The person says no: the call ends, and says why."""
    with transaction.atomic():
        if not settle(request, ConsentState.DECLINED):
            raise coded_error("consent.not_waiting")
        record_event(
            tenant_id=request.tenant_id,
            action="consent.declined",
            actor=person(traveller.user, request.tenant_id),
            subject_kind="consent_request",
            subject_id=request.pk,
            data={"tool_call_id": request.tool_call_id, "scopes": list(request.scopes)},
        )
    consent_decided(request)


def _require_waiting(request: ConsentRequest) -> None:
    calls = ToolCall.objects.filter(pk=request.tool_call_id, state=CallState.PAUSED)
    expired = utcnow() >= request.expires_at
    if request.state != ConsentState.PENDING or expired or not calls.exists():
        raise coded_error("consent.not_waiting")


def _returned(state: str, traveller: Traveller) -> ConsentRequest:
    """The trip that this state belongs to, used up now; foreign and unknown look alike."""
    rows = ConsentRequest.objects.select_related("credential")
    request = rows.filter(state_hash=_hash(state)).first() if state else None
    if request is None or request.browser_hash != _hash(traveller.browser):
        raise coded_error("consent.state_unknown")
    if not traveller.is_addressed(request):
        raise coded_error("consent.state_unknown")
    if request.trip_used_at is not None:
        raise coded_error("consent.state_used")
    now = utcnow()
    unused = ConsentRequest.objects.filter(pk=request.pk, trip_used_at__isnull=True)
    if not unused.filter(state_hash=_hash(state)).update(trip_used_at=now):
        raise coded_error("consent.state_used")
    if request.trip_ends_at is None or now >= request.trip_ends_at:
        raise coded_error("consent.state_stale")
    _require_waiting(request)
    return request


def _check_issuer(request: ConsentRequest, issuer: str | None) -> None:
    """RFC 9207: an answer of another server would hand it our code."""
    row = request.credential
    if issuer != row.issuer and (issuer is not None or row.sends_issuer):
        raise coded_error("consent.wrong_issuer")


def _declined_there(request: ConsentRequest, word: str, traveller: Traveller) -> ConsentRequest:
    if word != _DECLINED_THERE:
        raise coded_error("consent.server_said_no")
    decline(request, traveller)
    return request


def _redeemed(request: ConsentRequest, code: str) -> Granted:
    if not code or request.sealed_verifier is None:
        raise coded_error("consent.state_unknown")
    row = request.credential
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": redirect_uri(),
        "code_verifier": open_text(bytes(request.sealed_verifier), verifier_context(request)),
        **({"resource": request.resource} if request.resource else {}),
    }
    acceptable = frozenset({*request.audiences, *([request.resource] if request.resource else [])})
    return token_with_either_secret(row, form, scopes=tuple(request.scopes), acceptable=acceptable)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
