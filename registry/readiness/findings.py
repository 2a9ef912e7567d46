"""What a rule says about a manifest."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from contextos.review.findings import Finding as Finding
from contextos.review.findings import Severity as Severity


class Verdict(StrEnum):
    """`fail` when anything blocks."""

    PASS = "pass"  # noqa: S105 - a verdict, not a password
    FAIL = "fail"


class Complaint(NamedTuple):
    """What a rule function yields; the rule's own remediation serves where none is given."""

    pointer: str
    message: str
    remediation: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """Everything found in one manifest, in the order of the document."""

    findings: tuple[Finding, ...]

    @property
    def verdict(self) -> Verdict:
        blocked = any(finding.severity is Severity.BLOCK for finding in self.findings)
        return Verdict.FAIL if blocked else Verdict.PASS

    def of(self, severity: Severity) -> tuple[Finding, ...]:
        """The findings of one severity."""
        return tuple(finding for finding in self.findings if finding.severity is severity)

    def as_dict(self) -> dict[str, object]:
        """The report as `lint_manifest` and the API print it."""
        return {"verdict": self.verdict.value, "findings": _dicts(self.findings)}


def _dicts(findings: Iterable[Finding]) -> list[dict[str, str]]:
    return [finding.as_dict() for finding in findings]
