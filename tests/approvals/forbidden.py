"""The paths that no order of steps may ever lead to, looked for after each one (D2-D4)."""

from __future__ import annotations

from collections import Counter

from approvals.models import ApprovalRequest, Vote
from audit.decisions import rows_of
from gateway.models import ToolCall
from tests.approvals.expectations import TERMINAL, Asked
from tests.approvals.world import GATE
from tests.gateway.order_functions import LEDGER

ENDS = frozenset({"EXECUTED", "FAILED", "REJECTED", "EXPIRED", "CANCELLED"})


class Watch:
    """Looks at rows, records and the payer's own ledger: at what the services left behind."""

    def __init__(self, tenant_id: str) -> None:
        self.tenant_id = tenant_id
        self.ended: dict[str, str] = {}
        self.seen: dict[str, tuple[object, ...]] = {}

    def look(self, everything: list[Asked]) -> None:
        """Fails on the first thing that must not be."""
        rows = ApprovalRequest.objects.filter(tenant_id=self.tenant_id)
        states = dict(rows.values_list("pk", "state"))
        calls = dict(ToolCall.objects.filter(tenant_id=self.tenant_id).values_list("pk", "state"))
        effects = Counter(LEDGER.read_text().splitlines() if LEDGER.exists() else [])
        assert len(states) == len(everything)
        for each in everything:
            state, call = states[each.approval_id], calls[each.call_id]
            found, expected = (state, call), (each.state, each.call)
            assert found == expected, f"{found} instead of {expected}: {each}"
            self.ends_stay(each, state)
            paid = effects.pop(f"refund {each.key}", 0)
            assert paid == (call == "ok"), "an effect without its call, or two for one key"
            assert not paid or state == "consumed"
            if self.is_news(each):
                self.votes_are_valid(each, state)
                self.records_are_whole(each, call)
        assert not effects

    def ends_stay(self, each: Asked, state: str) -> None:
        before = self.ended.setdefault(each.approval_id, state) if state in TERMINAL else None
        assert before in (None, state)
        assert each.approval_id not in self.ended or state in TERMINAL

    def is_news(self, each: Asked) -> bool:
        """Votes and records are read again only where something moved."""
        mark = (each.state, each.call, *each.votes.items())
        before, self.seen[each.approval_id] = self.seen.get(each.approval_id), mark
        return before != mark

    def votes_are_valid(self, each: Asked, state: str) -> None:
        rows = list(
            Vote.objects.filter(request_id=each.approval_id, withdrawn_at__isnull=True)
            .select_related("approver", "on_behalf_of")
            .order_by()
        )
        excluded = set(ApprovalRequest.objects.get(pk=each.approval_id).excluded)
        voters = [vote.approver.user_id for vote in rows]
        voters += [vote.on_behalf_of.user_id for vote in rows if vote.on_behalf_of]
        assert len(voters) == len(set(voters))
        assert excluded.isdisjoint(voters)
        assert all(vote.digest == each.digest for vote in rows)
        if state in ("approved", "consumed"):
            yes = [vote for vote in rows if vote.verdict == "approve"]
            assert len(yes) >= sum(each.quorums)
            assert len(rows) - len(yes) < each.gate.deny
            assert all(vote.factor == ("totp" if each.gate.factor else "") for vote in yes)

    def records_are_whole(self, each: Asked, call: str) -> None:
        decision_id = ToolCall.objects.get(pk=each.call_id).decision_id
        rows = rows_of(tenant_id=self.tenant_id, decision_id=decision_id)
        assert [row["seq"] for row in rows] == list(range(1, len(rows) + 1))
        ends = [row["status"] for row in rows if row["status"] in ENDS]
        assert len(ends) == (call not in ("paused", "queued"))
        assert not ends or rows[-1]["status"] == ends[0]
        approved = [row for row in rows if row["status"] == "APPROVED"]
        assert len(approved) == (each.state == "consumed")
        if approved:
            recorded = approved[0]["approvals"][0]
            assert len(recorded["votes"]) == len(each.votes)
            assert (recorded["gate"], recorded["digest"]) == (GATE, each.digest)
