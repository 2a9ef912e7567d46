"""Decisions and events of long ago, sealed, for tests of retention and holds."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from audit.decision_record import DecisionStatus
from audit.decisions import record_decision
from audit.event_record import EventFacts, canonical_text, derived_columns, leaf_hash
from audit.models import AuditEvent, UnsealedLeaf
from audit.one_statement import write_together
from audit.payloads import seal_payload
from contextos.core import strict_json
from contextos.core.clock import utcnow
from contextos.core.ids import new_id
from tests.audit.logs import facts
from tests.factories import SYSTEM


def ago(days: float) -> datetime:
    return utcnow() - timedelta(days=days)


def decision(tenant_id: str, *, days: float, gate: str = "", **more: Any) -> str:
    """Two rows and two values, written so many days ago; its id."""
    policy = {"allowed": True, "requires_approval_gate": gate} if gate else None
    at = ago(days)
    first = facts(
        tenant_id, status=DecisionStatus.APPROVED, created_at=at, policy_decision=policy, **more
    )
    record_decision(first)
    record_decision(replace(first, seq=2, status=DecisionStatus.EXECUTED))
    for kind in ("args", "output"):
        value(tenant_id, first.decision_id, kind, at)
    return first.decision_id


def value(tenant_id: str, decision_id: str, kind: str, at: datetime) -> str:
    sealed = seal_payload(
        tenant_id=tenant_id, decision_id=decision_id, kind=kind, value={"name": "canary"}
    )
    write_together(replace(sealed.write, values={**sealed.write.values, "created_at": at}))
    return sealed.payload_id


def event(tenant_id: str, *, days: float, action: str = "identity.agent.changed") -> str:
    """One event, written so many days ago; its id."""
    told = EventFacts(
        event_id=new_id("aud"),
        tenant_id=tenant_id,
        action=action,
        actor=SYSTEM,
        subject_kind="agent",
        subject_id="agent_1",
        created_at=ago(days),
    )
    text = canonical_text(told)
    columns = derived_columns(strict_json.loads_object(text))
    row = AuditEvent.objects.create(**columns, text=text, leaf_hash=leaf_hash(text))
    UnsealedLeaf.objects.create(
        leaf_id=row.pk,
        tenant_id=tenant_id,
        leaf_hash=row.leaf_hash,
        created_at=row.created_at,
    )
    return row.pk
