"""The error codes that belong to the REST base itself."""

from contextos.core.errors import ErrorKind, ErrorSpec, register

register(
    ErrorSpec(
        code="validation.failed",
        kind=ErrorKind.VALIDATION,
        http_status=422,
        title="Some fields are not acceptable",
        remediation="Correct the fields listed under `details` and send the request again.",
    ),
    ErrorSpec(
        code="request.length_missing",
        kind=ErrorKind.PROTOCOL,
        http_status=411,
        title="The body does not say how long it is",
        remediation="Send the body whole, with `Content-Length`, instead of in chunks.",
    ),
    ErrorSpec(
        code="cursor.invalid",
        kind=ErrorKind.PROTOCOL,
        http_status=400,
        title="The cursor does not belong to this list",
        remediation="Send `next` of the previous page unchanged, or start without a cursor.",
    ),
    ErrorSpec(
        code="service.crowded",
        kind=ErrorKind.INTERNAL,
        http_status=503,
        title="More callers are waiting than can be served soon",
        remediation="Wait for the time in Retry-After, then send the same request again.",
        retryable=True,
    ),
    ErrorSpec(
        code="service.unavailable",
        kind=ErrorKind.INTERNAL,
        http_status=503,
        title="The service can't reach its database right now",
        remediation="Wait for the time in Retry-After, then send the same request again.",
        retryable=True,
    ),
)
