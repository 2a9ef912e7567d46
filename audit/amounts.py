"""Amounts to search decisions by: beside the record, which only commits to them, and erasable."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

from audit.models import DecisionAmount
from audit.one_statement import Insert
from contextos.core.clock import utcnow


def amount_write(
    *, tenant_id: str, decision_id: str, amount: Decimal, unit: str, after: str | None = None
) -> Insert:
    """Keep what a decision was about; the caller writes it with the decision's first row."""
    values = {
        "decision_id": decision_id,
        "tenant_id": tenant_id,
        "amount": amount,
        "unit": unit[:16],
        "created_at": utcnow(),
    }
    table = DecisionAmount._meta.db_table
    return Insert(name="amount", table=table, values=values, after=after)


def forget_amounts(*, tenant_id: str, decision_ids: Iterable[str]) -> int:
    """Part of erasing arguments: what could be searched by is gone with the value."""
    rows = DecisionAmount.objects.filter(tenant_id=tenant_id, decision_id__in=list(decision_ids))
    return rows.delete()[0]


def amounts_of(*, tenant_id: str, decision_ids: Iterable[str]) -> dict[str, DecisionAmount]:
    """The amounts of some decisions, for a page of them."""
    rows = DecisionAmount.objects.filter(tenant_id=tenant_id, decision_id__in=list(decision_ids))
    return {row.decision_id: row for row in rows}
