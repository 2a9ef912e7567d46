"""What every connector takes and gives; protocol details never leave its folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Protocol

# Members of a fault's data that are for the record, taken out before a caller sees it: host and
# address, and the far side's name for itself.
EGRESS, SERVER = "egress", "server"


@dataclass(frozen=True, slots=True, kw_only=True)
class Credential:
    """What an attempt shows to the far side. Only `headers` and the certificate are secret; the
    rest may be recorded, and `ref` with `scopes_granted` names a session that may be shared."""

    ref: str
    scopes_requested: tuple[str, ...] = ()
    scopes_granted: tuple[str, ...] = ()
    audience: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    client_certificate: tuple[str, str] | None = field(default=None, repr=False)  # chain, key (PEM)
    authority: str | None = field(default=None, repr=False)  # PEM; believe this authority alone

    def as_record(self) -> dict[str, Any]:
        """The `credentials` member of a decision record: names, never values."""
        return {
            "ref": self.ref,
            "scopes_requested": list(self.scopes_requested),
            "scopes_granted": list(self.scopes_granted),
            "audience": self.audience,
        }


@dataclass(frozen=True, kw_only=True)  # no slots: it is dressed for the way by `changed`
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
    tracestate: str = ""  # of a caller that is in the same trace
    baggage: Mapping[str, str] = field(default_factory=dict)
    transport: Mapping[str, Any] = field(default_factory=dict)
    protocol_version: str = ""  # the pin of the manifest
    credential: Credential | None = None
    metadata_token: str = field(default="", repr=False)  # our word on tenant, subject and decision
    expects_output: bool = False  # the manifest pins an output schema
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
    mutations: Sequence[Mapping[str, Any]] = ()  # what the tool says it changed; as it came
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
