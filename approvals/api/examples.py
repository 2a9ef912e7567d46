"""Examples for the API description; a test checks them against the published schema."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiExample

_DIGEST = "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
_FIN1 = "user_01k9zq7w8x5e3m2n4p6r8t0v2w"
_PENDING: dict[str, Any] = {
    "approval_id": "apr_01k9zq7w8x5e3m2n4p6r8t0v2w",
    "gate": "GATE_FINANCE_APPROVAL",
    "gate_version": "1.0.0",
    "subject": {
        "kind": "tool_call",
        "id": "tool_01k9zq7w8x5e3m2n4p6r8t0v2w",
        "digest": _DIGEST,
    },
    "summary": "payments.issue_refund · 4200 INR · destructive",
    "arguments": {
        "transaction_id": "txn_4200",
        "amount_inr": 4200,
        "idempotency_key": "ik_aaaaaaaaaaaaaaaa",
    },
    "evidence_refs": [],
    "policy_decision_id": "pol_01k9zq7w8x5e3m2n4p6r8t0v2w",
    "effective_mode": "destructive",
    "requested_by": [
        {"kind": "agent", "id": "support_agent", "tenant_id": "acme", "display": "Support agent"}
    ],
    "quorum": {"needed": 1, "approve": 0, "deny": 0},
    "votes": [],
    "state": "pending",
    "expires_at": "2026-05-05T09:30:00.000Z",
    "escalates_at": "2026-05-04T17:30:00.000Z",
}
_VOTE = {
    "approver": _FIN1,
    "verdict": "approve",
    "reason": "Checked with the customer.",
    "factor": "totp",
    "on_behalf_of": None,
    "digest": _DIGEST,
    "at": "2026-05-04T09:41:00.000Z",
}

PENDING = OpenApiExample("A refund that waits", response_only=True, value=_PENDING)
CONSUMED = OpenApiExample(
    "Approved, and on its way",
    response_only=True,
    value={
        **_PENDING,
        "quorum": {"needed": 1, "approve": 1, "deny": 0},
        "votes": [_VOTE],
        "state": "consumed",
    },
)
APPROVE = OpenApiExample(
    "Yes, with a code",
    request_only=True,
    value={"reason": _VOTE["reason"], "digest": _DIGEST, "otp": "287082"},
)
REJECT = OpenApiExample(
    "No, with a reason",
    request_only=True,
    value={"reason": "The customer was paid already.", "digest": _DIGEST},
)
COMMENT = OpenApiExample(
    "A comment", request_only=True, value={"text": "The customer called twice about it."}
)
