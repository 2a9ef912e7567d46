"""Requests as rows, without a call behind them: for lists, walls, hostile text and big queues."""

from __future__ import annotations

import zlib
from datetime import timedelta
from decimal import Decimal
from typing import Any

from django.utils import timezone

from approvals.models import ApprovalRequest
from audit.one_statement import write_together
from audit.payloads import seal_payload
from contextos.core.ids import new_id
from contextos.identity.models import Tenant

DIGEST = "sha256:" + "ab" * 32
TERMS: dict[str, Any] = {
    "stages": [{"name": "finance", "groups": ["finance"], "quorum": 1}],
    "deny_threshold": 1,
    "expires_after_seconds": 86_400,
    "second_factor": "destructive",
    "reminders_after_seconds": [],
    "escalations": [],
}
VIEW: dict[str, Any] = {
    "summary": "payments.issue_refund · 4200 INR · destructive",
    "capability": {
        "id": "payments.issue_refund",
        "adapter_id": "adp_payments",
        "version": "1.0.0",
        "description": "Pays money back.",
    },
    "policy": {
        "reason": "Every refund waits for finance.",
        "matched_rule_ids": ["refund_needs_finance"],
        "bundle_versions": ["refunds@1.1.0"],
    },
    "requested_by": [{"kind": "agent", "id": "agent_support"}],
    "evidence_refs": [],
    "reversible": False,
    "labels": {"amount_inr": {"title": "Amount to refund", "description": "In whole rupees."}},
    "secrets": [],
}


def request_row(tenant: Tenant, **changes: Any) -> ApprovalRequest:
    """A request that was just opened; not saved."""
    now = timezone.now()
    view, terms = {**VIEW, **changes.pop("view", {})}, changes.get("terms", TERMS)
    values: dict[str, Any] = {
        "approval_id": new_id("apr"),
        "tenant": tenant,
        "gate_id": "GATE_FINANCE_APPROVAL",
        "gate_version": "1.0.0",
        "gate_version_id": f"gate_{zlib.crc32(repr(terms).encode())}",  # a version never changes
        "subject_kind": "tool_call",
        "subject_id": new_id("tool"),
        "digest": DIGEST,
        "terms": terms,
        "view": view,
        "excluded": [],
        "payload_id": "",
        "effective_mode": "destructive",
        "risk": 48,
        "capability_id": "payments.issue_refund",
        "agent_id": "agent_support",
        "amount": Decimal("4200"),
        "unit": "INR",
        "likeness": f"sha256:{new_id('dec')}",
        "created_at": now,
        "expires_at": now + timedelta(days=1),
    }
    return ApprovalRequest(**values | changes)


def make_request(tenant: Tenant, *, args: Any = None, **changes: Any) -> ApprovalRequest:
    """The same, saved, with its arguments in the payload store."""
    request = request_row(tenant, **changes)
    sealed = seal_payload(
        tenant_id=str(tenant.pk),
        decision_id=new_id("dec"),
        kind="args",
        value={"transaction_id": "txn_4200", "amount_inr": 4200} if args is None else args,
    )
    write_together(sealed.write)
    request.payload_id = sealed.payload_id
    request.save(force_insert=True)
    return request
