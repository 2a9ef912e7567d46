"""Calls of every fate, made through the public interface; and what the records say, by hand."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.utils import timezone

from approvals.models import ApprovalRequest
from audit.decisions import rows_of
from audit.models import DecisionRow
from contextos.core.clock import parse_time
from gateway.models import ToolCall
from gateway.refusals import close_windows
from gateway.sweep import sweep_calls
from gateway.worker import work_on
from tests.approvals.world import CALLS, GateWorld
from tests.factories import make_user_token


@dataclass
class Traffic:
    """What happens in a world."""

    world: GateWorld

    def __post_init__(self) -> None:
        self.run = self.world.open_run()

    def look_up(self, order_id: str = "ord_0001", **more: Any) -> Any:
        """A read; its order number says how it ends."""
        return self.call("orders.lookup", {"order_id": order_id}, **more)

    def call(self, capability: str, args: Any, **more: Any) -> Any:
        """Any call."""
        body = {"run_id": self.run["run_id"], "capability_id": capability, "args": args, **more}
        return self.world.post(CALLS, body)

    def refund(self, key: str, verdict: str | None = "approve") -> ToolCall:
        """A refund that people decide on, or that nobody does."""
        asked, call = self.world.proposed(key=key, run=self.run)
        if verdict is None:
            ApprovalRequest.objects.filter(pk=asked.pk).update(
                expires_at=timezone.now() - timedelta(seconds=1)
            )
            sweep_calls()
        else:
            self.world.vote(asked, "fin1", verdict)
            work_on(call.pk)
        return ToolCall.objects.get(pk=call.pk)

    def everything(self) -> None:
        """One of each fate at least."""
        for order_id in ("ord_0001", "ord_0002", "ord_0003", "ord_0404", "ord_0777"):
            self.look_up(order_id)
        for _ in range(3):
            self.look_up("no such number")
        self.look_up(approval_mode_requested="destructive")
        self.call("invented.by_agent", {})
        self.refund("ik_aaaaaaaaaaaaaaa1")
        for amount in (4200, 4200, 4300):
            self.world.propose(key="ik_aaaaaaaaaaaaaaa1", amount=amount, run=self.run)
        self.refund("ik_aaaaaaaaaaaaaaa2", "reject")
        self.refund("ik_aaaaaaaaaaaaaaa3", None)
        close_windows(timezone.now() + timedelta(minutes=2))

    def token(self, name: str) -> str:
        """The token of somebody of the house."""
        return make_user_token(self.world.house.user(name), self.world.house.tenant).token


def by_hand(tenant_id: str) -> dict[str, Counter[str]]:
    """Every record of a tenant read one by one, summed by capability; shares no code with it."""
    found: dict[str, Counter[str]] = {}
    decisions = DecisionRow.objects.filter(tenant_id=tenant_id)
    for decision_id in set(decisions.values_list("decision_id", flat=True)):
        rows = rows_of(tenant_id=tenant_id, decision_id=decision_id)
        last = rows[-1]
        name = last["capability"]["id"] if last["lineage"]["adapter_id"] else "(none)"
        sums = found.setdefault(name, Counter())
        sums[last["status"]] += last["repeat_count"]
        code = (last["error"] or {}).get("code", "")
        sums["mode_refused"] += last["repeat_count"] * code.startswith("mode.")
        sums["conflicts"] += last["repeat_count"] * (code == "idempotency.conflict")
        findings = [item["code"] for item in (last["scorecard"] or {}).get("findings", [])]
        sums["misclassified"] += "mode.misclassified" in findings
        if rows[0]["status"] == "PROPOSED" and len(rows) > 1 and rows[1]["approvals"]:
            sums["waits"] += 1
            began, ended = (parse_time(row["created_at"]) for row in rows[:2])
            sums["wait_ms"] += round((ended - began).total_seconds() * 1000)
    return found
