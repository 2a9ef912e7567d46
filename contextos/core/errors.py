"""Coded errors: one exception, one catalogue of codes, one mapping to HTTP and to envelopes."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from contextos.core.error_codes import CORE_CODES
from contextos.core.error_kinds import ErrorKind, ErrorSpec

__all__ = [
    "PROBLEM_CONTENT_TYPE",
    "ContextOSError",
    "ErrorKind",
    "ErrorSpec",
    "catalogue",
    "coded_error",
    "http_status",
    "problem",
    "register",
    "spec_for",
    "tool_error",
]

PROBLEM_CONTENT_TYPE = "application/problem+json"

# For codes an adapter declares in its own manifest: they are not in our catalogue.
_STATUS_BY_KIND: Mapping[ErrorKind, int] = MappingProxyType(
    {
        ErrorKind.PROTOCOL: 400,
        ErrorKind.VALIDATION: 422,
        ErrorKind.POLICY: 403,
        ErrorKind.APPROVAL: 403,
        ErrorKind.AUTH: 401,
        ErrorKind.SCOPE_STEP_UP: 403,
        ErrorKind.INPUT: 422,
        ErrorKind.IDEMPOTENCY: 409,
        ErrorKind.RATE_LIMITED: 429,
        ErrorKind.BUDGET: 429,
        ErrorKind.TIMEOUT: 504,
        ErrorKind.UPSTREAM: 502,
        ErrorKind.EGRESS: 502,
        ErrorKind.DRIFT: 503,
        ErrorKind.CIRCUIT_OPEN: 503,
        ErrorKind.INTERNAL: 500,
    }
)

_catalogue: dict[str, ErrorSpec] = {}


class ContextOSError(Exception):
    """A failure the caller can act on; build it with `coded_error` wherever a code is ours."""

    def __init__(
        self,
        *,
        kind: ErrorKind,
        code: str,
        message: str,
        retryable: bool,
        remediation: str,
        data: Mapping[str, Any] | None = None,
        retry_after_ms: int | None = None,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.code = code
        self.message = message
        self.retryable = retryable
        self.remediation = remediation
        self.data: Mapping[str, Any] = MappingProxyType(dict(data or {}))
        self.retry_after_ms = retry_after_ms

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"

    def __reduce__(self) -> tuple[Any, ...]:
        # Exceptions cross process borders by pickle, which can't pass keyword arguments.
        return _rebuild, (
            {
                "kind": self.kind,
                "code": self.code,
                "message": self.message,
                "retryable": self.retryable,
                "remediation": self.remediation,
                "data": dict(self.data),
                "retry_after_ms": self.retry_after_ms,
            },
        )


def _rebuild(fields: dict[str, Any]) -> ContextOSError:
    return ContextOSError(**fields)


def register(*specs: ErrorSpec) -> None:
    """Add codes to the catalogue; a code can be declared only once, in one place."""
    for spec in specs:
        if spec.code in _catalogue:
            raise ValueError(f"error code {spec.code!r} is declared twice")
        _catalogue[spec.code] = spec


def catalogue() -> tuple[ErrorSpec, ...]:
    """Every declared code, sorted, so that the documentation is generated from it."""
    return tuple(_catalogue[code] for code in sorted(_catalogue))


def spec_for(code: str) -> ErrorSpec:
    """The declaration of a code; asking for an undeclared one is a programming error."""
    try:
        return _catalogue[code]
    except KeyError:
        raise LookupError(f"error code {code!r} is not in the catalogue") from None


def coded_error(
    code: str,
    *,
    message: str | None = None,
    data: Mapping[str, Any] | None = None,
    remediation: str | None = None,
    retry_after_ms: int | None = None,
) -> ContextOSError:
    """The error for a declared code; text not given is taken from the catalogue."""
    spec = spec_for(code)
    return ContextOSError(
        kind=spec.kind,
        code=code,
        message=message or f"{spec.title}.",
        retryable=spec.retryable,
        remediation=remediation or spec.remediation,
        data=data,
        retry_after_ms=retry_after_ms,
    )


def http_status(error: ContextOSError) -> int:
    """The one place where an error becomes an HTTP status."""
    spec = _catalogue.get(error.code)
    return spec.http_status if spec else _STATUS_BY_KIND[error.kind]


def problem(error: ContextOSError, *, instance: str | None = None) -> dict[str, Any]:
    """RFC 9457 problem details, for every error outside a tool call."""
    spec = _catalogue.get(error.code)
    body: dict[str, Any] = {
        "type": f"urn:contextos:error:{error.code}",
        "title": spec.title if spec else error.kind.value,
        "status": http_status(error),
        "detail": error.message,
    }
    if instance is not None:
        body["instance"] = instance
    return body | {name: value for name, value in tool_error(error).items() if name != "message"}


def tool_error(error: ContextOSError) -> dict[str, Any]:
    """The `error` member of a tool result envelope."""
    body: dict[str, Any] = {
        "kind": error.kind.value,
        "code": error.code,
        "message": error.message,
        "retryable": error.retryable,
        "remediation": error.remediation,
    }
    if error.retry_after_ms is not None:
        body["retry_after_ms"] = error.retry_after_ms
    if error.data:
        body["details"] = dict(error.data)
    return body


register(*CORE_CODES)
