"""A run and what it may call, as frozen objects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .reading import Json, Members


@dataclass(frozen=True, slots=True)
class Principal:
    """One link of the chain in whose name a run acts."""

    kind: str
    id: str
    tenant_id: str
    display: str | None = None

    @classmethod
    def read(cls, raw: Json) -> Principal:
        """From one of the `principal_chain` of a run."""
        members = Members(raw, "principal")
        return cls(
            kind=members.text("kind"),
            id=members.text("id"),
            tenant_id=members.text("tenant_id"),
            display=members.maybe("display", str),
        )


@dataclass(frozen=True, slots=True)
class RunBudget:
    """What a run may use up."""

    max_calls: int
    max_cost_cents: int
    max_wall_ms: int
    expires_at: str

    @classmethod
    def read(cls, raw: Json) -> RunBudget:
        """From the `run_budget` of a run."""
        members = Members(raw, "run_budget")
        return cls(
            max_calls=members.integer("max_calls"),
            max_cost_cents=members.integer("max_cost_cents"),
            max_wall_ms=members.integer("max_wall_ms"),
            expires_at=members.text("expires_at"),
        )


@dataclass(frozen=True, slots=True)
class RunContext:
    """An open run: whose it is, what for, how far it may go, and on which versions."""

    run_id: str
    trace_id: str
    tenant_id: str
    intent: str
    environment: str
    safety_mode: str
    session_id: str | None
    principal_chain: tuple[Principal, ...]
    context_pack_refs: tuple[str, ...]
    run_budget: RunBudget
    agent: Json
    user: Json | None
    context: Json
    pins: Mapping[str, str]
    raw: Json = field(repr=False)
    traceparent: str | None = None  # as the gateway echoed it

    @classmethod
    def read(cls, raw: Json, *, traceparent: str | None = None) -> RunContext:
        """From the answer of `runs`."""
        members = Members(raw, "run")
        return cls(
            run_id=members.text("run_id"),
            trace_id=members.text("trace_id"),
            tenant_id=members.text("tenant_id"),
            intent=members.text("intent"),
            environment=members.text("environment"),
            safety_mode=members.text("safety_mode"),
            session_id=members.maybe("session_id", str),
            principal_chain=members.each("principal_chain", Principal.read),
            context_pack_refs=members.texts("context_pack_refs"),
            run_budget=RunBudget.read(members.object("run_budget")),
            agent=members.object("agent"),
            user=members.maybe("user", dict),
            context=members.object("context"),
            pins=members.object("pins"),
            raw=raw,
            traceparent=traceparent,
        )


@dataclass(frozen=True, slots=True)
class Capability:
    """Something a run may call."""

    capability_id: str
    adapter_id: str
    capability_class: str
    approval_mode: str
    description: str
    requires_idempotency_key: bool
    input_schema: Json = field(repr=False)
    output_schema: Json = field(repr=False)
    raw: Json = field(default_factory=dict, repr=False)

    @classmethod
    def read(cls, raw: Json) -> Capability:
        """From one of the `capabilities` of a tool manifest."""
        members = Members(raw, "capability")
        return cls(
            capability_id=members.text("capability_id"),
            adapter_id=members.text("adapter_id"),
            capability_class=members.text("capability_class"),
            approval_mode=members.text("approval_mode"),
            description=members.maybe("description", str) or "",
            requires_idempotency_key=members.flag("requires_idempotency_key"),
            input_schema=members.object("input_schema"),
            output_schema=members.object("output_schema"),
            raw=raw,
        )


@dataclass(frozen=True, slots=True)
class ToolManifest:
    """Exactly what a run may call; anything else does not exist for it."""

    run_id: str
    pack_refs: tuple[str, ...]
    capabilities: tuple[Capability, ...]
    hash: str
    raw: Json = field(repr=False)
    traceparent: str | None = None

    @classmethod
    def read(cls, raw: Json, *, traceparent: str | None = None) -> ToolManifest:
        """From the answer of `runs/{id}/tool-manifest`."""
        members = Members(raw, "tool manifest")
        return cls(
            run_id=members.text("run_id"),
            pack_refs=members.texts("pack_refs"),
            capabilities=members.each("capabilities", Capability.read),
            hash=members.text("hash"),
            raw=raw,
            traceparent=traceparent,
        )

    def find(self, capability_id: str) -> Capability | None:
        """One capability by its id, or None when the run may not call it."""
        return next((c for c in self.capabilities if c.capability_id == capability_id), None)
