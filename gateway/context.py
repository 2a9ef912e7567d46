"""What is known of a call as it passes the steps; frozen, so that no step rewrites another's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from approvals.selectors import OpenGate
from audit.one_statement import Condition
from contextos.core.modes import ApprovalMode
from gateway.identity import Caller
from gateway.models import Run
from gateway.shadowing import ShadowDifference
from registry.compiled import CompiledRun, PermittedCapability
from registry.packs import Permission
from registry.policy import PolicyDecision, PolicyInputs
from registry.resolution import ResolvedCapability

QUICK_SECONDS = 10.0
DEFAULT_WINDOW_SECONDS = 86_400
LONGEST_WINDOW_SECONDS = 10 * 366 * 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRequest:
    """The body of a call, after its shape was checked."""

    run_id: str
    capability_id: str
    args: Mapping[str, Any]
    idempotency_key: str | None = None
    mode_requested: ApprovalMode | None = None
    evidence_refs: tuple[str, ...] = ()
    session_id: str | None = None
    plan_id: str | None = None
    step_id: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_body(cls, body: Mapping[str, Any]) -> CallRequest:
        """From a body that matches its schema."""
        asked = body.get("approval_mode_requested")
        return cls(
            run_id=body["run_id"],
            capability_id=body["capability_id"],
            args=body["args"],
            idempotency_key=body.get("idempotency_key"),
            mode_requested=ApprovalMode(asked) if asked else None,
            evidence_refs=tuple(body.get("evidence_refs", ())),
            session_id=body.get("session_id"),
            plan_id=body.get("plan_id"),
            step_id=body.get("step_id"),
            metadata=body.get("metadata", {}),
        )


@dataclass(frozen=True, kw_only=True)  # no slots: every step makes the next one by `changed`
class CallContext:
    """A call on its way; members fill up step by step, in the order they stand here."""

    caller: Caller
    request: CallRequest
    now: datetime
    trace_id: str
    run: Run | None = None
    compiled: CompiledRun | None = None
    permitted: PermittedCapability | None = None
    args: Mapping[str, Any] = field(default_factory=dict)
    key: str | None = None
    grant: Permission | None = None
    inputs: PolicyInputs | None = None
    decision: PolicyDecision | None = None
    shadow: tuple[ShadowDifference, ...] = ()
    gate: OpenGate | None = None
    routed_from: str | None = None  # the capability asked for, where its fallback answers
    rate_is_taken: bool = False  # when it was first decided, on what held no more
    still: Condition | None = None  # what has to hold yet when the call is claimed, if remembered

    @property
    def capability(self) -> ResolvedCapability:
        """The pinned, signature-checked capability; only after the resolve step."""
        if self.permitted is None:
            raise LookupError("the capability is not resolved yet")
        return self.permitted.capability

    @property
    def declaration(self) -> Mapping[str, Any]:
        """The capability as its manifest declares it."""
        return self.capability.declaration

    @property
    def effective_mode(self) -> ApprovalMode:
        """What policy made of the mode; before that, the declared maximum."""
        decided = self.decision.effective_approval_mode if self.decision else None
        return decided or self.capability.approval_mode

    @property
    def mode_requested(self) -> ApprovalMode:
        """What was asked for; nothing said means the declared maximum."""
        return self.request.mode_requested or self.capability.approval_mode

    @property
    def generation(self) -> int:
        """The registry's number that this call was decided on."""
        return self.compiled.generation if self.compiled else 0

    @property
    def is_write(self) -> bool:
        """Whether the capability can change something; a lowered mode does not take that away."""
        return self.capability.is_write

    @property
    def timeout_seconds(self) -> float:
        """How long one attempt may take."""
        return self.capability.timeout_seconds

    @property
    def is_quick(self) -> bool:
        """Whether the web thread makes the call itself."""
        capability = self.capability
        if capability.is_write or capability.timeout_seconds > QUICK_SECONDS:
            return False
        execution = capability.declaration.get("execution") or {}
        gated = self.decision is not None and self.decision.requires_approval_gate is not None
        return execution.get("mode", "call") == "call" and not gated

    @property
    def window_seconds(self) -> int:
        """How long a key is remembered."""
        return dedup_window_seconds(self.declaration)


def dedup_window_seconds(declaration: Mapping[str, Any]) -> int:
    """How long a capability's manifest wants a key to be remembered."""
    declared = (declaration.get("idempotency") or {}).get("dedup_window_seconds")
    if isinstance(declared, int) and declared > 0:
        return min(declared, LONGEST_WINDOW_SECONDS)
    return DEFAULT_WINDOW_SECONDS
