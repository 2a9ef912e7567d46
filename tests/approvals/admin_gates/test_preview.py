"""Who could approve today: people, stand-ins, who is kept out, and whether they are enough."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from approvals.gates import read_terms
from approvals.preview import StagePreview, fill, preview
from approvals.services import delegations
from contextos.core.clock import utcnow
from contextos.identity.models import User
from tests.approvals.admin_gates.rows import make_group
from tests.approvals.admin_gates.visits import GateHouse, gate_page, text_of
from tests.approvals.test_gates import gate, stage
from tests.depth import examples
from tests.factories import SYSTEM, make_agent, make_member


def shown(house: GateHouse, excluded: dict[str, str] | None = None, **changes: Any) -> Any:
    return preview(
        tenant_id=house.tenant_id,
        gate_id="GATE_A",
        terms=read_terms(gate(**changes)),
        excluded=excluded or {},
    )


def names(stage: StagePreview) -> set[str]:
    return {keeper.user_id for keeper in stage.able}


def away(house: GateHouse, giver: User, stand_in: User, **more: Any) -> None:
    delegations.delegate(
        tenant_id=house.tenant_id,
        giver=giver,
        stand_in=stand_in,
        starts_at=utcnow() - timedelta(days=1),
        ends_at=utcnow() + timedelta(days=1),
        reason="Holiday.",
        actor=SYSTEM,
        **more,
    )


def test_everybody_of_the_groups_with_the_role_may_vote(house: GateHouse) -> None:
    admin = make_member(house.tenant, "platform_admin")
    house.finance.group.user_set.add(admin)
    (only,) = shown(house)
    assert names(only) == {user.user_id for user in house.keepers}
    assert [keeper.why_not for keeper in only.barred] == ["does not hold the role finance approver"]
    assert (only.reach, only.is_reachable) == (1, True)


def test_too_few_people_are_said_to_be_too_few(house: GateHouse) -> None:
    (only,) = shown(house, stages=[stage(quorum=3)])
    assert (only.reach, only.is_reachable) == (2, False)


def test_whoever_asks_or_wrote_is_kept_out_with_the_reason(house: GateHouse) -> None:
    first, second = house.keepers
    (only,) = shown(house, {first.user_id: "owns the agent"})
    assert names(only) == {second.user_id}
    assert [(k.user_id, k.why_not) for k in only.barred] == [(first.user_id, "owns the agent")]


@pytest.mark.proves("D3")
def test_a_stand_in_of_somebody_kept_out_is_kept_out_too(house: GateHouse) -> None:
    first, second = house.keepers
    away(house, first, second)
    (only,) = shown(house, {first.user_id: "owns the agent"})
    assert names(only) == set()
    assert "stands in for" in next(k.why_not for k in only.barred if k.user_id == second.user_id)


def test_people_who_are_away_count_by_their_stand_in_and_never_twice(house: GateHouse) -> None:
    first, second = house.keepers
    away(house, first, second)
    (only,) = shown(house, stages=[stage(quorum=2)])
    assert [len(k.stand_ins) for k in only.able if k.user_id == first.user_id] == [1]
    assert only.reach == 1  # second has one vote, for themselves or for first
    third = make_member(house.tenant, "finance_approver")
    away(house, first, third)
    (only,) = shown(house, stages=[stage(quorum=2)])
    assert only.reach == 2


def test_a_delegation_at_other_gates_does_not_count(house: GateHouse) -> None:
    first, second = house.keepers
    away(house, first, second, gates=["GATE_B"])
    (only,) = shown(house, stages=[stage(quorum=2)])
    assert only.reach == 2
    assert all(not keeper.stand_ins for keeper in only.able)


def test_one_person_in_two_stages_is_worth_one_vote(house: GateHouse) -> None:
    make_group(house.tenant, "managers", house.keepers[0])
    both = [stage(quorum=2), stage("boss", ("managers",))]
    one, two = shown(house, stages=both)
    assert one.reach + two.reach == 2
    make_group(house.tenant, "board", make_member(house.tenant, "finance_approver"))
    one, two = shown(house, stages=[stage(quorum=2), stage("boss", ("managers", "board"))])
    assert one.is_reachable
    assert two.is_reachable


def test_escalation_names_whom_it_brings_and_when(house: GateHouse) -> None:
    boss = make_member(house.tenant, "finance_approver")
    make_group(house.tenant, "managers", boss, house.keepers[0])
    steps = [{"after_seconds": 3600, "groups": ["managers"]}]
    (only,) = shown(house, escalations=steps)
    assert [(k.user_id, k.after_seconds) for k in only.later] == [(boss.user_id, 3600)]


def test_another_tenants_people_are_never_offered(house: GateHouse, neighbour: GateHouse) -> None:
    (only,) = shown(house)
    assert names(only).isdisjoint({user.user_id for user in neighbour.keepers})


@settings(max_examples=examples(200), deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(1, 3), st.frozensets(st.sampled_from("abcdef"))),
        min_size=1,
        max_size=3,
    )
)
def test_seats_are_filled_as_well_as_trying_every_way_would(
    stages: list[tuple[int, frozenset[str]]],
) -> None:
    def best(seats: list[frozenset[str]], used: frozenset[str]) -> int:
        if not seats:
            return 0
        left = best(seats[1:], used)
        return max([left, *(1 + best(seats[1:], used | {who}) for who in seats[0] - used)])

    seats = [people for quorum, people in stages for _ in range(quorum)]
    filled = fill(stages)
    assert sum(filled) == best(seats, frozenset())
    assert all(count <= quorum for count, (quorum, _) in zip(filled, stages, strict=True))


# --- the page ------------------------------------------------------------------------------------
def test_the_page_shows_who_is_left_for_an_agent_and_a_person(house: GateHouse) -> None:
    first, second = house.keepers
    version = house.gate_published()
    agent = make_agent(house.tenant, "agent_pay", owner=first)
    admin = house.browser("admin")
    answer = admin.get(gate_page(version, tab="who"))
    assert answer.context["short_stages"] == []
    answer = admin.get(
        gate_page(version), {"tab": "who", "agent": agent.agent_id, "person": second.user_id}
    )
    assert answer.context["short_stages"] == ["finance"]
    shown_text = text_of(answer)
    assert "owns the agent" in shown_text
    assert "on whose behalf it is asked" in shown_text
    assert "0 of 1 needed can vote today" in shown_text


def test_the_page_takes_no_agent_and_no_person_of_another_tenant(
    house: GateHouse, neighbour: GateHouse
) -> None:
    version = house.gate_draft()
    foreign = make_agent(neighbour.tenant, "agent_x", name="Foreignmarker")
    stranger = neighbour.keepers[0]
    answer = house.browser("admin").get(
        gate_page(version), {"tab": "who", "agent": foreign.agent_id, "person": stranger.user_id}
    )
    assert "Foreignmarker" not in text_of(answer)
    assert stranger.username not in text_of(answer)
