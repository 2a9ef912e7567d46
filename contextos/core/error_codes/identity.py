"""Codes for who is calling: tokens, second factor, principals."""

from contextos.core.error_kinds import ErrorKind as Kind
from contextos.core.error_kinds import ErrorSpec

_SIGN_IN_AGAIN = "Get a new token from the issuer and send it as `Authorization: Bearer <token>`."

AUTH_CODES = (
    ErrorSpec(
        code="auth.missing",
        kind=Kind.AUTH,
        http_status=401,
        title="The request carries no credentials",
        remediation=_SIGN_IN_AGAIN,
    ),
    ErrorSpec(
        code="auth.malformed",
        kind=Kind.AUTH,
        http_status=401,
        title="The token can't be read",
        remediation=_SIGN_IN_AGAIN,
    ),
    ErrorSpec(
        code="auth.algorithm",
        kind=Kind.AUTH,
        http_status=401,
        title="The token is signed with an algorithm that is not accepted",
        remediation="Sign tokens with EdDSA, ES256 or RS256, as agreed for the issuer.",
    ),
    ErrorSpec(
        code="auth.unknown_key",
        kind=Kind.AUTH,
        http_status=401,
        title="The token names a key that is not trusted",
        remediation="Check that the issuer's current keys are registered, then get a new token.",
    ),
    ErrorSpec(
        code="auth.bad_signature",
        kind=Kind.AUTH,
        http_status=401,
        title="The token's signature does not match",
        remediation=_SIGN_IN_AGAIN,
    ),
    ErrorSpec(
        code="auth.claim_missing",
        kind=Kind.AUTH,
        http_status=401,
        title="The token lacks a claim that is always required",
        remediation="Issue tokens with iss, sub, aud, exp, iat and jti.",
    ),
    ErrorSpec(
        code="auth.claim_invalid",
        kind=Kind.AUTH,
        http_status=401,
        title="The token holds a claim of the wrong type",
        remediation="Issue tokens whose claims follow RFC 7519.",
    ),
    ErrorSpec(
        code="auth.wrong_type",
        kind=Kind.AUTH,
        http_status=401,
        title="The token is of another type than this service takes",
        remediation="Send the kind of token that this path asks for.",
    ),
    ErrorSpec(
        code="auth.expired",
        kind=Kind.AUTH,
        http_status=401,
        title="The token has expired",
        remediation=_SIGN_IN_AGAIN,
    ),
    ErrorSpec(
        code="auth.not_yet_valid",
        kind=Kind.AUTH,
        http_status=401,
        title="The token is not valid yet",
        remediation="Check the clocks of the issuer and of this service, then get a new token.",
    ),
    ErrorSpec(
        code="auth.wrong_audience",
        kind=Kind.AUTH,
        http_status=401,
        title="The token was issued for another service",
        remediation="Ask the issuer for a token whose audience is this service.",
    ),
    ErrorSpec(
        code="auth.wrong_issuer",
        kind=Kind.AUTH,
        http_status=401,
        title="The token comes from an issuer that is not trusted",
        remediation="Have the issuer registered under Trusted issuers, or use another one.",
    ),
    ErrorSpec(
        code="auth.revoked",
        kind=Kind.AUTH,
        http_status=401,
        title="The token has been revoked",
        remediation=_SIGN_IN_AGAIN,
    ),
    ErrorSpec(
        code="auth.tenant_mismatch",
        kind=Kind.AUTH,
        http_status=403,
        title="The token belongs to another tenant",
        remediation="Use a token of the tenant you are addressing.",
    ),
    ErrorSpec(
        code="auth.scope",
        kind=Kind.AUTH,
        http_status=403,
        title="The token does not carry the scope this needs",
        remediation="Ask for a token with the scope named in the error.",
    ),
    ErrorSpec(
        code="otp.required",
        kind=Kind.AUTH,
        http_status=403,
        title="This step needs your second factor",
        remediation="Repeat the request with the six digits from your authenticator.",
    ),
    ErrorSpec(
        code="otp.invalid",
        kind=Kind.AUTH,
        http_status=403,
        title="The one-time code is wrong or was already used",
        remediation="Wait for the next code in your authenticator and send that.",
    ),
)
