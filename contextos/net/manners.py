"""What a protocol above the asynchronous door decides of each request, and what it learns of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from contextos.core.errors import ContextOSError
from contextos.net.exchange import Exchange


@dataclass(slots=True)
class AsyncExchange(Exchange):
    """One request's clock, its secret headers, and what is known of the other side."""

    max_bytes: int = 0
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    status: int | None = None
    retry_after: str = ""
    challenge: str = field(default="", repr=False)  # WWW-Authenticate
    fault: ContextOSError | None = None


@dataclass(frozen=True, slots=True)
class LocalAnswer:
    """An answer that never crossed the network."""

    status: int
    content: bytes = b""
    content_type: str = "application/json"


@dataclass(frozen=True, slots=True)
class Departure:
    """The exchange a request runs under, and headers of this request alone."""

    exchange: AsyncExchange
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


class Manners(Protocol):
    """What the protocol above decides: the terms of each request, and how it learns of failure."""

    def departs(
        self, method: str, headers: Mapping[str, str], content: bytes
    ) -> Departure | LocalAnswer:
        """The terms this request leaves under, or the answer that saves it the way."""

    def stands_in(self, content: bytes, fault: ContextOSError) -> LocalAnswer | None:
        """What the library is told instead of an exception; None lets the exception through."""
