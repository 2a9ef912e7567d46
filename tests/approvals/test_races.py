"""Many at the same moment: one decision, one consumption, one effect (D4). On PostgreSQL.

SQLite lets one writer in at a time and tells the others that it is locked; there is no race there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from threading import Barrier, Lock
from typing import Any

import pytest
from django.db import close_old_connections, connection
from django.utils import timezone

from approvals.models import ApprovalRequest, Vote
from approvals.services import groups
from approvals.services.requests import expire_due
from approvals.services.votes import Ballot, cast_vote, withdraw_vote
from audit.decisions import rows_of
from audit.models import AuditEvent
from contextos.core.errors import ContextOSError
from contextos.identity.models import User
from gateway import resume
from gateway.cancelling import cancel_call
from gateway.models import ToolCall
from gateway.resume import approval_decided
from gateway.worker import work_on
from tests.approvals.world import KEY, GateWorld
from tests.factories import SYSTEM, make_member
from tests.recorded_worlds import ready

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("function_runner", "real_database"),
]
ROUNDS = 5
AT_ONCE = 20
ENDS = {"EXECUTED", "REJECTED", "EXPIRED", "CANCELLED"}


@pytest.fixture
def real_database() -> None:
    if connection.vendor != "postgresql":
        pytest.skip("races need PostgreSQL: scripts/with_services.py")


@pytest.fixture
def world() -> GateWorld:
    made = ready(GateWorld)
    made.publish_gate(version="1.1.0", second_factor="never")
    return made


def at_once(*steps: Callable[[], Any]) -> list[str]:
    """Each step in a thread and connection of its own; 'done' or the code of its refusal."""
    start = Barrier(min(len(steps), AT_ONCE))
    waiting, lock = iter(range(start.parties)), Lock()

    def run(step: Callable[[], Any]) -> str:
        try:
            with lock:
                first = next(waiting, None) is not None
            if first:
                start.wait(timeout=30)
            step()
            return "done"
        except ContextOSError as refusal:
            return refusal.code
        finally:
            connection.close()

    with ThreadPoolExecutor(AT_ONCE) as pool:
        outcomes = list(pool.map(run, steps))
    close_old_connections()
    return outcomes


def vote(
    world: GateWorld, request: ApprovalRequest, user: User, verdict: str = "approve"
) -> Callable[[], Any]:
    ballot = Ballot(verdict=verdict, digest=request.digest, reason="Checked.")
    return partial(
        cast_vote,
        tenant_id=world.tenant_id,
        approval_id=request.pk,
        approver=user,
        ballot=ballot,
    )


def keys() -> Iterator[str]:
    return (f"ik_{number:016d}" for number in range(1, 1000))


def whole(world: GateWorld, request: ApprovalRequest) -> tuple[str, str, list[str]]:
    """How request and call ended, once everything that waits was worked on; the record's rows."""
    approval_decided(request.pk)
    work_on(request.subject_id)
    call = ToolCall.objects.get(pk=request.subject_id)
    rows = rows_of(tenant_id=world.tenant_id, decision_id=call.decision_id)
    assert [row["seq"] for row in rows] == list(range(1, len(rows) + 1))
    statuses = [row["status"] for row in rows]
    assert sum(status in ENDS for status in statuses) == (call.state != "paused")
    request.refresh_from_db()
    return str(request.state), str(call.state), statuses


def told(request: ApprovalRequest, word: str) -> int:
    return AuditEvent.objects.filter(subject_id=request.pk, action=f"approval.{word}").count()


