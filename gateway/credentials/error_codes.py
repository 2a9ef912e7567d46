"""The error codes of credentials and consents; none of them repeats a secret or a token."""

from contextos.core.errors import ErrorKind, ErrorSpec, register

# Raised by a connector when the far side answers 401 : nothing was done.
REFUSED = "credential.refused"
CONSENT_NEEDED = "credential.consent_needed"

_BEFORE_LEAVING = (
    ErrorSpec(
        code="credential.missing",
        kind=ErrorKind.AUTH,
        http_status=502,
        title="The adapter has no credential in this environment",
        remediation="Have a platform admin add one under Credentials.",
    ),
    ErrorSpec(
        code="credential.kind_mismatch",
        kind=ErrorKind.AUTH,
        http_status=502,
        title="The credential is of a kind that the manifest does not ask for",
        remediation="Replace the credential by one of the kind that the manifest's auth names.",
    ),
    ErrorSpec(
        code="credential.unreadable",
        kind=ErrorKind.INTERNAL,
        http_status=500,
        title="The stored secret can't be opened",
        remediation="Put the field key it was stored under back, or rotate the credential.",
    ),
    ErrorSpec(
        code="credential.person_needed",
        kind=ErrorKind.AUTH,
        http_status=403,
        title="The adapter is called in a person's name and the call carries none",
        remediation="Open the run with X-User-Delegation of the person it is for.",
    ),
    ErrorSpec(
        code="credential.endpoint_unreachable",
        kind=ErrorKind.UPSTREAM,
        http_status=502,
        title="The token endpoint does not answer",
        remediation="Try again shortly; if it persists, check the authorization server.",
        retryable=True,
    ),
    ErrorSpec(
        code="credential.endpoint_forbidden",
        kind=ErrorKind.EGRESS,
        http_status=502,
        title="The token endpoint may not be called from here",
        remediation="Correct its address: https, a public host outside development.",
    ),
    ErrorSpec(
        code="credential.client_refused",
        kind=ErrorKind.AUTH,
        http_status=502,
        title="The authorization server does not accept our client",
        remediation="Check client id and secret under Credentials, and rotate the secret.",
    ),
    ErrorSpec(
        code="credential.grant_refused",
        kind=ErrorKind.AUTH,
        http_status=502,
        title="The authorization server refuses the grant",
        remediation="Have it allow this client the grant, or have the person consent again.",
    ),
    ErrorSpec(
        code="credential.scope_refused",
        kind=ErrorKind.AUTH,
        http_status=502,
        title="The authorization server refuses the scopes that the manifest names",
        remediation="Allow the client these scopes there, or correct the manifest.",
    ),
    ErrorSpec(
        code="credential.scope_narrowed",
        kind=ErrorKind.AUTH,
        http_status=502,
        title="Fewer scopes were granted than the capability needs",
        remediation="Allow the client the missing scopes at the authorization server.",
    ),
    ErrorSpec(
        code="credential.answer_malformed",
        kind=ErrorKind.UPSTREAM,
        http_status=502,
        title="The token endpoint's answer can't be read",
        remediation="Check that the address is a token endpoint and that it answers JSON.",
    ),
    ErrorSpec(
        code="credential.token_type",
        kind=ErrorKind.AUTH,
        http_status=502,
        title="The token is of a type that can't be used",
        remediation="Have the authorization server issue Bearer tokens to this client.",
    ),
    ErrorSpec(
        code="credential.lifetime_unknown",
        kind=ErrorKind.AUTH,
        http_status=502,
        title="The token does not say when it ends",
        remediation="Have the authorization server send expires_in with its tokens.",
    ),
    ErrorSpec(
        code="credential.token_expired",
        kind=ErrorKind.AUTH,
        http_status=502,
        title="The token had run out when it came",
        remediation="Check the lifetime of this client's tokens and the server's clock.",
    ),
    ErrorSpec(
        code="credential.wrong_audience",
        kind=ErrorKind.AUTH,
        http_status=502,
        title="The token is meant for somebody else",
        remediation="Compare resource and token_audience of the manifest with the server's.",
    ),
    ErrorSpec(
        code=CONSENT_NEEDED,
        kind=ErrorKind.SCOPE_STEP_UP,
        http_status=202,
        title="The person has to consent first",
        remediation="Send the person to the address in details.consent_url; then wait.",
    ),
)
HARMLESS_CODES = frozenset(
    {spec.code for spec in _BEFORE_LEAVING} | {REFUSED, "signing.key_missing"}
)

register(
    *_BEFORE_LEAVING,
    ErrorSpec(
        code=REFUSED,
        kind=ErrorKind.AUTH,
        http_status=502,
        title="The far side refuses our credential",
        remediation="Rotate the credential, or have the far side allow it again.",
    ),
    ErrorSpec(
        code="credential.taken",
        kind=ErrorKind.PROTOCOL,
        http_status=409,
        title="There is a credential for this place already",
        remediation="Rotate the one there is, or revoke it first.",
    ),
    ErrorSpec(
        code="credential.invalid",
        kind=ErrorKind.VALIDATION,
        http_status=422,
        title="The credential can't be kept as it is",
        remediation="Correct what the message names.",
    ),
    ErrorSpec(
        code="credential.revoked",
        kind=ErrorKind.PROTOCOL,
        http_status=409,
        title="The credential has been revoked",
        remediation="Add a new one.",
    ),
    ErrorSpec(
        code="consent.declined",
        kind=ErrorKind.AUTH,
        http_status=403,
        title="The person did not consent",
        remediation="Ask them, and call again with a new key if they change their mind.",
    ),
    ErrorSpec(
        code="consent.expired",
        kind=ErrorKind.AUTH,
        http_status=403,
        title="Nobody consented in time",
        remediation="Call again with a new key when the person is there.",
    ),
    ErrorSpec(
        code="consent.voided",
        kind=ErrorKind.POLICY,
        http_status=403,
        title="The call may not run any more by the time consent came",
        remediation="Read what has changed, and call again if it is still wanted.",
    ),
    ErrorSpec(
        code="consent.state_unknown",
        kind=ErrorKind.AUTH,
        http_status=403,
        title="This answer belongs to no consent that you began in this browser",
        remediation="Open the consent page again and start from there.",
    ),
    ErrorSpec(
        code="consent.state_used",
        kind=ErrorKind.AUTH,
        http_status=409,
        title="This answer has been used before",
        remediation="Nothing is left to do; look at the call, or start again.",
    ),
    ErrorSpec(
        code="consent.state_stale",
        kind=ErrorKind.AUTH,
        http_status=403,
        title="The answer came too late",
        remediation="Open the consent page again and start from there.",
    ),
    ErrorSpec(
        code="consent.wrong_issuer",
        kind=ErrorKind.AUTH,
        http_status=403,
        title="The answer came from another authorization server than the one asked",
        remediation="Tell a platform admin: the issuer of the credential may be wrong.",
    ),
    ErrorSpec(
        code="consent.not_waiting",
        kind=ErrorKind.PROTOCOL,
        http_status=409,
        title="Nothing waits for this consent any more",
        remediation="Look at the call; it has ended or gone on.",
    ),
    ErrorSpec(
        code="consent.server_said_no",
        kind=ErrorKind.UPSTREAM,
        http_status=502,
        title="The authorization server could not do it",
        remediation="Try again shortly; if it persists, tell a platform admin.",
        retryable=True,
    ),
    ErrorSpec(
        code="consent.already_revoked",
        kind=ErrorKind.PROTOCOL,
        http_status=409,
        title="The consent has been taken back before",
        remediation="Nothing is left to do.",
    ),
)
