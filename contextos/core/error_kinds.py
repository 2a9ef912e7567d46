"""The vocabulary of failure: the kinds a caller can branch on, and what every code declares."""

import re
from dataclasses import dataclass
from enum import StrEnum

_CODE = re.compile(r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)+")


class ErrorKind(StrEnum):
    """Who or what said no. The values are part of the published contract."""

    PROTOCOL = "protocol"
    VALIDATION = "validation"
    POLICY = "policy"
    APPROVAL = "approval"
    AUTH = "auth"
    SCOPE_STEP_UP = "scope_step_up"
    INPUT = "input"
    IDEMPOTENCY = "idempotency"
    RATE_LIMITED = "rate_limited"
    BUDGET = "budget"
    TIMEOUT = "timeout"
    UPSTREAM = "upstream"
    EGRESS = "egress"
    DRIFT = "drift"
    CIRCUIT_OPEN = "circuit_open"
    INTERNAL = "internal"


@dataclass(frozen=True, slots=True)
class ErrorSpec:
    """One row of the error catalogue: everything about a code that never varies."""

    code: str
    kind: ErrorKind
    http_status: int
    title: str
    remediation: str
    retryable: bool = False

    def __post_init__(self) -> None:
        if not _CODE.fullmatch(self.code):
            raise ValueError(f"error code {self.code!r} is not of the form noun.problem")
        if not 200 <= self.http_status <= 599:
            raise ValueError(f"{self.code}: {self.http_status} is not an HTTP status")
        if not self.title or not self.remediation:
            raise ValueError(f"{self.code}: a title and a remediation are required")
