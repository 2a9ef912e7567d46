"""The refusals of a review."""

from contextos.core.errors import ErrorKind, ErrorSpec, register

register(
    ErrorSpec(
        "review.author_cannot_approve",
        ErrorKind.POLICY,
        403,
        "Nobody approves what they wrote",
        "Ask somebody who did not edit this version to review it.",
    ),
    ErrorSpec(
        "review.already_decided",
        ErrorKind.POLICY,
        409,
        "This reviewer has already decided on this version",
        "A decision stands; further thoughts go into a comment.",
    ),
    ErrorSpec(
        "review.blocked_by_findings",
        ErrorKind.VALIDATION,
        422,
        "Blocking findings stop the submission",
        "Fix every blocking finding, save, and submit again.",
    ),
    ErrorSpec(
        "review.warnings_not_ticked",
        ErrorKind.VALIDATION,
        422,
        "Every warning has to be accepted one by one",
        "Read each warning and send its id in accepted_warnings, or ask for changes.",
    ),
    ErrorSpec(
        "review.reason_missing",
        ErrorKind.VALIDATION,
        422,
        "A reason is needed",
        "Say in a sentence why; the author and the auditors will read it.",
    ),
    ErrorSpec(
        "review.stale_digest",
        ErrorKind.POLICY,
        409,
        "The document is not the one that was shown",
        "Load the page again and review what is there now.",
    ),
    ErrorSpec(
        "review.not_reviewer",
        ErrorKind.POLICY,
        403,
        "Reviewing is not among this person's roles here",
        "Ask a platform admin of the tenant for one of the roles that review.",
    ),
)