# --- votes ---------------------------------------------------------------------------------------
@pytest.mark.proves("D4")
def test_a_hundred_last_votes_approve_once_consume_once_and_pay_once(
    world: GateWorld, ledger: list[str]
) -> None:
    crowd = [make_member(world.house.tenant, "finance_approver") for _ in range(100)]
    for user in crowd:
        groups.add_person(group=world.finance, user=user, actor=SYSTEM)
    request, call = world.proposed()
    outcomes = Counter(at_once(*(vote(world, request, user) for user in crowd)))
    assert outcomes == {"done": 1, "approval.not_pending": 99}
    assert (Vote.objects.count(), told(request, "approved")) == (1, 1)
    assert Counter(at_once(*(partial(work_on, call.pk) for _ in range(AT_ONCE)))) == {"done": 20}
    assert whole(world, request) == ("consumed", "ok", ["PROPOSED", "APPROVED", "EXECUTED"])
    assert ledger == [f"refund {KEY}"]


@pytest.mark.proves("D4")
def test_a_hundred_votes_for_a_quorum_of_ten_count_ten(world: GateWorld) -> None:
    stages = [{"name": "finance", "groups": ["finance"], "quorum": 10}]
    world.publish_gate(version="1.2.0", second_factor="never", stages=stages)
    crowd = [make_member(world.house.tenant, "finance_approver") for _ in range(100)]
    for user in crowd:
        groups.add_person(group=world.finance, user=user, actor=SYSTEM)
    request, _ = world.proposed()
    outcomes = Counter(at_once(*(vote(world, request, user) for user in crowd)))
    assert outcomes == {"done": 10, "approval.not_pending": 90}
    assert whole(world, request)[0] == "consumed"


@pytest.mark.proves("D4")
def test_two_tabs_of_one_approver_are_one_vote(world: GateWorld) -> None:
    stages = [{"name": "finance", "groups": ["finance"], "quorum": 2}]
    world.publish_gate(version="1.2.0", second_factor="never", stages=stages)
    run, names = world.open_run(), keys()
    for _ in range(ROUNDS):
        request, _ = world.proposed(run=run, key=next(names))
        tabs = [vote(world, request, world.approver("fin1")) for _ in range(4)]
        assert sorted(at_once(*tabs)) == ["approval.already_voted"] * 3 + ["done"]
        assert Vote.objects.filter(request=request).count() == 1
        request.refresh_from_db()
        assert request.state == "pending"


@pytest.mark.proves("D4")
def test_yes_and_no_at_once_leave_one_end(world: GateWorld, ledger: list[str]) -> None:
    run, names = world.open_run(), keys()
    for number in range(1, ROUNDS + 1):
        request, _ = world.proposed(run=run, key=next(names))
        yes = vote(world, request, world.approver("fin1"))
        no = vote(world, request, world.approver("fin2"), "reject")
        assert sorted(at_once(yes, no)) == ["approval.not_pending", "done"]
        state, call, _ = whole(world, request)
        assert (state, call) in (("consumed", "ok"), ("rejected", "rejected"))
        assert told(request, "approved") + told(request, "rejected") == 1
        assert len(ledger) <= number


# --- against the other ends ----------------------------------------------------------------------
@pytest.mark.proves("D4")
def test_a_vote_racing_the_clock_runs_or_expires_never_both(
    world: GateWorld, ledger: list[str]
) -> None:
    """The clock of the sweep runs ahead by two days: both believe to be right."""
    run, names = world.open_run(), keys()
    ahead = timezone.now() + timedelta(days=2)
    for _ in range(ROUNDS):
        key = next(names)
        request, _ = world.proposed(run=run, key=key)
        outcomes = at_once(vote(world, request, world.approver("fin1")), partial(expire_due, ahead))
        assert outcomes[0] in ("done", "approval.not_pending")
        state, call, _ = whole(world, request)
        assert (state, call) in (("consumed", "ok"), ("expired", "rejected"))
        assert (f"refund {key}" in ledger) == (state == "consumed")


