"""What a rule says about a manifest."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import NamedTuple


class Severity(StrEnum):
    """`block` stops submission, `warn` must be ticked by a reviewer, `info` is for reading."""

    BLOCK = "block"
    WARN = "warn"
    INFO = "info"


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
class Finding:
    """One complaint, with its pointer into the document as its author wrote it."""

    rule: str
    severity: Severity
    pointer: str
    message: str
    remediation: str

    def as_dict(self) -> dict[str, str]:
        """The finding as it crosses the boundary."""
        return {**asdict(self), "severity": self.severity.value}


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
