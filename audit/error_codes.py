"""The error codes that belong to the log and its stores."""

from contextos.core.errors import ErrorKind, ErrorSpec, register

register(
    ErrorSpec(
        code="report.unknown",
        kind=ErrorKind.VALIDATION,
        http_status=404,
        title="There is no report of that name",
        remediation="Choose one of the standing reports.",
    ),
    ErrorSpec(
        code="artefact.missing",
        kind=ErrorKind.INTERNAL,
        http_status=500,
        title="A stored document is not there",
        remediation="Restore it from a backup; nothing that refers to it can run meanwhile.",
    ),
    ErrorSpec(
        code="artefact.tampered",
        kind=ErrorKind.INTERNAL,
        http_status=500,
        title="A stored document is not what its digest says",
        remediation="Treat the database as tampered with; restore the document from a backup.",
    ),
    ErrorSpec(
        code="payload.missing",
        kind=ErrorKind.INTERNAL,
        http_status=500,
        title="A stored value is not there",
        remediation="Restore it from a backup; the proofs that name it are still valid.",
    ),
    ErrorSpec(
        code="payload.erased",
        kind=ErrorKind.POLICY,
        http_status=410,
        title="The value was erased",
        remediation="Only its commitment remains; ask the data protection officer why.",
    ),
    ErrorSpec(
        code="auditor.access_ended",
        kind=ErrorKind.AUTH,
        http_status=403,
        title="The access as an auditor has ended",
        remediation="Ask a platform admin of the tenant for a new access.",
    ),
    ErrorSpec(
        code="auditor.access_missing",
        kind=ErrorKind.AUTH,
        http_status=403,
        title="You are an auditor here, but nobody has said yet what you may read",
        remediation="Ask a platform admin of the tenant to grant you an access: for how long, "
        "which period of records, how confidential.",
    ),
    ErrorSpec(
        code="auditor.access_not_begun",
        kind=ErrorKind.AUTH,
        http_status=403,
        title="The access as an auditor has not begun",
        remediation="Come back when it begins, or ask a platform admin to change the dates.",
    ),
    ErrorSpec(
        code="auditor.outside_window",
        kind=ErrorKind.AUTH,
        http_status=403,
        title="This lies outside the period that your access covers",
        remediation="Ask a platform admin of the tenant whether the period should be wider.",
    ),
    ErrorSpec(
        code="auditor.clearance_needed",
        kind=ErrorKind.AUTH,
        http_status=403,
        title="This needs a higher clearance than your access gives",
        remediation="Ask a platform admin of the tenant whether the clearance should be higher.",
    ),
    ErrorSpec(
        code="auditor.reads_only",
        kind=ErrorKind.AUTH,
        http_status=403,
        title="Auditors read and change nothing",
        remediation="Tell those who run the tenant what you found; they can act on it.",
    ),
    ErrorSpec(
        code="auditor.term_invalid",
        kind=ErrorKind.VALIDATION,
        http_status=422,
        title="An access ends after it begins, and in the future",
        remediation="Check the dates; all are in UTC.",
    ),
    ErrorSpec(
        code="records.filter_invalid",
        kind=ErrorKind.PROTOCOL,
        http_status=400,
        title="A filter can't be read",
        remediation="Correct the parameter that the answer names; the API description lists all.",
    ),
    ErrorSpec(
        code="records.unknown",
        kind=ErrorKind.POLICY,
        http_status=404,
        title="There is no such decision here",
        remediation="Check the decision id; records of another tenant can't be read.",
    ),
    ErrorSpec(
        code="records.search_unnamed",
        kind=ErrorKind.VALIDATION,
        http_status=422,
        title="A search needs a name",
        remediation="Give it one by which you find it again.",
    ),
    ErrorSpec(
        code="records.searches_full",
        kind=ErrorKind.VALIDATION,
        http_status=422,
        title="There are too many kept searches",
        remediation="Forget one first.",
    ),
)
