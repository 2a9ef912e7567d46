"""A tenant with decision records, some of them hostile, and the people who export them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from audit.access import Window, window_of
from audit.decision_record import (
    CapabilityFacts,
    DecisionFacts,
    DecisionStatus,
    LineageFacts,
)
from audit.decisions import record_decision
from audit.export import files
from audit.export.runner import run_export
from audit.export.services import ExportRequest, request_export
from audit.models import DecisionBody, DecisionRow, ExportJob
from contextos.core.envelopes import PrincipalKind, PrincipalRef
from contextos.core.events import Actor
from contextos.core.ids import new_id
from contextos.identity.actors import person
from contextos.identity.models import Tenant, User
from tests.factories import make_member, make_tenant

MOMENT = datetime(2026, 11, 16, 12, 0, 0, 123000, tzinfo=UTC)
HOSTILE = (
    '=HYPERLINK("http://evil.example","x")',
    "+1+cmd|' /C calc'!A0",
    "-2+3",
    "@SUM(A1)",
    "\t=1",
    "\r\n=1",
    "\uff1d1+1",
    "  =1+1",
    'a "quoted", text;\nwith\r\nlines',
    "\u202etxt.exe",
    "zero\u200bwidth",
    "\u05e9\u05dc\u05d5\u05dd \u4f60\u597d \U0001f600",
    "<script>alert(1)</script>",
    "%PDF-1.4 endstream",
    "{{7*7}}",
    "x" * 40_000,
)


@dataclass(frozen=True, slots=True)
class ExportWorld:
    """The tenant, its auditor, and short ways to export."""

    tenant: Tenant
    auditor: User

    @property
    def actor(self) -> Actor:
        """The auditor."""
        return person(self.auditor, self.tenant.pk)

    @property
    def window(self) -> Window:
        """What the auditor may read now."""
        return window_of(self.auditor, self.tenant)

    def record(self, **facts: Any) -> str:
        """One record; its id."""
        return record_decision(facts_of(self.tenant.pk, **facts))

    def request(
        self, format_: str, wanted: Mapping[str, Any] | None = None, **more: Any
    ) -> ExportJob:
        """An export that waits."""
        request = ExportRequest(format=format_, filter=wanted or {}, **more)
        return request_export(
            tenant_id=self.tenant.pk, request=request, actor=self.actor, window=self.window
        )

    def export(
        self, format_: str, wanted: Mapping[str, Any] | None = None, **more: Any
    ) -> tuple[ExportJob, Path]:
        """An export that was written, and its file."""
        job = self.request(format_, wanted, **more)
        run_export(job.pk)
        job.refresh_from_db()
        assert job.state == "done", (job.error_code, job.error_text)
        return job, files.path_of(job)


def make_export_world(*, records: int = 0, hostile: bool = False) -> ExportWorld:
    """A tenant with so many plain records and, if wanted, one for each hostile text."""
    tenant = make_tenant()
    world = ExportWorld(tenant, make_member(tenant, "auditor"))
    for number in range(records):
        world.record(created_at=MOMENT + timedelta(minutes=number))
    for text in HOSTILE if hostile else ():
        world.record(**hostile_facts(text, tenant.pk), created_at=MOMENT + timedelta(days=1))
    return world


def facts_of(tenant_id: str, **more: Any) -> DecisionFacts:
    """A refund that was approved."""
    base = DecisionFacts(
        decision_id=new_id("dec"),
        seq=1,
        tenant_id=tenant_id,
        status=DecisionStatus.APPROVED,
        principal_chain=(
            PrincipalRef(kind=PrincipalKind.USER, id="user_1", tenant_id=tenant_id),
            PrincipalRef(kind=PrincipalKind.AGENT, id="agent_1", tenant_id=tenant_id),
        ),
        capability=CapabilityFacts(
            id="payments.issue_refund",
            cls="act",
            mode_requested="destructive",
            mode_effective="destructive",
            mode_highest="destructive",
        ),
        lineage=LineageFacts(adapter_id="adp_payments", adapter_version="1.0.0", protocol="mcp"),
        created_at=MOMENT,
        run_id="run_1",
        intent="support.refund",
        policy_decision={"allowed": True, "reason": "ok", "matched_rule_ids": ["rule_a"]},
        approvals=[
            {
                "approval_id": "apr_1",
                "gate": "GATE_FINANCE_APPROVAL",
                "gate_version": "1.0.0",
                "votes": [{"approver": "user_fin1", "verdict": "approve", "reason": "checked"}],
                "digest": "sha256:" + "0" * 64,
                "state": "approved",
            }
        ],
        attempts=1,
        cost_cents=4200,
    )
    return replace(base, **more)


def hostile_facts(text: str, tenant_id: str) -> dict[str, Any]:
    """The text wherever somebody outside could put it."""
    return {
        "principal_chain": (
            PrincipalRef(
                kind=PrincipalKind.USER, id=text[:100], tenant_id=tenant_id, display=text[:100]
            ),
            PrincipalRef(
                kind=PrincipalKind.AGENT, id=text[:100], tenant_id=tenant_id, display=text[:100]
            ),
        ),
        "capability": CapabilityFacts(id=text[:200]),
        "intent": text[:200],
        "session_id": text,
        "decision_key": text,
        "evidence_refs": (text,),
        "error": {"kind": "upstream", "code": text[:100], "message": text},
        "policy_decision": {"allowed": False, "reason": text, "matched_rule_ids": [text]},
        "approvals": [{"votes": [{"approver": text, "verdict": "approve", "reason": text}]}],
        "egress": {"host": text, "ip": text},
    }


def texts_of(tenant_id: str) -> list[str]:
    """The stored texts in the order of their ids."""
    ids = DecisionRow.objects.filter(tenant_id=tenant_id).order_by("record_id")
    texts = dict(DecisionBody.objects.values_list("record_id", "text"))
    return [texts[each] for each in ids.values_list("record_id", flat=True)]
