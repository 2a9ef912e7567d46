"""What every connector takes and gives; protocol details never leave its folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """One attempt: what to call, with what, until when. Carries no token of the caller."""

    tool_call_id: str
    tenant_id: str
    environment: str
    capability_id: str
    binding: str
    args: Mapping[str, Any]
    deadline_at: datetime
    attempt: int
    idempotency_key: str | None = None
    traceparent: str = ""
    baggage: Mapping[str, str] = field(default_factory=dict)
    transport: Mapping[str, Any] = field(default_factory=dict)
    should_stop: Callable[[], bool] | None = None  # asked now and then while waiting


class ReplyKind(StrEnum):
    """How an attempt came back."""

    OUTPUT = "output"
    TOOL_ERROR = "tool_error"  # the tool said no, in its own words
    WORKING = "working"
    INPUT_REQUIRED = "input_required"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a connector brings back; failures of the way there are ContextOSErrors instead."""

    kind: ReplyKind
    output: Any = None
    error: Mapping[str, Any] | None = None  # code, message, retryable, remediation
    task: Mapping[str, Any] | None = None  # opaque handle, poll_after_ms
    input_request: Mapping[str, Any] | None = None
    upstream_status: str | None = None
    cost_cents: int | None = None
    server: Mapping[str, Any] | None = None
    egress: Mapping[str, Any] | None = None


class Connector(Protocol):
    """A protocol. `invoke` may be repeated only where the caller knows it is safe."""

    def invoke(self, call: Invocation) -> Reply:
        """Make the call and wait for the first answer."""

    def poll(self, call: Invocation, task: Mapping[str, Any]) -> Reply:
        """Ask how long-running work stands."""

    def cancel(self, call: Invocation, task: Mapping[str, Any] | None) -> None:
        """Ask the far side to stop; what it then answers is a poll's business."""

    def give_input(
        self, call: Invocation, task: Mapping[str, Any], answer: Mapping[str, Any]
    ) -> Reply:
        """Pass on what a person answered."""
