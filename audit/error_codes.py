"""The error codes that belong to the log and its stores."""

from contextos.core.errors import ErrorKind, ErrorSpec, register

register(
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
)
