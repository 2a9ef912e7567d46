"""The door's own error codes, and the one way to build an error without leaking a secret."""

from typing import Any

from contextos.core.errors import ContextOSError, ErrorKind, ErrorSpec, coded_error, register

NET_CODES = (
    ErrorSpec(
        code="egress.request_invalid",
        kind=ErrorKind.EGRESS,
        http_status=422,
        title="The request can't be sent as it is",
        remediation="Fix the method, headers or body the connector builds for this call.",
    ),
    ErrorSpec(
        code="egress.rule_invalid",
        kind=ErrorKind.EGRESS,
        http_status=422,
        title="The egress rule can't be read",
        remediation="List hosts as name, name:port, address or *.suffix.",
    ),
    ErrorSpec(
        code="egress.proxy_invalid",
        kind=ErrorKind.EGRESS,
        http_status=500,
        title="The egress proxy setting can't be read",
        remediation="Set CONTEXTOS_EGRESS_PROXY to http://host:port or leave it empty.",
    ),
    ErrorSpec(
        code="egress.proxy_only",
        kind=ErrorKind.EGRESS,
        http_status=422,
        title="Everything leaves through the egress proxy, and this does not pass it",
        remediation="Send it as a webhook over https, or run without CONTEXTOS_EGRESS_PROXY.",
    ),
    ErrorSpec(
        code="delivery.refused",
        kind=ErrorKind.UPSTREAM,
        http_status=502,
        title="The receiver did not take the message",
        remediation="Look into the receiver's log: it has to answer with a status of 200 to 299.",
        retryable=True,
    ),
    ErrorSpec(
        code="delivery.secret_weak",
        kind=ErrorKind.VALIDATION,
        http_status=422,
        title="The signing secret can't be used",
        remediation="Give at least 32 random characters, or whsec_ and base64.",
    ),
)
register(*NET_CODES)


def failure(code: str, message: str, **data: Any) -> ContextOSError:
    """An error of the door. Messages name hosts and addresses, never paths, queries or headers."""
    return coded_error(code, message=message, data=data)