@pytest.mark.proves("D4")
def test_a_vote_racing_a_cancellation_runs_or_is_cancelled_never_both(
    world: GateWorld, ledger: list[str]
) -> None:
    run, names = world.open_run(), keys()
    for _ in range(ROUNDS):
        key = next(names)
        request, call = world.proposed(run=run, key=key)
        stop = partial(
            cancel_call,
            tenant_id=world.tenant_id,
            tool_call_id=call.pk,
            reason="Not wanted.",
            actor=SYSTEM,
        )
        outcomes = at_once(vote(world, request, world.approver("fin1")), stop)
        assert outcomes[0] in ("done", "approval.not_pending")
        assert outcomes[1] in ("done", "call.just_moved")
        state, ended, _ = whole(world, request)
        assert (ended == "cancelled") == (outcomes[1] == "done")
        assert (state, ended) in (
            ("consumed", "ok"),
            ("consumed", "cancelled"),  # approved first, cancelled before a worker took it
            ("cancelled", "cancelled"),
        )
        assert (f"refund {key}" in ledger) == (ended == "ok")


@pytest.mark.proves("D4")
def test_a_withdrawal_racing_the_start_comes_too_late_or_in_time(
    world: GateWorld, ledger: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run, names = world.open_run(), keys()
    for _ in range(ROUNDS):
        key = next(names)
        request, _ = world.proposed(run=run, key=key)
        with monkeypatch.context() as patch:  # the voter's process dies before it wakes the call
            patch.setattr("approvals.wires._waker", lambda: lambda approval_id: None)
            world.vote(request, "fin1", code=None)
        back = partial(
            withdraw_vote,
            tenant_id=world.tenant_id,
            approval_id=request.pk,
            approver=world.approver("fin1"),
        )
        outcomes = at_once(back, partial(approval_decided, request.pk))
        state, ended, statuses = whole(world, request)
        in_time = outcomes[0] == "done"
        assert (state, ended) == (("pending", "paused") if in_time else ("consumed", "ok"))
        assert (f"refund {key}" in ledger) == (not in_time)
        assert ("APPROVED" in statuses) == (not in_time)


@pytest.mark.proves("D4")
def test_workers_resuming_the_same_approval_start_it_once(
    world: GateWorld, ledger: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run, names = world.open_run(), keys()
    for number in range(1, ROUNDS + 1):
        request, call = world.proposed(run=run, key=next(names))
        with monkeypatch.context() as patch:
            patch.setattr("approvals.wires._waker", lambda: lambda approval_id: None)
            world.vote(request, "fin1", code=None)
        assert set(at_once(*(partial(approval_decided, request.pk) for _ in range(6)))) == {"done"}
        at_once(*(partial(work_on, call.pk) for _ in range(6)))
        assert whole(world, request) == ("consumed", "ok", ["PROPOSED", "APPROVED", "EXECUTED"])
        assert len(ledger) == number


@pytest.mark.proves("D2", "D4")
def test_votes_changed_while_a_worker_looks_are_not_consumed_by_it(
    world: GateWorld, ledger: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that has read the votes loses to a withdrawal and another approval meanwhile."""
    request, call = world.proposed()
    quiet = pytest.MonkeyPatch()
    quiet.setattr("approvals.wires._waker", lambda: lambda approval_id: None)
    world.vote(request, "fin1", code=None)
    looked = resume.as_recorded

    def slow(request: ApprovalRequest) -> dict[str, Any]:
        seen = looked(request)
        monkeypatch.undo()
        where = {"tenant_id": world.tenant_id, "approval_id": request.pk}
        withdraw_vote(**where, approver=world.approver("fin1"))
        world.vote(request, "fin2", code=None)
        return seen

    monkeypatch.setattr(resume, "as_recorded", slow)
    approval_decided(request.pk)
    quiet.undo()
    call.refresh_from_db()
    assert call.state == "paused"
    assert whole(world, request)[:2] == ("consumed", "ok")
    rows = rows_of(tenant_id=world.tenant_id, decision_id=call.decision_id)
    votes = rows[1]["approvals"][0]["votes"]
    assert [each["approver"] for each in votes] == [world.approver("fin2").user_id]
    assert ledger == [f"refund {KEY}"]
