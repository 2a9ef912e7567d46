"""Decision records for tests of searching: a few decisions that differ in every filter."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from audit.amounts import amount_write
from audit.decision_record import CapabilityFacts, DecisionFacts, DecisionStatus, LineageFacts
from audit.decisions import record_decision
from audit.one_statement import write_together
from contextos.core.envelopes import PrincipalKind, PrincipalRef
from contextos.core.ids import new_id

OCTOBER = datetime(2026, 10, 1, 12, tzinfo=UTC)


def facts(tenant_id: str = "acme", **more: Any) -> DecisionFacts:
    """A read that was let through, unless told otherwise."""
    base = DecisionFacts(
        decision_id=new_id("dec"),
        seq=1,
        tenant_id=tenant_id,
        status=DecisionStatus.APPROVED,
        principal_chain=chain(tenant_id),
        capability=CapabilityFacts(id="orders.lookup", mode_effective="read_only"),
        lineage=LineageFacts(adapter_id="adp_orders"),
        created_at=OCTOBER,
        run_id=new_id("run"),
        trace_id="a" * 32,
        intent="support.refund",
    )
    return replace(base, **more)


def chain(
    tenant_id: str = "acme", *, agent: str = "agent_1", user: str = "user_1"
) -> tuple[PrincipalRef, ...]:
    return (
        PrincipalRef(kind=PrincipalKind.USER, id=user, tenant_id=tenant_id, display="Sana"),
        PrincipalRef(kind=PrincipalKind.AGENT, id=agent, tenant_id=tenant_id),
    )


def written(*rows: DecisionFacts) -> str:
    """Write them; the decision of the first."""
    for row in rows:
        record_decision(row)
    return rows[0].decision_id


def lookup(tenant_id: str = "acme", *, days: int = 0, **more: Any) -> str:
    """A read, in two rows."""
    at = OCTOBER + timedelta(days=days)
    first = facts(tenant_id, created_at=at, **more)
    ended = replace(first, seq=2, status=DecisionStatus.EXECUTED, created_at=at)
    return written(first, ended)


def refund(
    tenant_id: str = "acme",
    *,
    amount: int = 4200,
    approver: str = "user_fin1",
    days: int = 0,
    **more: Any,
) -> str:
    """A refund that somebody approved, in three rows."""
    at = OCTOBER + timedelta(days=days)
    first = facts(
        tenant_id,
        created_at=at,
        status=DecisionStatus.PROPOSED,
        capability=CapabilityFacts(id="payments.issue_refund", mode_effective="destructive"),
        lineage=LineageFacts(adapter_id="adp_payments"),
        policy_decision={"allowed": True, "matched_rule_ids": ["refund_needs_finance"]},
        trace_id="b" * 32,
        **more,
    )
    approval = {
        "approval_id": new_id("apr"),
        "gate": "GATE_FINANCE_APPROVAL",
        "votes": [{"approver": approver, "verdict": "approve", "on_behalf_of": None}],
        "state": "consumed",
    }
    yes = replace(first, seq=2, status=DecisionStatus.APPROVED, approvals=[approval])
    write_together(
        amount_write(
            tenant_id=tenant_id,
            decision_id=first.decision_id,
            amount=Decimal(amount),
            unit="INR",
        )
    )
    return written(first, yes, replace(yes, seq=3, status=DecisionStatus.EXECUTED))


def refusal(tenant_id: str = "acme", *, code: str = "args.schema", **more: Any) -> str:
    """A call that was refused before anything ran."""
    return written(
        facts(
            tenant_id,
            status=DecisionStatus.REJECTED,
            error={"kind": "validation", "code": code},
            trace_id="c" * 32,
            **more,
        )
    )
