"""The machine's frame: a world of its own, commits as they would be, requests to pick from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from django.db import connection, transaction
from hypothesis.stateful import RuleBasedStateMachine, initialize

from approvals.models import ApprovalRequest
from approvals.services import groups
from contextos.core.errors import ContextOSError
from tests.approvals.expectations import Asked, House
from tests.approvals.forbidden import Watch
from tests.approvals.world import CALLS, GateWorld
from tests.factories import SYSTEM
from tests.gateway.order_functions import LEDGER
from tests.recorded_worlds import ready

PEOPLE = ("fin1", "fin2", "fin3", "asker")
done: Counter[str] = Counter()


class Frame(RuleBasedStateMachine):
    """A world in a transaction that is thrown away afterwards, and ways to ask in it."""

    def __init__(self) -> None:
        super().__init__()
        self.frame = transaction.atomic()
        self.frame.__enter__()
        LEDGER.unlink(missing_ok=True)
        self.all: list[Asked] = []
        self.numbers = iter(range(10, 10_000))  # versions below are taken

    def teardown(self) -> None:
        connection.run_on_commit.clear()
        transaction.set_rollback(True)
        self.frame.__exit__(None, None, None)

    # --- the frame ---
    @initialize()
    def begin(self) -> None:
        self.world = ready(GateWorld)
        for name in PEOPLE[2:]:
            groups.add_person(
                group=self.world.finance, user=self.world.approver(name), actor=SYSTEM
            )
        self.house = House(keepers=set(PEOPLE))
        self.watch = Watch(self.world.tenant_id)
        self.runs: dict[str | None, tuple[str, str]] = {}
        for asker in (None, None, "asker"):
            self.asked_for(asker)

    def commit(self, *, lost: bool = False) -> None:
        """What a commit would do now: call back, unless the process died just before."""
        while connection.run_on_commit:
            callbacks, connection.run_on_commit = connection.run_on_commit, []
            for entry in callbacks:
                if not lost:
                    entry[1]()

    def outcome(self, step: Callable[[], Any]) -> str | None:
        try:
            step()
        except ContextOSError as refused:
            done[refused.code] += 1
            return refused.code
        return None

    def where(self, asked: Asked) -> dict[str, str]:
        return {"tenant_id": self.world.tenant_id, "approval_id": asked.approval_id}

    def alive(self) -> list[Asked]:
        return [each for each in self.all if each.call in ("paused", "queued")]

    def chosen(self, number: int) -> Asked:
        """Mostly one that can still move; now and then one that must not any more."""
        if not self.alive():
            self.asked_for("asker" if number % 4 == 0 else None)
        some = self.alive() if number % 5 else self.all
        return some[number // 5 % len(some)]

    def waiting(self, number: int) -> Asked:
        """Mostly one that people can still decide."""
        some = [each for each in self.all if each.state == "pending" and not each.overdue]
        return some[number // 5 % len(some)] if some and number % 5 else self.chosen(number)

    def asked_for(self, asker: str | None, fresh: bool = False) -> None:
        number = next(self.numbers)
        run, manifest = self.run_of(asker, fresh)
        body = self.body(f"ik_{number:016d}", number, run)
        answer = self.post(body, asker)
        assert answer.status_code == 202, answer.content
        request = ApprovalRequest.objects.get(subject_id=answer.json()["tool_call_id"])
        made = Asked(
            approval_id=request.pk,
            call_id=request.subject_id,
            key=body["idempotency_key"],
            amount=number,
            run=run,
            digest=request.digest,
            asker=asker,
            manifest=manifest,
            gate=self.house.gate,
            wanted=self.house.wanted,
        )
        self.all.append(made)
        done["request"] += 1

    def run_of(self, asker: str | None, fresh: bool) -> tuple[str, str]:
        """A run and the manifest it is pinned to: it keeps it when a newer one is published."""
        if fresh or asker not in self.runs:
            body = self.world.run_body()
            opened = self.world.post("/api/v1/runs", body, **self.in_name_of(asker)).json()
            self.runs[asker] = (opened["run_id"], self.house.manifest)
        return self.runs[asker]

    def in_name_of(self, asker: str | None) -> dict[str, str]:
        if asker is None:
            return {}
        if not hasattr(self, "token"):
            self.token = self.world.person_token(asker)
        return {"delegation": self.token}

    def body(self, key: str, amount: int, run: str) -> dict[str, Any]:
        return {
            "run_id": run,
            "capability_id": "payments.issue_refund",
            "args": {"transaction_id": "txn_4200", "amount_inr": amount},
            "idempotency_key": key,
        }

    def post(self, body: dict[str, Any], asker: str | None) -> Any:
        answer = self.world.post(CALLS, body, **self.in_name_of(asker))
        self.commit()
        return answer
