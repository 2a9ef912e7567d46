"""What each kind of credential needs, refused on entry rather than on the first call."""

from __future__ import annotations

import re
from collections.abc import Mapping

from contextos.core.errors import ContextOSError, coded_error
from contextos.net.messages import build_request
from contextos.net.signed_posts import check_address
from gateway.credentials.certificates import check_authority, read_certificate
from gateway.endpoints import egress_environment
from gateway.models import AdapterCredential, ClientAuth, CredentialKind

LONGEST_SECRET = 20_000
DEFAULT_HEADER = "X-API-Key"
_SENDABLE = re.compile(r"[\x21-\x7e]+")
_AT_ENDPOINT = ("token_endpoint", "client_id")
NEEDED: Mapping[str, tuple[str, ...]] = {
    CredentialKind.CLIENT_CREDENTIALS: _AT_ENDPOINT,
    CredentialKind.TOKEN_EXCHANGE: _AT_ENDPOINT,
    CredentialKind.AUTHORIZATION_CODE: (*_AT_ENDPOINT, "issuer", "authorization_endpoint"),
    CredentialKind.API_KEY: ("header_name",),
    CredentialKind.BEARER: (),
    CredentialKind.MTLS: (),
    CredentialKind.WORKLOAD_JWT: (),
}
_ENDPOINTS = ("token_endpoint", "authorization_endpoint", "revocation_endpoint")
OAUTH = frozenset(
    {
        CredentialKind.CLIENT_CREDENTIALS,
        CredentialKind.TOKEN_EXCHANGE,
        CredentialKind.AUTHORIZATION_CODE,
    }
)
# Which kinds convince a far side of which the manifest says this.
KINDS_OF_AUTH: Mapping[str, frozenset[str]] = {
    "oauth2": OAUTH | {CredentialKind.BEARER},
    "oidc": OAUTH | {CredentialKind.BEARER},
    "api_key": frozenset({CredentialKind.API_KEY, CredentialKind.BEARER}),
    "mtls": frozenset({CredentialKind.MTLS}),
    "workload_identity": frozenset({CredentialKind.WORKLOAD_JWT, CredentialKind.TOKEN_EXCHANGE}),
}


def has_secret(row: AdapterCredential) -> bool:
    """Whether somebody has to enter one."""
    if row.kind == CredentialKind.WORKLOAD_JWT:
        return False
    return row.kind not in OAUTH or row.client_auth != ClientAuth.SIGNED


def check_shape(row: AdapterCredential) -> None:
    """Everything its kind needs, and addresses that can be called from here."""
    for name in NEEDED[row.kind]:
        if not getattr(row, name):
            raise _invalid(f"This kind needs {name.replace('_', ' ')}.")
    for name in _ENDPOINTS:
        if getattr(row, name):
            _check_endpoint(row, name)
    if row.header_name:
        _check_header(row.header_name)
    if row.authority:
        check_authority(row.authority)


def check_secret(row: AdapterCredential, secret: str) -> None:
    """A secret that can be sent as its kind sends it."""
    if not has_secret(row):
        if secret:
            raise _invalid("This kind has no secret: ContextOS signs with its own key.")
        return
    if not secret:
        raise _invalid("This kind needs a secret.")
    if len(secret) > LONGEST_SECRET:
        raise _invalid(f"The secret is longer than {LONGEST_SECRET} characters.")
    if row.kind == CredentialKind.MTLS:
        read_certificate(secret)
    elif not _SENDABLE.fullmatch(secret):
        raise _invalid("The secret holds a space or a character that headers can't carry.")


def _check_endpoint(row: AdapterCredential, name: str) -> None:
    try:
        check_address(getattr(row, name), environment=egress_environment(row.environment))
    except ContextOSError as fault:
        raise _invalid(f"{name.replace('_', ' ').capitalize()}: {fault.message}") from fault


def _check_header(name: str) -> None:
    try:
        build_request("GET", "https://example.com/", headers={name: "x"}, content=None, json=None)
    except ContextOSError as fault:
        raise _invalid(fault.message) from fault


def _invalid(message: str) -> ContextOSError:
    return coded_error("credential.invalid", message=message)
