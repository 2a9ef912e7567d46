"""The error codes of the Merkle log."""

from contextos.core.errors import ErrorKind, ErrorSpec, register

register(
    ErrorSpec(
        code="log.range_invalid",
        kind=ErrorKind.VALIDATION,
        http_status=400,
        title="No such range of the log",
        remediation="Ask for an index below the size, and for a consistency from the smaller size.",
    ),
    ErrorSpec(
        code="log.check_running",
        kind=ErrorKind.VALIDATION,
        http_status=409,
        title="The log is being checked already",
        remediation="Wait until that check has ended; its result stands on the page of the log.",
    ),
    ErrorSpec(
        code="log.not_sealed",
        kind=ErrorKind.VALIDATION,
        http_status=404,
        title="The log has not grown that far",
        remediation="Ask for log/checkpoint and use its size; new rows are sealed within a second.",
    ),
    ErrorSpec(
        code="log.pending",
        kind=ErrorKind.VALIDATION,
        http_status=409,
        title="The rows of this decision are not sealed yet",
        remediation="Ask again in a second; a log that stays behind is told to the operators.",
        retryable=True,
    ),
    ErrorSpec(
        code="log.damaged",
        kind=ErrorKind.INTERNAL,
        http_status=500,
        title="The log lacks hashes that it had",
        remediation="Treat the database as tampered with: run `manage.py verify_log`.",
    ),
    ErrorSpec(
        code="log.rewritten",
        kind=ErrorKind.INTERNAL,
        http_status=500,
        title="The log is not the one that was signed",
        remediation="Nothing more is sealed here. Run `manage.py verify_log`, restore the newest "
        "backup, and keep the checkpoints outside the database as evidence.",
    ),
    ErrorSpec(
        code="checkpoint.malformed",
        kind=ErrorKind.VALIDATION,
        http_status=400,
        title="This is no checkpoint",
        remediation="Pass the text of log/checkpoint exactly as it was answered.",
    ),
    ErrorSpec(
        code="checkpoint.not_kept",
        kind=ErrorKind.INTERNAL,
        http_status=500,
        title="A checkpoint could not be written outside the database",
        remediation="Free space or set the folder's permissions; it is tried again by itself.",
        retryable=True,
    ),
)
