"""The error codes that belong to figures and to corrected modes."""

from contextos.core.errors import ErrorKind, ErrorSpec, register

register(
    ErrorSpec(
        code="figures.range_invalid",
        kind=ErrorKind.VALIDATION,
        http_status=422,
        title="Figures can't be had for this range",
        remediation="Give from and to as RFC 3339 times, from before to, at most 366 days apart.",
    ),
    ErrorSpec(
        code="mode_correction.reason_missing",
        kind=ErrorKind.VALIDATION,
        http_status=422,
        title="Correcting a mode needs a reason",
        remediation="Say in ten characters or more what the call really did.",
    ),
    ErrorSpec(
        code="mode_correction.same",
        kind=ErrorKind.VALIDATION,
        http_status=422,
        title="That is the mode the capability declares",
        remediation="Choose the mode that fits what the call did, or leave it as it is.",
    ),
    ErrorSpec(
        code="mode_correction.not_called",
        kind=ErrorKind.VALIDATION,
        http_status=409,
        title="The tool was not called",
        remediation="Only what a tool really did can contradict its mode: wait for the call's end.",
    ),
    ErrorSpec(
        code="mode_correction.exists",
        kind=ErrorKind.VALIDATION,
        http_status=409,
        title="The mode of this call was corrected already",
        remediation="Read who did and why under What happened. A correction is a record: it stays.",
    ),
)
