"""One exception for each thing a caller handles differently; every one carries the answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from .reading import Json
from .types import ToolError, ToolResult
from .vocabulary import ErrorKind


@dataclass(frozen=True, slots=True)
class Facts:
    """What the answer said: nothing at all when no answer came."""

    http_status: int | None = None
    error: ToolError | None = None
    result: ToolResult | None = None  # the envelope, when it was an answer to a tool call
    retry_after: float | None = None  # seconds, of the Retry-After header
    traceparent: str | None = None
    raw: Json = field(default_factory=dict, repr=False)


class ContextOSError(Exception):
    """Nothing was returned; which subclass it is says what to do about it."""

    def __init__(self, message: str, facts: Facts | None = None) -> None:
        super().__init__(message, facts)
        self.message = message
        self.facts = facts or Facts()

    def __str__(self) -> str:
        return f"{self.code}: {self.message}" if self.code else self.message

    @property
    def http_status(self) -> int | None:
        """The HTTP status, or None when no answer came."""
        return self.facts.http_status

    @property
    def result(self) -> ToolResult | None:
        """The result envelope, when the answer was one."""
        return self.facts.result

    @property
    def code(self) -> str:
        """The stable code of the error catalogue; empty when no answer came."""
        return self.facts.error.code if self.facts.error else ""

    @property
    def kind(self) -> ErrorKind | None:
        """Who or what said no."""
        return self.facts.error.kind if self.facts.error else None

    @property
    def remediation(self) -> str:
        """What to do next, in a sentence."""
        return self.facts.error.remediation if self.facts.error else ""

    @property
    def retryable(self) -> bool:
        """Whether the gateway says that the same call may succeed later."""
        return self.facts.error.retryable if self.facts.error else False

    @property
    def retry_after(self) -> float | None:
        """Seconds to wait before another try, if the gateway said so."""
        error = self.facts.error
        said = (self.facts.retry_after, error.retry_after if error else None)
        return max((wait for wait in said if wait is not None), default=None)

    @property
    def traceparent(self) -> str | None:
        """The trace to quote to the operators."""
        return self.facts.traceparent


class NotAccepted(ContextOSError):
    """401: the token is missing, expired, revoked or not ours. Get a new one."""


class Refused(ContextOSError):
    """403, 404: refused, or not there for this run. Don't repeat it; plan something else."""


class InvalidCall(ContextOSError):
    """400, 422 and other faults of the request. Correct it; the same key may be used again
    unless the code is `idempotency.conflict`."""


class KeyInFlight(ContextOSError):
    """409 `idempotency.in_flight`: this key is being executed. Repeat later with the same key."""


class WrongState(ContextOSError):
    """409: too late or too early, such as cancelling a call that has ended. Look at the call."""


class TooMany(ContextOSError):
    """429: rate, budget or loop guard. Wait `retry_after` seconds, or open a new run."""


class Unavailable(ContextOSError):
    """503 and other faults of the gateway. Nothing was started on a 503; a write may be
    repeated with the same key and with no other."""


class Unreachable(ContextOSError):
    """No answer, or none that can be understood. A write may have happened: repeat it with
    the same key, and only with that, to learn what became of it."""


_BY_STATUS: Mapping[int, type[ContextOSError]] = MappingProxyType(
    {
        401: NotAccepted,
        403: Refused,
        404: Refused,
        409: WrongState,
        429: TooMany,
    }
)


def exception_for(http_status: int, code: str) -> type[ContextOSError]:
    """The exception for an answer of 400 and above."""
    if code == "idempotency.in_flight":
        return KeyInFlight
    return _BY_STATUS.get(http_status, InvalidCall if http_status < 500 else Unavailable)
