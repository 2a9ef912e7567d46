"""What a call tells a collector: a span per step, and the metrics its manifest names (C22).

Without a collector every function here returns at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from contextos import telemetry
from gateway.answers import Answer
from gateway.attempts import Attempt
from gateway.connectors.base import Connector, Invocation, Reply
from gateway.context import CallContext
from gateway.normalise import Normalised

GATEWAY = "contextos.gateway"
LATENCY, RETRIES, UPSTREAM, COST = "latency_ms", "retry_count", "upstream_status", "cost_cents"


def step(name: str, context: CallContext) -> Any:
    """The span of one step; named after the adapter, and telling the verdict, once it is known."""
    if not telemetry.is_on():
        return telemetry.NOTHING
    manifest = context.permitted.capability.manifest if context.permitted else None
    decision = context.decision
    return telemetry.span(
        f"{_prefix(manifest)}.{name}",
        contextos__action__approval_mode_effective=context.effective_mode.value
        if decision
        else None,
        policy_decision_id=decision.policy_decision_id if decision else None,
    )


def proposal(context: CallContext) -> Any:
    """The span of a whole call, from its body to its answer."""
    return telemetry.span(
        f"{GATEWAY}.tool_call",
        contextos__capability_id=context.request.capability_id[:200],
        contextos__run_id=context.request.run_id[:64],
        contextos__tenant_id=context.caller.tenant_id,
    )


def attempt_span(name: str, attempt: Attempt) -> Any:
    """A span of one attempt, in the trace that its records name."""
    if not telemetry.is_on():
        return telemetry.NOTHING
    call, prefix = attempt.call, _prefix(attempt.capability.manifest)
    return telemetry.span(
        f"{prefix}.{name}",
        trace_id=attempt.facts.trace_id,
        contextos__action__approval_mode_effective=call.mode_effective,
        contextos__capability_id=call.capability_id,
        contextos__attempt=call.attempts,
        policy_decision_id=attempt.policy_decision_id,
        tool_call_id=call.tool_call_id,
        decision_id=call.decision_id,
    )


def answered(span: Any, answer: Answer) -> Answer:
    """Tell a call's span how it ended."""
    body = answer.body
    span.tell(
        contextos__status=str(body.get("status")),
        contextos__replayed=bool(body.get("replayed")),
        policy_decision_id=body.get("policy_decision_id"),
        tool_call_id=body.get("tool_call_id"),
        decision_id=body.get("decision_id"),
        http__response__status_code=answer.http_status,
    )
    error = body.get("error")
    if error and body.get("status") not in ("paused", "deferred"):
        span.failed(str(error["code"]))
    return answer


# --- around the connector -------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class TracedConnector:
    """A connector inside a span, whose id the far side gets as its parent."""

    inner: Connector
    attempt: Attempt

    def invoke(self, call: Invocation) -> Reply:
        """See Connector."""
        with attempt_span("invoke", self.attempt) as span:
            return _told(span, self.inner.invoke(_within(call)))

    def poll(self, call: Invocation, task: Mapping[str, Any]) -> Reply:
        """See Connector."""
        with attempt_span("poll", self.attempt) as span:
            return _told(span, self.inner.poll(_within(call), task))

    def cancel(self, call: Invocation, task: Mapping[str, Any] | None) -> None:
        """See Connector."""
        with attempt_span("cancel", self.attempt):
            self.inner.cancel(_within(call), task)

    def give_input(
        self, call: Invocation, task: Mapping[str, Any], answer: Mapping[str, Any]
    ) -> Reply:
        """See Connector."""
        with attempt_span("input", self.attempt) as span:
            return _told(span, self.inner.give_input(_within(call), task, answer))


def traced(connector: Connector, attempt: Attempt) -> Connector:
    """The connector itself, unless somebody collects spans."""
    return TracedConnector(connector, attempt) if telemetry.is_on() else connector


def _within(call: Invocation) -> Invocation:
    from contextos.otel_spans import current_traceparent

    return replace(call, traceparent=current_traceparent())


def _told(span: Any, reply: Reply) -> Reply:
    span.tell(contextos__reply=reply.kind.value, contextos__upstream_status=reply.upstream_status)
    return reply


# --- metrics --------------------------------------------------------------------------------------
def measured(attempt: Attempt, outcome: Normalised, latency_ms: int | None) -> None:
    """What the manifest declares, and nothing else; labels are names from the manifest alone."""
    if not telemetry.is_on():
        return
    from contextos.otel_spans import count, measure

    call = attempt.call
    observability = attempt.capability.manifest.get("observability") or {}
    declared = frozenset(observability.get("metrics") or ())
    labels = {
        "adapter_id": call.adapter_id,
        "capability_id": call.capability_id,
        "status": outcome.status.value,
    }
    if LATENCY in declared and latency_ms is not None:
        measure(f"contextos.call.{LATENCY}", latency_ms, "ms", labels)
    if RETRIES in declared:
        count(f"contextos.call.{RETRIES}", max(0, call.attempts - 1), "{retry}", labels)
    if COST in declared and outcome.cost_cents is not None:
        count(f"contextos.call.{COST}", outcome.cost_cents, "{cent}", labels)
    if UPSTREAM in declared and outcome.upstream_status is not None:
        told = {**labels, UPSTREAM: outcome.upstream_status[:40]}
        count(f"contextos.call.{UPSTREAM}", 1, "{answer}", told)


def _prefix(manifest: Mapping[str, Any] | None) -> str:
    if manifest is None:
        return GATEWAY
    named = (manifest.get("observability") or {}).get("span_name_prefix")
    return str(named or f"contextos.adapter.{manifest.get('adapter_id')}")[:150]
