"""Everything one attempt needs, put together from a fresh context or from a row (C14)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from audit.decision_record import DecisionFacts, DecisionStatus, facts_of
from audit.decisions import rows_of
from audit.payloads import open_committed
from contextos.core import strict_json
from contextos.core.clock import parse_time, utcnow
from contextos.core.errors import ContextOSError
from contextos.trace_context import begin_trace, state_of_caller
from gateway.accepting import Accepted
from gateway.connectors.base import Invocation
from gateway.context import CallContext, dedup_window_seconds
from gateway.models import ToolCall
from gateway.recording import FALLBACK_MARK
from registry.manifest.normalise import binding_name
from registry.policy.bundles import CompiledBundle
from registry.resolution import ResolvedCapability, capability_of_version


@dataclass(frozen=True, kw_only=True)  # no slots: what it meets is added by `changed`
class Attempt:
    """One attempt of an accepted call; `facts` is the last row of its decision so far."""

    call: ToolCall
    capability: ResolvedCapability
    args: Mapping[str, Any]
    facts: DecisionFacts
    policy_decision_id: str | None
    key: str | None
    environment: str
    approved_at: datetime
    bundles: tuple[CompiledBundle, ...] | None = None  # those in force; None = not read yet
    gone: ContextOSError | None = None  # why its arguments can't be read; it can still be ended

    @property
    def declaration(self) -> Mapping[str, Any]:
        """The capability as its manifest declares it."""
        return self.capability.declaration

    @property
    def deduplicates(self) -> bool:
        """Whether the adapter itself still turns a repeat of the key into the first answer."""
        idempotency = self.declaration.get("idempotency") or {}
        if not idempotency.get("adapter_dedup") or self.key is None:
            return False
        # No attempt is older than the approval; past the window the key is new to the adapter.
        window = timedelta(seconds=dedup_window_seconds(self.declaration))
        return utcnow() - self.approved_at < window

    @property
    def fallback_for(self) -> str | None:
        """The capability that was asked for, where this one answers in its place."""
        marks = [name for name in self.facts.controls_active if name.startswith(FALLBACK_MARK)]
        return marks[0].removeprefix(FALLBACK_MARK) if marks else None

    @property
    def may_run_again(self) -> bool:
        """Whether another attempt can't make a second effect."""
        return self.gone is None and (not self.call.is_write or self.deduplicates)

    @property
    def in_doubt(self) -> bool:
        """Whether an earlier attempt may have had its effect without telling us."""
        return self.call.is_write and bool(self.call.losses or self.call.error_code)

    @property
    def max_attempts(self) -> int:
        """How often the manifest lets the gateway try, all in all."""
        declared = (self.declaration.get("retry_policy") or {}).get("max_attempts")
        return declared if isinstance(declared, int) and declared > 0 else 1

    def invocation(self, *, should_stop: Callable[[], bool] | None = None) -> Invocation:
        """What the connector gets; no token of the caller is in it."""
        call, manifest = self.call, self.capability.manifest
        binding = self.declaration.get(binding_name(str(manifest.get("protocol"))))
        span = begin_trace(f"00-{self.facts.trace_id}-{'0' * 15}1-01")
        return Invocation(
            tool_call_id=call.tool_call_id,
            tenant_id=call.tenant_id,
            environment=self.environment,
            capability_id=call.capability_id,
            binding=str(binding or call.capability_id),
            args=self.args,
            deadline_at=call.deadline_at or call.created_at,
            attempt=call.attempts,
            idempotency_key=self.key,
            traceparent=span.traceparent,
            tracestate=state_of_caller(self.facts.trace_id),
            baggage={"run_id": call.run_id, "decision_id": call.decision_id},
            transport=manifest.get("transport") or {},
            protocol_version=str(manifest.get("protocol_version") or ""),
            expects_output=self.capability.output_validator is not None,
            should_stop=should_stop,
        )


def from_context(context: CallContext, accepted: Accepted) -> Attempt:
    """The first attempt of a call that was accepted a moment ago."""
    return Attempt(
        call=accepted.call,
        capability=context.capability,
        args=context.args,
        facts=accepted.facts,
        policy_decision_id=context.decision.policy_decision_id if context.decision else None,
        key=context.key,
        environment=context.run.environment if context.run else "",
        approved_at=accepted.facts.created_at,
        bundles=context.compiled.bundles if context.compiled else None,
    )


def from_row(call: ToolCall) -> Attempt:
    """The same from the database alone, for a worker that knows nothing but the id."""
    attempt = ending_from_row(call)
    if attempt.gone is not None:
        raise attempt.gone
    return attempt


def ending_from_row(call: ToolCall) -> Attempt:
    """As `from_row`, for those who only end a call: its arguments may be erased or damaged."""
    envelope: dict[str, Any] = strict_json.loads_object(call.envelope)
    rows = rows_of(tenant_id=call.tenant_id, decision_id=call.decision_id)
    facts = facts_of(rows[-1])
    args, gone = _arguments(call, facts)
    return Attempt(
        call=call,
        capability=capability_of_version(call.version_id, call.capability_id),
        args=args,
        gone=gone,
        facts=facts,
        policy_decision_id=envelope.get("policy_decision_id"),
        key=envelope.get("idempotency_key"),
        environment=call.run.environment,
        approved_at=_approved_at(rows) or call.created_at,
    )


def _arguments(
    call: ToolCall, facts: DecisionFacts
) -> tuple[Mapping[str, Any], ContextOSError | None]:
    """What was decided on: the payload that the record itself commits to, and no other."""
    try:
        args = open_committed(
            tenant_id=call.tenant_id,
            payload_id=call.args_payload,
            commitment=facts.args_commitment,
        )
    except ContextOSError as fault:
        return {}, fault
    return args, None


def _approved_at(rows: list[dict[str, Any]]) -> datetime | None:
    moments = [row["created_at"] for row in rows if row["status"] == DecisionStatus.APPROVED]
    return parse_time(moments[0]) if moments else None
