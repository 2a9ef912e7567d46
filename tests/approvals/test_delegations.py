"""Delegations: dated, scoped, never passed on, ended at will."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from approvals.models import Delegation
from approvals.selectors import delegations_to, gates_of
from approvals.services import delegations
from audit.models import AuditEvent
from contextos.core.clock import utcnow
from contextos.core.errors import ContextOSError
from contextos.identity.models import Tenant, User
from tests.approvals.world import GATE, GateWorld
from tests.factories import actor_for, make_member
from tests.recorded_worlds import ready

DAY = timedelta(days=1)


@pytest.fixture
def people(acme: Tenant) -> dict[str, User]:
    return {name: make_member(acme, "finance_approver", username=name) for name in ("a", "b", "c")}


def give(
    tenant: Tenant,
    giver: User,
    stand_in: User,
    start: timedelta = -DAY,
    end: timedelta = DAY,
    **more: Any,
) -> Delegation:
    now = utcnow()
    said: dict[str, Any] = {"reason": "Holiday.", "actor": actor_for(giver, tenant), **more}
    return delegations.delegate(
        tenant_id=tenant.pk,
        giver=giver,
        stand_in=stand_in,
        starts_at=now + start,
        ends_at=now + end,
        **said,
    )


def counts(tenant: Tenant, user: User, gate: str = GATE, now: datetime | None = None) -> bool:
    return delegations_to(user, tenant_id=tenant.pk, gate_id=gate, now=now).exists()


@pytest.mark.proves("D3")
def test_it_counts_only_within_its_dates(acme: Tenant, people: dict[str, User]) -> None:
    made = give(acme, people["a"], people["b"])
    assert counts(acme, people["b"])
    assert counts(acme, people["b"], now=made.starts_at)
    for moment in (made.starts_at - timedelta(seconds=1), made.ends_at, made.ends_at + DAY):
        assert not counts(acme, people["b"], now=moment)
    assert not counts(acme, people["a"])


def test_it_counts_only_at_the_gates_it_names(acme: Tenant, people: dict[str, User]) -> None:
    give(acme, people["a"], people["b"], gates=["GATE_A", "GATE_A"])
    assert counts(acme, people["b"], "GATE_A")
    assert not counts(acme, people["b"], "GATE_B")
    give(acme, people["c"], people["b"])
    assert counts(acme, people["b"], "GATE_B")


def test_once_revoked_it_counts_no_more_and_is_recorded_once(
    acme: Tenant, people: dict[str, User]
) -> None:
    made = give(acme, people["a"], people["b"])
    for _ in range(2):
        delegations.revoke(
            delegation_id=made.pk, tenant_id=acme.pk, actor=actor_for(people["a"], acme)
        )
    assert not counts(acme, people["b"])
    told = AuditEvent.objects.filter(tenant_id=acme.pk, subject_id=made.pk)
    assert sorted(told.values_list("action", flat=True)) == [
        "delegation.given",
        "delegation.revoked",
    ]


@pytest.mark.proves("D3")
@pytest.mark.parametrize(("giver", "stand_in"), [("b", "c"), ("c", "a")])
def test_it_is_never_passed_on(
    acme: Tenant, people: dict[str, User], giver: str, stand_in: str
) -> None:
    first = give(acme, people["a"], people["b"])
    with pytest.raises(ContextOSError) as refused:
        give(acme, people[giver], people[stand_in])
    assert refused.value.code == "delegation.chain"
    give(acme, people[giver], people[stand_in], start=2 * DAY, end=3 * DAY)  # another time
    delegations.revoke(
        delegation_id=first.pk, tenant_id=acme.pk, actor=actor_for(people["a"], acme)
    )
    give(acme, people[giver], people[stand_in], end=DAY)


@pytest.mark.parametrize(
    ("start", "end", "reason"),
    [
        (DAY, DAY, "Holiday."),
        (DAY, -DAY, "Holiday."),
        (-DAY, 92 * DAY, "Holiday."),
        (-DAY, DAY, " \t\n"),
    ],
)
def test_it_needs_a_start_before_a_near_end_and_a_reason(
    acme: Tenant, people: dict[str, User], start: timedelta, end: timedelta, reason: str
) -> None:
    with pytest.raises(ContextOSError) as refused:
        give(acme, people["a"], people["b"], start, end, reason=reason)
    assert refused.value.code == "delegation.invalid"


def test_nobody_stands_in_for_themselves(acme: Tenant, people: dict[str, User]) -> None:
    with pytest.raises(ContextOSError, match="themselves"):
        give(acme, people["a"], people["a"])


@pytest.mark.parametrize("role", ["platform_admin", "operator", "auditor"])
def test_both_have_to_be_approvers(acme: Tenant, people: dict[str, User], role: str) -> None:
    other = make_member(acme, role)
    for giver, stand_in in ((people["a"], other), (other, people["a"])):
        with pytest.raises(ContextOSError, match="no approver"):
            give(acme, giver, stand_in)


def test_an_admin_enters_it_for_somebody_who_fell_ill_but_gains_nothing_by_it(
    acme: Tenant, people: dict[str, User]
) -> None:
    admin = make_member(acme, "platform_admin", "finance_approver")
    give(acme, people["a"], people["b"], actor=actor_for(admin, acme))
    assert counts(acme, people["b"])
    with pytest.raises(ContextOSError, match="themselves"):
        give(acme, people["c"], admin, actor=actor_for(admin, acme))


def test_another_tenants_people_can_neither_give_nor_end_it(
    acme: Tenant, globex: Tenant, people: dict[str, User]
) -> None:
    stranger = make_member(globex, "finance_approver", "platform_admin")
    with pytest.raises(ContextOSError, match="no approver"):
        give(acme, people["a"], stranger)
    made = give(acme, people["a"], people["b"])
    with pytest.raises(ContextOSError) as refused:
        delegations.revoke(
            delegation_id=made.pk, tenant_id=acme.pk, actor=actor_for(stranger, globex)
        )
    assert refused.value.code == "tenant.forbidden"
    assert not counts(globex, people["b"])


# --- with a real request -------------------------------------------------------------------------
@pytest.fixture
def world(db: None) -> GateWorld:
    return ready(GateWorld)


def _lend(world: GateWorld, giver: str, stand_in: str, **more: Any) -> Delegation:
    return give(world.house.tenant, world.approver(giver), world.approver(stand_in), **more)


@pytest.mark.proves("D3")
def test_a_stand_in_votes_in_the_givers_name_and_the_vote_says_so(
    world: GateWorld, function_runner: None
) -> None:
    _lend(world, "fin1", "temp")
    assert gates_of(world.approver("temp"), world.tenant_id) == {GATE}
    request, _ = world.proposed()
    with pytest.raises(ContextOSError) as refused:  # in their own name the gate is not theirs
        world.vote(request, "temp")
    assert refused.value.code == "approval.not_eligible"
    vote = world.vote(request, "temp", on_behalf_of=world.approver("fin1"))
    assert (vote.approver, vote.on_behalf_of) == (world.approver("temp"), world.approver("fin1"))


@pytest.mark.proves("D3")
@pytest.mark.parametrize("case", ["expired", "revoked", "other gate", "not yet"])
def test_a_delegation_that_does_not_hold_here_and_now_gives_no_vote(
    world: GateWorld, function_runner: None, case: str
) -> None:
    cases: dict[str, dict[str, Any]] = {
        "expired": {"start": -2 * DAY, "end": -DAY},
        "not yet": {"start": DAY, "end": 2 * DAY},
        "other gate": {"gates": ["GATE_ELSEWHERE"]},
        "revoked": {},
    }
    made = _lend(world, "fin1", "temp", **cases[case])
    if case == "revoked":
        actor = actor_for(world.approver("fin1"), world.house.tenant)
        delegations.revoke(delegation_id=made.pk, tenant_id=world.tenant_id, actor=actor)
    request, _ = world.proposed()
    with pytest.raises(ContextOSError) as refused:
        world.vote(request, "temp", on_behalf_of=world.approver("fin1"))
    assert refused.value.code == "approval.not_stand_in"


@pytest.mark.proves("D3")
def test_giver_and_stand_in_have_one_vote_between_them(
    world: GateWorld, function_runner: None
) -> None:
    world.publish_gate(
        version="1.1.0", stages=[{"name": "finance", "groups": ["finance"], "quorum": 2}]
    )
    _lend(world, "fin1", "temp")
    request, _ = world.proposed()
    world.vote(request, "temp", on_behalf_of=world.approver("fin1"))
    with pytest.raises(ContextOSError) as refused:
        world.vote(request, "fin1")
    assert refused.value.code == "approval.already_voted"


@pytest.mark.proves("D3")
def test_whoever_stands_in_for_somebody_with_a_part_in_it_can_not_vote_at_all(
    world: GateWorld, function_runner: None
) -> None:
    request, _ = world.proposed()
    type(request).objects.filter(pk=request.pk).update(excluded=[world.approver("fin1").user_id])
    request.refresh_from_db()
    _lend(world, "fin1", "fin2")
    for giver in (None, world.approver("fin1")):
        with pytest.raises(ContextOSError) as refused:
            world.vote(request, "fin2", on_behalf_of=giver)
        assert refused.value.code == "approval.own_request"
