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
    ErrorSpec(
        "manifest.version_malformed",
        ErrorKind.VALIDATION,
        422,
        "The version is not a semantic version",
        "Use MAJOR.MINOR.PATCH such as 1.2.0, or leave it out and one is assigned.",
    ),
    ErrorSpec(
        "document.id_malformed",
        ErrorKind.VALIDATION,
        422,
        "The document names no usable id",
        "Use at most 200 letters, digits, dots, dashes and underscores, such as support_refund.",
    ),
    ErrorSpec(
        "document.id_mismatch",
        ErrorKind.VALIDATION,
        422,
        "The document is another one than the address names",
        "Use the id of the address you send it to, or send it to its own address.",
    ),
    ErrorSpec(
        "document.version_taken",
        ErrorKind.POLICY,
        409,
        "This version number exists already",
        "A version is never edited: choose the next number, or leave it out.",
    ),
    ErrorSpec(
        "document.version_mismatch",
        ErrorKind.VALIDATION,
        422,
        "The document names another version than the draft it should replace",
        "Leave the version out, or make a new version with that number.",
    ),
    ErrorSpec(
        "document.changed_meanwhile",
        ErrorKind.POLICY,
        412,
        "Somebody else has edited this draft since you loaded it",
        "Load the draft again, bring your changes in, and send it with its new ETag.",
    ),
    ErrorSpec(
        "document.not_a_draft",
        ErrorKind.POLICY,
        409,
        "Only a draft can be edited",
        "Create a new version with your changes.",
    ),
)
