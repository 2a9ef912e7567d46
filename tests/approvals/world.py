"""A tenant whose refunds wait at a gate, the people who keep it, and codes from their apps."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from django_otp.oath import TOTP

from approvals.models import ApprovalRequest, ApproverGroup, GateVersion, Vote
from approvals.services import gates, groups
from approvals.services.votes import Ballot, cast_vote
from contextos.core import strict_json
from contextos.identity.models import TotpDevice, User
from gateway.models import ToolCall
from tests.architecture.source import ROOT
from tests.factories import make_member, make_user_token
from tests.gateway.world import GatewayWorld
from tests.registry import documents
from tests.registry.manifests import refunds
from tests.registry.walks import pack_walk, policy_walk

GATE = "GATE_FINANCE_APPROVAL"
CALLS = "/api/v1/tool-calls"
KEY = "ik_aaaaaaaaaaaaaaaa"


def gate_document(**changes: Any) -> dict[str, Any]:
    path = ROOT / "examples" / "gates" / "finance.json"
    return {**strict_json.loads_object(path.read_bytes()), **changes}


def _secret_of(name: str) -> bytes:
    return b"secret of " + name.encode().ljust(10, b".")


@dataclass
class GateWorld(GatewayWorld):
    """GatewayWorld with payments.issue_refund behind a published gate; fin1 and fin2 keep it."""

    _approvers: dict[str, User] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.house.published(refunds())
        policy_walk(self.house).published(self.refund_policy(version="1.1.0"))
        pack_walk(self.house).published(documents.pack(version="1.1.0"))
        self.finance = groups.create_group(
            tenant_id=self.tenant_id,
            name="finance",
            title="Finance",
            actor=self.house.actor("admin"),
        )
        for name in ("fin1", "fin2"):
            groups.add_person(
                group=self.finance, user=self.approver(name), actor=self.house.actor("admin")
            )
        self.publish_gate()

    def refund_policy(self, **changes: Any) -> dict[str, Any]:
        rule = {
            "rule_id": "refund_needs_finance",
            "description": "Every refund waits for finance.",
            "applies_to": {"capability": "payments.issue_refund"},
            "if": True,
            "then": {"allow": True, "requires_approval_gate": GATE},
        }
        return documents.bundle(**{"rules": [rule], "tests": [], **changes})

    # --- people ---
    def approver(self, name: str) -> User:
        """Somebody with the voting role and an authenticator app."""
        if name not in self._approvers:
            user = make_member(self.house.tenant, "finance_approver")
            device = TotpDevice(user=user, name="test", confirmed=True)
            device.set_secret(_secret_of(name))
            device.save()
            self._approvers[name] = user
        return self._approvers[name]

    def code(self, name: str) -> str:
        """A fresh code each time: the app's present one, as if none had been used before."""
        TotpDevice.objects.filter(user=self.approver(name)).update(last_step=-1)
        generator = TOTP(_secret_of(name))
        generator.time = time.time()
        return f"{generator.token():06d}"

    def person_token(self, name: str) -> str:
        return make_user_token(self.approver(name), self.house.tenant).token

    # --- gates ---
    def publish_gate(self, **changes: Any) -> GateVersion:
        draft = gates.create_draft(
            tenant_id=self.tenant_id,
            document=gate_document(**changes),
            author=self.house.author,
            actor=self.house.actor("author"),
        )
        gates.submit(version_id=draft.pk, actor=self.house.actor("author"))
        version = GateVersion.objects.get(pk=draft.pk)
        gates.approve(
            version_id=draft.pk,
            reviewer=self.house.user("reviewer"),
            actor=self.house.actor("reviewer"),
            reason="Read.",
            accepted_warnings=[item["id"] for item in version.findings],
        )
        return gates.publish(version_id=draft.pk, actor=self.house.actor("admin"))

    def group(self, name: str, *people: str) -> ApproverGroup:
        made = groups.create_group(
            tenant_id=self.tenant_id, name=name, title=name, actor=self.house.actor("admin")
        )
        for person in people:
            groups.add_person(
                group=made, user=self.approver(person), actor=self.house.actor("admin")
            )
        return made

    # --- calls and votes ---
    def propose(self, *, key: str = KEY, amount: int = 4200, **changes: Any) -> Any:
        run = changes.pop("run", None) or self.open_run()
        body = {
            "run_id": run["run_id"],
            "capability_id": "payments.issue_refund",
            "args": {"transaction_id": "txn_4200", "amount_inr": amount},
            "idempotency_key": key,
            **changes,
        }
        return self.post(CALLS, body)

    def proposed(self, **how: Any) -> tuple[ApprovalRequest, ToolCall]:
        answer = self.propose(**how)
        assert answer.status_code == 202, answer.content
        call = ToolCall.objects.get(pk=answer.json()["tool_call_id"])
        return ApprovalRequest.objects.get(subject_id=call.pk), call

    def vote(
        self, request: ApprovalRequest, name: str, verdict: str = "approve", **how: Any
    ) -> Vote:
        if verdict == "approve" and "code" not in how:
            how["code"] = self.code(name)
        said = {"digest": request.digest, "reason": "Checked with the customer.", **how}
        return cast_vote(
            tenant_id=self.tenant_id,
            approval_id=request.pk,
            approver=self.approver(name),
            ballot=Ballot(verdict=verdict, **said),
        )
