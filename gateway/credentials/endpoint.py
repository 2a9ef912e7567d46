"""Asking a token endpoint: one form out, one judged token or one coded error back."""

from __future__ import annotations

import base64
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeGuard
from urllib.parse import quote, urlencode

from django.conf import settings

from contextos.core import base64url, strict_json
from contextos.core.errors import ContextOSError, coded_error
from contextos.net import EgressRule, OutboundClient, Response, Timeouts, open_client, parse_target
from gateway.credentials.signed import client_assertion
from gateway.credentials.tls import authority_context
from gateway.credentials.tokens import AccessToken, fresh_until
from gateway.endpoints import egress_environment
from gateway.models import AdapterCredential, ClientAuth

DEADLINE = 10.0
MOST_ANSWER = 256 * 1024
LONGEST_TOKEN = 32 * 1024
LONGEST_LIFETIME = 10 * 365 * 86_400
_TIMEOUTS = Timeouts(connect=3.0, read=8.0, write=3.0, pool=2.0)
_ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
_USABLE_TYPES = frozenset(
    f"urn:ietf:params:oauth:token-type:{name}" for name in ("access_token", "jwt")
)
_ERROR_WORD = re.compile(r"[a-z_]{1,40}")
_SECONDS = re.compile(r"[0-9]{1,15}")
_TOKEN_CHARS = re.compile(r"[\x21-\x7e]+")
_CODE_OF_ERROR = {
    "invalid_client": "credential.client_refused",
    "unauthorized_client": "credential.client_refused",
    "invalid_scope": "credential.scope_refused",
    "invalid_target": "credential.wrong_audience",
    "invalid_grant": "credential.grant_refused",
    "access_denied": "credential.grant_refused",
    "unsupported_grant_type": "credential.grant_refused",
    "temporarily_unavailable": "credential.endpoint_unreachable",
    "server_error": "credential.endpoint_unreachable",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Granted:
    """What a token endpoint gave; `asked_at` is on the monotonic clock."""

    access_token: str = field(repr=False)
    refresh_token: str | None = field(default=None, repr=False)
    scopes: tuple[str, ...]
    lifetime: float
    asked_at: float

    def as_token(self) -> AccessToken:
        """What a call may show, until shortly before it ends."""
        ends_at = fresh_until(self.lifetime, asked_at=self.asked_at)
        return AccessToken(value=self.access_token, scopes=self.scopes, ends_at=ends_at)


def request_token(
    row: AdapterCredential,
    form: Mapping[str, str],
    *,
    secret: str,
    scopes: tuple[str, ...],
    acceptable: frozenset[str] = frozenset(),
    patience: float = DEADLINE,
) -> Granted:
    """Ask for `scopes`, and take no token that is narrower, misdirected or without an end."""
    wanted = {"scope": " ".join(scopes)} if scopes else {}
    asked_at = time.monotonic()
    answer = post_form(
        row, row.token_endpoint, {**form, **wanted}, secret=secret, patience=patience
    )
    if answer.status != 200:
        raise _refusal(row, answer)
    return _judged(_read(answer), scopes=scopes, acceptable=acceptable, asked_at=asked_at)


def post_form(
    row: AdapterCredential, url: str, form: Mapping[str, str], *, secret: str, patience: float
) -> Response:
    """Send a form as this client; whatever fails on the way is a coded error of our own.

    The client's id stands in the form however it proves itself: servers made with the MCP SDK look
    for it there, and no other server minds.
    """
    body, headers = {**form, "client_id": row.client_id}, {"Accept": "application/json"}
    match row.client_auth:
        case ClientAuth.SIGNED:
            audience = row.issuer or row.token_endpoint
            body["client_assertion_type"] = _ASSERTION_TYPE
            body["client_assertion"] = client_assertion(row.client_id, audience=audience)
        case ClientAuth.POST:
            body["client_secret"] = secret
        case _:
            # A space as %20: whoever decodes forms reads that too, and some servers nothing else.
            pair = f"{quote(row.client_id, safe='')}:{quote(secret, safe='')}"
            headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
    headers["Content-Type"] = "application/x-www-form-urlencoded"
    try:
        return _client(row, url).request(
            "POST",
            url,
            headers=headers,
            content=urlencode(body).encode(),
            deadline=max(0.05, min(patience, DEADLINE)),
        )
    except ContextOSError as fault:
        raise _no_way(fault) from fault


def _client(row: AdapterCredential, url: str) -> OutboundClient:
    hosts = [parse_target(url).authority]
    return open_client(
        EgressRule.for_environment(egress_environment(row.environment), hosts),
        timeouts=_TIMEOUTS,
        max_bytes=MOST_ANSWER,
        proxy=settings.EGRESS_PROXY,
        tls=authority_context(row.authority) if row.authority else None,
    )


# --- what came back ------------------------------------------------------------------------------
def _read(answer: Response) -> Mapping[str, Any]:
    try:
        return strict_json.loads_object(answer.content)
    except ContextOSError as fault:
        raise coded_error("credential.answer_malformed") from fault


def _judged(
    body: Mapping[str, Any], *, scopes: tuple[str, ...], acceptable: frozenset[str], asked_at: float
) -> Granted:
    token = body.get("access_token")
    if not isinstance(token, str) or not 0 < len(token) <= LONGEST_TOKEN:
        raise coded_error("credential.answer_malformed", message="The answer holds no token.")
    if not _TOKEN_CHARS.fullmatch(token):
        raise coded_error("credential.answer_malformed", message="The token can't be sent.")
    if str(body.get("token_type", "")).lower() != "bearer":
        raise coded_error("credential.token_type")
    if body.get("issued_token_type") not in (None, *_USABLE_TYPES):  # RFC 8693: an id token, say
        raise coded_error("credential.token_type")
    granted = _granted(body.get("scope"), scopes)
    claims = _claims(token)
    lifetime = _lifetime(body.get("expires_in"), claims)
    _check_audience(claims, acceptable)
    refresh = body.get("refresh_token")
    return Granted(
        access_token=token,
        refresh_token=refresh if isinstance(refresh, str) and refresh else None,
        scopes=granted,
        lifetime=lifetime,
        asked_at=asked_at,
    )


def _granted(stated: Any, asked: tuple[str, ...]) -> tuple[str, ...]:
    """As the server says; it may leave it out only where it gave exactly what was asked."""
    if stated is None:
        return asked
    granted = tuple(sorted(set(stated.split()))) if isinstance(stated, str) else ()
    missing = sorted(set(asked) - set(granted))
    if missing:
        raise coded_error("credential.scope_narrowed", data={"missing_scopes": missing})
    return granted


def _lifetime(stated: Any, claims: Mapping[str, Any]) -> float:
    """Seconds, from the answer or from the token's own span: clocks need not agree.

    Bounded, since no clock and no calendar can hold what a server may claim.
    """
    if isinstance(stated, str) and _SECONDS.fullmatch(stated):
        stated = int(stated)
    if not _is_number(stated):
        ends, begins = claims.get("exp"), claims.get("iat", time.time())
        if not _is_number(ends) or not _is_number(begins):
            raise coded_error("credential.lifetime_unknown")
        stated = int(ends) - int(begins)
    if stated <= 0:
        raise coded_error("credential.token_expired")
    return float(min(stated, LONGEST_LIFETIME))


def _is_number(value: Any) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _claims(token: str) -> Mapping[str, Any]:
    """What a token says of itself where it is a JWT; unverified, so good for refusing only."""
    parts = token.split(".")
    if len(parts) != 3:
        return {}
    try:
        return strict_json.loads_object(base64url.decode(parts[1]))
    except (ValueError, ContextOSError):
        return {}


def _check_audience(claims: Mapping[str, Any], acceptable: frozenset[str]) -> None:
    stated = claims.get("aud")
    if stated is None or not acceptable:
        return
    named = stated if isinstance(stated, list) else [stated]
    if not any(isinstance(name, str) and name in acceptable for name in named):
        raise coded_error("credential.wrong_audience")


def _refusal(row: AdapterCredential, answer: Response) -> ContextOSError:
    """Why not, in one word of the protocol; free text of the server is not passed on."""
    host = parse_target(row.token_endpoint).host
    data: dict[str, Any] = {"host": host, "status": answer.status}
    if answer.status == 429 or answer.status >= 500:
        return coded_error("credential.endpoint_unreachable", data=data)
    word = _error_word(answer)
    if word:
        data["error"] = word
    usual = "credential.client_refused" if answer.status == 401 else "credential.answer_malformed"
    return coded_error(_CODE_OF_ERROR.get(word, usual), data=data)


def _error_word(answer: Response) -> str:
    try:
        stated = strict_json.loads_object(answer.content).get("error")
    except ContextOSError:
        return ""
    return stated if isinstance(stated, str) and _ERROR_WORD.fullmatch(stated) else ""


def _no_way(fault: ContextOSError) -> ContextOSError:
    code = "endpoint_unreachable" if fault.retryable else "endpoint_forbidden"
    if fault.code == "egress.too_large":
        code = "answer_malformed"
    return coded_error(
        f"credential.{code}",
        message=fault.message,
        data={"cause": fault.code, "host": fault.data.get("host")},
    )
