"""The error codes of streams to a SIEM."""

from contextos.core.errors import ErrorKind, ErrorSpec, register

register(
    ErrorSpec(
        code="siem.stream_invalid",
        kind=ErrorKind.VALIDATION,
        http_status=422,
        title="The stream can't be kept as entered",
        remediation="Give a webhook's https address, or host:port of a syslog receiver.",
    ),
    ErrorSpec(
        code="siem.reason_missing",
        kind=ErrorKind.VALIDATION,
        http_status=422,
        title="This needs a reason",
        remediation="Say in a few words why.",
    ),
    ErrorSpec(
        code="siem.already_paused",
        kind=ErrorKind.VALIDATION,
        http_status=409,
        title="The stream is paused already",
        remediation="Resume it to go on where it stands.",
    ),
    ErrorSpec(
        code="siem.not_paused",
        kind=ErrorKind.VALIDATION,
        http_status=409,
        title="The stream is not paused",
        remediation="Nothing is to be done: it sends.",
    ),
    ErrorSpec(
        code="siem.index_invalid",
        kind=ErrorKind.VALIDATION,
        http_status=422,
        title="The stream has not come that far",
        remediation="Give a place in the log from 0 to where the stream stands.",
    ),
)
