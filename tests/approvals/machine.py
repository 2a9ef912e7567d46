"""Everything people, agents, clocks and workers can do to requests, as rules in any order.

Real services on a real database; `expectations` says beforehand what each step should lead to.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.utils import timezone
from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule
from structlog.testing import capture_logs

from approvals.models import ApprovalRequest
from approvals.services import delegations, groups
from approvals.services.requests import expire_due
from approvals.services.votes import withdraw_vote
from gateway.cancelling import cancel_call
from gateway.resume import approval_decided, close_missed, recheck_open
from gateway.worker import work_on
from tests.approvals.expectations import Asked, GateNow, Given
from tests.approvals.machine_frame import PEOPLE, Frame, done
from tests.approvals.overlaps import delegate
from tests.factories import SYSTEM
from tests.registry.manifests import refunds
from tests.registry.walks import policy_walk

MOST_ALIVE = 6
GATES = (
    GateNow(),
    GateNow(quorums=(2,)),
    GateNow(quorums=(1,), deny=2, factor=False),
    GateNow(quorums=(1, 1), factor=False),
)
people = st.sampled_from(PEOPLE)
picks = st.integers(0, 99)


class ApprovalMachine(Frame):
    """Real services on a real database, in a transaction that is thrown away afterwards."""

    # --- asking ---
    @rule(asker=st.sampled_from([None, None, "asker"]), fresh=st.booleans())
    def request(self, asker: str | None, fresh: bool) -> None:
        if len(self.alive()) < MOST_ALIVE:
            self.asked_for(asker, fresh)

    @rule(pick=picks, other_args=st.booleans())
    def retry_the_key(self, pick: int, other_args: bool) -> None:
        which = self.chosen(pick)
        body = self.body(which.key, which.amount + (100 if other_args else 0), which.run)
        answer = self.post(body, which.asker).json()
        if other_args:
            assert answer["error"]["code"] == "idempotency.conflict"
        else:
            assert answer["tool_call_id"] == which.call_id
        assert ApprovalRequest.objects.filter(tenant_id=self.world.tenant_id).count() == len(
            self.all
        )

    # --- voting ---
    @rule(pick=picks, name=people, lost=st.booleans())
    def approve(self, pick: int, name: str, lost: bool) -> None:
        self.vote(self.waiting(pick), name, None, "approve", "this", lost)

    @rule(pick=picks, name=people)
    def agree(self, pick: int, name: str) -> None:
        self.vote(self.waiting(pick), name, None, "approve", "this", lost=False)

    @rule(
        pick=picks,
        name=people,
        verdict=st.sampled_from(["approve", "reject"]),
        shown=st.sampled_from(["this", "nothing", "another"]),
        lost=st.booleans(),
    )
    def reject_or_err(self, pick: int, name: str, verdict: str, shown: str, lost: bool) -> None:
        self.vote(self.waiting(pick), name, None, verdict, shown, lost)

    @rule(pick=picks, name=people, giver=people, verdict=st.sampled_from(["approve", "reject"]))
    def stand_in(self, pick: int, name: str, giver: str, verdict: str) -> None:
        given = sorted(self.house.stands_in_for(name))
        self.vote(self.waiting(pick), name, (given or [giver])[0], verdict, "this", lost=False)

    def vote(
        self, which: Asked, name: str, giver: str | None, verdict: str, shown: str, lost: bool
    ) -> None:
        digest = self.digest(which, shown)
        expected = self.house.refusal(which, name, giver, digest == which.digest)
        vote = Given(verdict, which.stage, giver)
        request = ApprovalRequest.objects.get(pk=which.approval_id)
        how: dict[str, Any] = {} if which.gate.factor else {"code": None}
        for_whom = self.world.approver(giver) if giver else None
        said = self.outcome(
            lambda: self.world.vote(
                request, name, verdict, digest=digest, on_behalf_of=for_whom, **how
            )
        )
        self.commit(lost=lost)
        assert said == expected
        if expected is None:
            done["vote"] += 1
            self.house.voted(which, name, vote)
            if which.state != "pending" and not lost:
                self.house.woken(which)

    def digest(self, which: Asked, shown: str) -> str | None:
        if shown == "nothing":
            return None
        if shown == "another":
            return next((each.digest for each in self.all if each is not which), "sha256:0")
        return which.digest

    @rule(pick=picks, name=people)
    def withdraw(self, pick: int, name: str) -> None:
        which = self.chosen(pick)
        voter = self.world.approver(name)
        said = self.outcome(lambda: withdraw_vote(**self.where(which), approver=voter))
        self.commit()
        assert said == self.house.withdrawn(which, name)

    # --- people ---
    @rule(giver=people, stand_in=people)
    def delegate(self, giver: str, stand_in: str) -> None:
        gives = {pair[0] for pair in self.house.stand_ins.values()}
        stands = {pair[1] for pair in self.house.stand_ins.values()}
        made: list[Any] = []
        said = self.outcome(lambda: made.append(delegate(self.world, giver, stand_in)))
        if giver == stand_in:
            assert said == "delegation.invalid"
        elif giver in stands or stand_in in gives:
            assert said == "delegation.chain"
        else:
            self.house.stand_ins[made[0].pk] = (giver, stand_in)

    @rule(giver=people)
    def revoke(self, giver: str) -> None:
        mine = [name for name, pair in self.house.stand_ins.items() if pair[0] == giver]
        if not mine:
            return
        given = mine[0]
        delegations.revoke(delegation_id=given, tenant_id=self.world.tenant_id, actor=SYSTEM)
        del self.house.stand_ins[given]

    def join_or_leave(self, name: str) -> None:
        user = self.world.approver(name)
        if name in self.house.keepers:
            groups.remove_person(group=self.world.finance, user=user, actor=SYSTEM)
        else:
            groups.add_person(group=self.world.finance, user=user, actor=SYSTEM)
        self.house.keepers ^= {name}

    # --- what is in force ---
    @rule(
        what=st.sampled_from(["manifest", "gate", "policy", "words", "time", "cancel", "people"]),
        pick=picks,
        terms=st.sampled_from(GATES),
        wanted=st.sampled_from([1, 2, 3]),
    )
    def disturb(self, what: str, pick: int, terms: GateNow, wanted: int) -> None:
        done[what] += 1
        steps: dict[str, Callable[[], None]] = {
            "manifest": self.publish_manifest,
            "gate": lambda: self.publish_gate(terms),
            "policy": lambda: self.publish_policy(wanted),
            "words": lambda: self.publish_policy(self.house.wanted),
            "time": lambda: self.run_out_of_time(self.chosen(pick)),
            "cancel": lambda: self.cancel(self.chosen(pick)),
            "people": lambda: self.join_or_leave(PEOPLE[pick % len(PEOPLE)]),
        }
        steps[what]()
        self.commit()

    def publish_manifest(self) -> None:
        number = f"1.{next(self.numbers)}.0"
        self.world.house.published(refunds(version=number, name=f"Payments {number}"))
        self.house.manifest = number

    def publish_gate(self, terms: GateNow) -> None:
        number = f"1.{next(self.numbers)}.0"
        stages = [
            {"name": f"stage{at}", "groups": ["finance"], "quorum": quorum}
            for at, quorum in enumerate(terms.quorums)
        ]
        factor = "destructive" if terms.factor else "never"
        self.world.publish_gate(
            version=number, stages=stages, deny_threshold=terms.deny, second_factor=factor
        )
        self.house.gate = GateNow(number, terms.quorums, terms.deny, terms.factor)

    def publish_policy(self, wanted: int) -> None:
        number = f"1.{next(self.numbers)}.0"
        policy = self.world.refund_policy(version=number, description=f"Release {number}.")
        if wanted > 1:
            policy["rules"][0]["then"]["quorum"] = wanted
        policy_walk(self.world.house).published(policy)
        self.house.wanted = wanted

    # --- clocks and workers ---
    def run_out_of_time(self, which: Asked) -> None:
        rows = ApprovalRequest.objects.filter(pk=which.approval_id)
        rows.update(expires_at=timezone.now() - timedelta(seconds=1))
        which.overdue = True

    @rule()
    def sweep(self) -> None:
        with capture_logs() as said:
            for chore in (expire_due, recheck_open, close_missed):
                chore()
                self.commit()
        assert [line for line in said if line["log_level"] in ("error", "critical")] == []
        for each in self.all:
            self.house.swept(each)

    @rule(pick=picks)
    def wake_again(self, pick: int) -> None:
        which = self.chosen(pick)
        approval_decided(which.approval_id)
        self.commit()
        self.house.woken(which)

    @rule(pick=picks)
    def execute(self, pick: int) -> None:
        which = self.chosen(pick)
        ran = work_on(which.call_id)
        self.commit()
        assert ran == (which.call == "queued")
        done[which.state] += 1
        if ran:
            done["effect"] += 1
            which.call = "ok"

    def cancel(self, which: Asked) -> None:
        said = self.outcome(
            lambda: cancel_call(
                tenant_id=self.world.tenant_id,
                tool_call_id=which.call_id,
                reason="Not wanted any more.",
                actor=SYSTEM,
            )
        )
        self.commit()
        assert said == self.house.cancelled(which)

    @invariant()
    def nothing_forbidden_has_happened(self) -> None:
        done["step"] += 1
        if self.all:
            self.watch.look(self.all)
