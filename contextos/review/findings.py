"""What an examination says about a document before people review it."""

from dataclasses import asdict, dataclass
from enum import StrEnum


class Severity(StrEnum):
    """`block` stops submission, `warn` must be ticked by a reviewer, `info` is for reading."""

    BLOCK = "block"
    WARN = "warn"
    INFO = "info"


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
