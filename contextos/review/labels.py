"""What states, verdicts and severities look like on pages."""

from __future__ import annotations

from django.utils.safestring import SafeString

from contextos.adminkit.display import Tone, badge
from contextos.review.findings import Severity
from contextos.review.states import Verdict, VersionState

STATE_TONES: dict[str, Tone] = {
    VersionState.DRAFT: "neutral",
    VersionState.IN_REVIEW: "info",
    VersionState.CHANGES_REQUESTED: "warning",
    VersionState.REJECTED: "danger",
    VersionState.APPROVED: "info",
    VersionState.PUBLISHED: "success",
    VersionState.DEPRECATED: "warning",
    VersionState.RETIRED: "neutral",
}
VERDICT_TONES: dict[str, Tone] = {
    Verdict.APPROVE: "success",
    Verdict.REJECT: "danger",
    Verdict.REQUEST_CHANGES: "warning",
    Verdict.COMMENT: "neutral",
}
SEVERITIES: dict[str, tuple[str, Tone]] = {
    Severity.BLOCK.value: ("blocks", "danger"),
    Severity.WARN.value: ("warning", "warning"),
    Severity.INFO.value: ("note", "info"),
}


def state_badge(state: str) -> SafeString:
    """Where a version stands."""
    label = VersionState(state).label if state in VersionState.values else state
    return badge(str(label), STATE_TONES.get(state, "neutral"))


def verdict_badge(verdict: str) -> SafeString:
    """What a reviewer said."""
    label = Verdict(verdict).label if verdict in Verdict.values else verdict
    return badge(str(label), VERDICT_TONES.get(verdict, "neutral"))


def severity_badge(severity: str) -> SafeString:
    """What a finding does to the version."""
    return badge(*SEVERITIES.get(severity, (severity, "neutral")))
