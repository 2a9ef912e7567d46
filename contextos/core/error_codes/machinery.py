"""Codes for the network door and for cryptography."""

from contextos.core.error_kinds import ErrorKind as Kind
from contextos.core.error_kinds import ErrorSpec

_FIX_ENDPOINT = "Correct the adapter's endpoint, or have its network rules reviewed."

EGRESS_CODES = (
    ErrorSpec(
        code="egress.url_invalid",
        kind=Kind.EGRESS,
        http_status=422,
        title="The address is not a usable http(s) URL",
        remediation=_FIX_ENDPOINT,
    ),
    ErrorSpec(
        code="egress.host_not_allowed",
        kind=Kind.EGRESS,
        http_status=403,
        title="The host is not on the allow-list",
        remediation="Add the host to the adapter's allow-list and have it reviewed.",
    ),
    ErrorSpec(
        code="egress.private_address",
        kind=Kind.EGRESS,
        http_status=403,
        title="The host resolves to an address that may not be reached",
        remediation=_FIX_ENDPOINT,
    ),
    ErrorSpec(
        code="egress.https_required",
        kind=Kind.EGRESS,
        http_status=403,
        title="Only https is allowed in this environment",
        remediation="Serve the endpoint over https.",
    ),
    ErrorSpec(
        code="egress.redirect_refused",
        kind=Kind.EGRESS,
        http_status=502,
        title="The host redirects, and redirects are not followed here",
        remediation="Point the endpoint at the final address.",
    ),
    ErrorSpec(
        code="egress.too_large",
        kind=Kind.EGRESS,
        http_status=502,
        title="The answer is larger than allowed",
        remediation="Ask the host for less at a time.",
    ),
    ErrorSpec(
        code="egress.deadline",
        kind=Kind.TIMEOUT,
        http_status=504,
        title="The host did not answer in full within the time allowed",
        remediation="Try again later, or have the capability's timeout reviewed.",
        retryable=True,
    ),
    ErrorSpec(
        code="egress.unresolvable",
        kind=Kind.EGRESS,
        http_status=502,
        title="The host name has no address",
        remediation=_FIX_ENDPOINT,
        retryable=True,
    ),
    ErrorSpec(
        code="egress.connect_failed",
        kind=Kind.UPSTREAM,
        http_status=502,
        title="No connection to the host could be made",
        remediation="Check that the host is up and reachable from here, then try again.",
        retryable=True,
    ),
    ErrorSpec(
        code="egress.tls",
        kind=Kind.UPSTREAM,
        http_status=502,
        title="The host's TLS certificate or handshake is not acceptable",
        remediation="Have the host present a valid certificate for its name.",
    ),
    ErrorSpec(
        code="egress.proxy",
        kind=Kind.EGRESS,
        http_status=502,
        title="The egress proxy refused or could not be reached",
        remediation="Check CONTEXTOS_EGRESS_PROXY and the proxy's own rules.",
        retryable=True,
    ),
    ErrorSpec(
        code="egress.protocol",
        kind=Kind.UPSTREAM,
        http_status=502,
        title="The host broke the HTTP protocol or cut the answer short",
        remediation="Report it to the adapter's owner; try again later.",
        retryable=True,
    ),
)

CRYPTO_CODES = (
    ErrorSpec(
        code="signing.key_missing",
        kind=Kind.INTERNAL,
        http_status=503,
        title="There is no signing key for this purpose",
        remediation="Create one with `manage.py rotate_keys`, and check CONTEXTOS_KEYS_DIR.",
    ),
    ErrorSpec(
        code="signing.key_unknown",
        kind=Kind.VALIDATION,
        http_status=404,
        title="There is no such key",
        remediation="Name a kid that stands in the folder of the purpose in CONTEXTOS_KEYS_DIR.",
    ),
    ErrorSpec(
        code="signing.key_active",
        kind=Kind.VALIDATION,
        http_status=409,
        title="The key is the one that signs now",
        remediation="Rotate the purpose first, then revoke the key that was rotated out.",
    ),
    ErrorSpec(
        code="signing.key_exposed",
        kind=Kind.INTERNAL,
        http_status=503,
        title="A private key can be read or replaced by other users of the machine",
        remediation="Set key files to mode 0600 and their folder to 0700, then rotate the key.",
    ),
    ErrorSpec(
        code="signing.key_invalid",
        kind=Kind.INTERNAL,
        http_status=503,
        title="A key file can't be read as the key it is named for",
        remediation="Restore the key folder from backup, or rotate the key.",
    ),
    ErrorSpec(
        code="jwks.malformed",
        kind=Kind.VALIDATION,
        http_status=422,
        title="The key set can't be used",
        remediation="Give a JWK set with public Ed25519, P-256 or RSA (2048 bits) signing keys.",
    ),
    ErrorSpec(
        code="signature.malformed",
        kind=Kind.VALIDATION,
        http_status=422,
        title="The signature envelope can't be read",
        remediation="Send a DSSE envelope with payload, payloadType and signatures.",
    ),
    ErrorSpec(
        code="signature.invalid",
        kind=Kind.VALIDATION,
        http_status=422,
        title="Too few signatures by trusted keys match",
        remediation="Treat the content as tampered with; fetch it again from its source.",
    ),
    ErrorSpec(
        code="field_key.invalid",
        kind=Kind.INTERNAL,
        http_status=503,
        title="A field encryption key is missing or too short",
        remediation="Set CONTEXTOS_FIELD_KEYS to random keys of 32 bytes or more, newest first.",
    ),
    ErrorSpec(
        code="field.undecryptable",
        kind=Kind.INTERNAL,
        http_status=503,
        title="A stored secret can't be decrypted",
        remediation="Put the key that encrypted it back into CONTEXTOS_FIELD_KEYS.",
    ),
)
