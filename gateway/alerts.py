"""Alerts: one row per thing that happened, whoever saw it; messages follow from the outbox."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Exists, OuterRef
from django.db.models.functions import Coalesce

from audit.lag import failing_places, late_tenants
from contextos.core.clock import format_time, utcnow
from contextos.core.errors import ContextOSError
from contextos.core.ids import new_id
from contextos.identity.models import Tenant
from gateway.context import CallContext
from gateway.models import Alert, AlertKind, ToolCall
from gateway.states import CallState
from registry.policy.codes import Reason

AT_ONCE = 100
# An outcome that nobody knew for longer than this is told by the page of unknown outcomes alone.
LOOK_BACK = timedelta(days=1)


def raise_alert(
    *,
    tenant_id: str,
    kind: AlertKind,
    subject: str,
    facts: Mapping[str, Any],
    happened_at: datetime,
    mark: str = "",
) -> None:
    """Write it down once; `facts` are codes, ids and times, never arguments or a tool's words."""
    told = mark or f"{kind.value}:{subject}:{format_time(happened_at)}"
    row = Alert(
        alert_id=new_id("alert"),
        tenant_id=tenant_id,
        mark=told[:200],
        kind=kind,
        subject=subject[:200],
        facts=dict(facts),
        happened_at=happened_at,
    )
    Alert.objects.bulk_create([row], ignore_conflicts=True)


def find_unknown_outcomes(now: datetime | None = None) -> int:
    """Alerts for calls whose outcome nobody knows, read from the calls: none is lost in a crash."""
    moment = now or utcnow()
    told = Alert.objects.filter(
        tenant_id=OuterRef("tenant_id"),
        kind=AlertKind.UNKNOWN_OUTCOME,
        subject=OuterRef("tool_call_id"),
    )
    # Its last attempt counts, not its proposal: people may have thought about it for days.
    calls = ToolCall.objects.filter(state=CallState.UNKNOWN_OUTCOME).exclude(Exists(told))
    calls = calls.alias(tried_at=Coalesce("deadline_at", "created_at"))
    calls = calls.filter(tried_at__gt=moment - LOOK_BACK)
    untold = list(calls.order_by("created_at")[:AT_ONCE])
    for call in untold:
        raise_alert(
            tenant_id=call.tenant_id,
            kind=AlertKind.UNKNOWN_OUTCOME,
            subject=call.pk,
            facts={
                "adapter_id": call.adapter_id,
                "capability_id": call.capability_id,
                "code": call.error_code,
                "decision_id": call.decision_id,
                "run_id": call.run_id,
            },
            happened_at=moment,
            mark=f"{AlertKind.UNKNOWN_OUTCOME.value}:{call.pk}",
        )
    return len(untold)


def find_sealing_faults(now: datetime | None = None) -> int:
    """Alerts for logs that are sealed late or whose checkpoints stay inside, once an hour each."""
    moment = now or utcnow()
    hour = f"{moment:%Y-%m-%dT%H}"
    known = set(Tenant.objects.values_list("pk", flat=True))
    late = [lag for lag in late_tenants(now=moment) if lag.tenant_id in known]
    for lag in late:
        raise_alert(
            tenant_id=lag.tenant_id,
            kind=AlertKind.SEALING_LATE,
            subject="log",
            facts={"waiting_since": format_time(lag.since), "seconds": round(lag.seconds)},
            happened_at=moment,
            mark=f"{AlertKind.SEALING_LATE.value}:{hour}",
        )
    failing = [mark for mark in failing_places(now=moment) if mark.tenant_id in known]
    for mark in failing:
        raise_alert(
            tenant_id=mark.tenant_id,
            kind=AlertKind.OUTSIDE_FAILING,
            subject=mark.sink,
            facts={"failing_since": format_time(mark.failed_at or moment), "fault": mark.fault},
            happened_at=moment,
            mark=f"{AlertKind.OUTSIDE_FAILING.value}:{mark.sink}:{hour}",
        )
    return len(late) + len(failing)


def alert_policy_error(context: CallContext, error: ContextOSError, decision_id: str) -> None:
    """A policy that can't be evaluated denies; its owners hear of it once an hour."""
    if error.code != Reason.EVALUATION_ERROR or context.permitted is None:
        return
    capability_id, hour = context.capability.capability_id, f"{context.now:%Y-%m-%dT%H}"
    raise_alert(
        tenant_id=context.caller.tenant_id,
        kind=AlertKind.POLICY_ERROR,
        subject=capability_id,
        facts={"code": error.code, "decision_id": decision_id},
        happened_at=context.now,
        mark=f"{AlertKind.POLICY_ERROR.value}:{capability_id}:{hour}",
    )
