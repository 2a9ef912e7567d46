"""One decision of every kind, made through the front door, for replays to work on."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from django.utils import timezone

from approvals.models import ApprovalRequest
from approvals.services.requests import expire_due
from audit.models import DecisionRow
from gateway.cancelling import cancel_call
from gateway.models import RefusalWindow, Run, ToolCall
from gateway.reconcile import record_outcome
from gateway.refusals import close_windows
from gateway.replaying.engine import replay_decision
from gateway.replaying.findings import ReplayResult
from gateway.replaying.loading import recorded_decision
from gateway.replaying.surroundings import Surroundings
from gateway.resume import approval_decided, recheck_open
from gateway.worker import work_on
from registry.recorded_documents import RecordedDocuments
from tests.approvals.world import GateWorld

CALLS = "/api/v1/tool-calls"


@dataclass
class StoryWorld(GateWorld):
    """`decisions` leads from what happened to the id of the decision it happened in."""

    decisions: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.run = self.open_run(context={"customer_id": "c1"})
        self._reads()
        self._refusals()
        self._writes()
        self._reports()
        self._refunds()

    def ask(self, name: str, capability: str, args: dict[str, Any], **more: Any) -> Any:
        """Make a call, and remember its decision under a name."""
        run = more.pop("run", self.run)
        body = {"run_id": run["run_id"], "capability_id": capability, "args": args, **more}
        answer = self.post(CALLS, body)
        self.decisions[name] = str(answer.json()["decision_id"])
        return answer

    def replayed(self, name: str) -> ReplayResult:
        """The replay of a decision by what happened in it."""
        decision = recorded_decision(tenant_id=self.tenant_id, decision_id=self.decisions[name])
        return replay_decision(decision, Surroundings(RecordedDocuments(self.tenant_id)))

    def call(self, name: str) -> ToolCall:
        """The call of a decision."""
        return ToolCall.objects.select_related("run").get(decision_id=self.decisions[name])

    # --- what happens ---
    def _reads(self) -> None:
        order = {"order_id": "ord_0001"}
        self.ask("read", "orders.lookup", order)
        self.ask("read by its second name", "adp_orders.lookup", order)
        self.ask("read with a key", "orders.lookup", order, idempotency_key="ik_read")
        self.post(
            CALLS,
            {
                "run_id": self.run["run_id"],
                "capability_id": "orders.lookup",
                "args": order,
                "idempotency_key": "ik_read",
            },
        )
        self.ask("read as a step of a plan", "orders.lookup", order, plan_id="p", step_id="s")
        self.ask("tool said no", "orders.lookup", {"order_id": "ord_0404"})
        self.ask("answer not as reviewed", "orders.lookup", {"order_id": "ord_0666"})
        self.ask("read that changed something", "orders.lookup", {"order_id": "ord_0777"})

    def _refusals(self) -> None:
        order = {"order_id": "ord_0001"}
        self.ask("no such capability", "orders.absent", order)
        self.ask("arguments refused", "orders.lookup", {"order_id": "nonsense"})
        self.ask("arguments refused", "orders.lookup", {"order_id": "nonsense"})
        self.ask("number too large", "orders.lookup", {"order_id": 2**60})
        self.ask("key missing", "notes.add", {"text": "hello"})
        self.ask("mode refused", "orders.lookup", order, approval_mode_requested="network")
        self.ask("run unknown", "orders.lookup", order, run={"run_id": "run_absent"})
        spent = self.open_run(run_budget={"max_calls": 1})
        self.ask("last of its budget", "orders.lookup", order, run=spent)
        self.ask("budget spent", "orders.lookup", {"order_id": "ord_0002"}, run=spent)
        before = set(DecisionRow.objects.values_list("decision_id", flat=True))
        RefusalWindow.objects.update(closes_at=timezone.now() - timedelta(seconds=1))
        close_windows()
        counted = DecisionRow.objects.exclude(decision_id__in=before)
        self.decisions["refusals counted"] = counted.values_list("decision_id", flat=True).get()

    def _writes(self) -> None:
        for name, text in (
            ("written", "hello"),
            ("tried in vain", "always fails"),
            ("outcome unknown", "answer garbage"),
            ("happened after all", "answer garbage"),
            ("did not happen", "answer garbage"),
        ):
            self.ask(name, "notes.add", {"text": text}, idempotency_key=f"ik_{name}")
            self.work(name, times=3 if name == "tried in vain" else 1)
        self.ask("called off", "notes.add", {"text": "no"}, idempotency_key="ik_off")
        actor = self.house.actor("operator")
        for name, happened in (("happened after all", True), ("did not happen", False)):
            record_outcome(
                tenant_id=self.tenant_id,
                tool_call_id=self.call(name).pk,
                actor=actor,
                happened=happened,
                evidence="Looked it up in the file of the customer.",
                output={"note_id": "n"} if happened else None,
            )
        cancel_call(
            tenant_id=self.tenant_id,
            tool_call_id=self.call("called off").pk,
            reason="Not needed.",
            actor=actor,
        )

    def _reports(self) -> None:
        for name, kind in (("took long", "plain"), ("broke in the end", "breaks")):
            self.ask(name, "reports.build", {"kind": kind})
            self.work(name, times=4)
        self.ask("still working", "reports.build", {"kind": "endless"})
        self.work("still working")

    def _refunds(self) -> None:
        for name in ("approved", "rejected", "expired", "voided", "cancelled", "waiting"):
            self.propose_as(name)
        self.decide("approved", "approve")
        self.work("approved")
        self.decide("rejected", "reject")
        expiring = self.request("expired")
        ApprovalRequest.objects.filter(pk=expiring.pk).update(
            expires_at=timezone.now() - timedelta(seconds=1)
        )
        expire_due(timezone.now())
        approval_decided(expiring.pk)
        cancel_call(
            tenant_id=self.tenant_id,
            tool_call_id=self.call("cancelled").pk,
            reason="The customer keeps it.",
            actor=self.house.actor("operator"),
        )
        Run.objects.filter(pk=self.call("voided").run_id)
        self._void("voided", but="waiting")

    def _void(self, name: str, *, but: str) -> None:
        """A changed gate voids what waits; one of them is answered before."""
        kept = self.request(but)
        ApprovalRequest.objects.filter(pk=kept.pk).update(state="approved")
        self.publish_gate(version="1.1.0", deny_threshold=2)
        recheck_open()
        ApprovalRequest.objects.filter(pk=kept.pk).update(state="pending")
        approval_decided(self.request(name).pk)

    def propose_as(self, name: str) -> None:
        """A refund that waits at the gate."""
        key = f"ik_{name:a<16}"[:19]
        self.decisions[name] = str(self.propose(key=key, run=self.run).json()["decision_id"])

    def request(self, name: str) -> ApprovalRequest:
        """What people are asked about a refund."""
        return ApprovalRequest.objects.get(subject_id=self.call(name).pk)

    def decide(self, name: str, verdict: str) -> None:
        """One vote is enough here; then the gateway acts on it."""
        self.vote(self.request(name), "fin1", verdict)
        approval_decided(self.request(name).pk)

    def work(self, name: str, *, times: int = 1) -> None:
        """What a worker does with a call."""
        for _ in range(times):
            call = self.call(name)
            ToolCall.objects.filter(pk=call.pk, due_at__isnull=False).update(due_at=timezone.now())
            work_on(call.pk)
