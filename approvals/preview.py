"""Who could approve at a gate at this moment, and whether that is enough people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from approvals.eligibility import VOTING_ROLE, Ask, Person, refusal
from approvals.gates import GateTerms
from approvals.models import ApproverGroup, Delegation
from approvals.selectors import groups_by_user, in_force
from contextos.core.clock import utcnow
from contextos.identity.models import Membership, User


@dataclass(frozen=True, slots=True)
class Keeper:
    """One person at one stage: may they vote, and if not, why."""

    user_id: str
    name: str
    groups: tuple[str, ...]
    why_not: str = ""
    stand_ins: tuple[tuple[str, datetime], ...] = ()  # names and until when: the person is away
    after_seconds: int | None = None  # brought in by escalation


@dataclass(frozen=True, slots=True)
class StagePreview:
    """One stage with everybody who has to do with it."""

    name: str
    quorum: int
    groups: tuple[str, ...]
    able: tuple[Keeper, ...]
    barred: tuple[Keeper, ...]
    later: tuple[Keeper, ...]
    reach: int = 0  # how many of the quorum can come together today

    @property
    def is_reachable(self) -> bool:
        """Whether enough people can vote today."""
        return self.reach >= self.quorum


@dataclass(frozen=True, slots=True)
class _House:
    """What is known of the people, read in a few statements for all of them."""

    people: dict[str, Person] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    lent: tuple[Delegation, ...] = ()


def preview(
    *,
    tenant_id: str,
    gate_id: str,
    terms: GateTerms,
    excluded: Mapping[str, str],
    now: datetime | None = None,
) -> tuple[StagePreview, ...]:
    """Every stage; `excluded` says of each person who may not decide what keeps them from it."""
    house = _house(tenant_id, gate_id, terms.groups, now or utcnow())
    stages = [_stage(house, terms, number, excluded) for number in range(len(terms.stages))]
    voters = [_present(house, stage) for stage in stages]
    filled = fill([(stage.quorum, who) for stage, who in zip(stages, voters, strict=True)])
    return tuple(
        StagePreview(s.name, s.quorum, s.groups, s.able, s.barred, s.later, reach)
        for s, reach in zip(stages, filled, strict=True)
    )


def fill(stages: Sequence[tuple[int, frozenset[str]]]) -> tuple[int, ...]:
    """How many seats of each stage can be taken when everybody votes once in all; pure.

    A person of two groups is worth one vote, so the stages are matched with people together.
    """
    seats = [number for number, (quorum, _) in enumerate(stages) for _ in range(quorum)]
    taken: dict[str, int] = {}

    def seated(seat: int, asked: set[str]) -> bool:
        for voter in sorted(stages[seats[seat]][1] - asked):
            asked.add(voter)
            if voter not in taken or seated(taken[voter], asked):
                taken[voter] = seat
                return True
        return False

    for seat in range(len(seats)):
        seated(seat, set())
    held = [seats[seat] for seat in taken.values()]
    return tuple(held.count(number) for number in range(len(stages)))


# --- one stage -----------------------------------------------------------------------------------
def _stage(
    house: _House, terms: GateTerms, number: int, excluded: Mapping[str, str]
) -> StagePreview:
    stage = terms.stages[number]
    now_groups = terms.groups_at(number, 0)
    ask = Ask(frozenset(excluded), now_groups)
    kept = [
        _keeper(house, person, ask, excluded)
        for person in house.people.values()
        if not person.groups.isdisjoint(now_groups)
    ]
    return StagePreview(
        stage.name,
        stage.quorum,
        tuple(sorted(now_groups)),
        tuple(keeper for keeper in kept if not keeper.why_not),
        tuple(keeper for keeper in kept if keeper.why_not),
        tuple(_later(house, terms, number, excluded)),
    )


def _keeper(
    house: _House,
    person: Person,
    ask: Ask,
    excluded: Mapping[str, str],
    after_seconds: int | None = None,
) -> Keeper:
    refused = refusal(person, ask)
    return Keeper(
        person.user_id,
        house.names[person.user_id],
        tuple(sorted(person.groups & ask.groups)),
        _words(house, person, excluded) if refused else "",
        tuple(
            (house.names[item.stand_in.user_id], item.ends_at)
            for item in house.lent
            if item.giver.user_id == person.user_id and _may_stand_in(house, item, ask)
        ),
        after_seconds,
    )


def _later(
    house: _House, terms: GateTerms, number: int, excluded: Mapping[str, str]
) -> Iterable[Keeper]:
    """People whom escalation brings in, each with the first step that does."""
    seen = {p.user_id for p in house.people.values() if p.groups & terms.groups_at(number, 0)}
    for level, step in enumerate(terms.escalations, start=1):
        ask = Ask(frozenset(excluded), terms.groups_at(number, level))
        for person in house.people.values():
            if person.user_id not in seen and not person.groups.isdisjoint(ask.groups):
                seen.add(person.user_id)
                yield _keeper(house, person, ask, excluded, step.after_seconds)


def _words(house: _House, person: Person, excluded: Mapping[str, str]) -> str:
    if VOTING_ROLE not in person.roles:
        return "does not hold the role finance approver"
    if person.user_id in excluded:
        return excluded[person.user_id]
    for user_id in sorted(person.stands_in_for & set(excluded)):
        return f"stands in for {house.names.get(user_id, user_id)}, who {excluded[user_id]}"
    return "may not vote here"


def _may_stand_in(house: _House, item: Delegation, ask: Ask) -> bool:
    person = house.people[item.stand_in.user_id]
    giver = house.people[item.giver.user_id]
    return refusal(person, ask, giver) is None


def _present(house: _House, stage: StagePreview) -> frozenset[str]:
    """Who can really vote: those who are away only through a stand-in with no vote of their own."""
    own = {keeper.user_id for keeper in stage.able}
    away = {keeper.user_id for keeper in stage.able if keeper.stand_ins}
    voters = own - away
    for item in house.lent:
        if item.giver.user_id in away and item.stand_in.user_id not in own | voters:
            away.discard(item.giver.user_id)
            voters.add(item.stand_in.user_id)
    return frozenset(voters)


# --- reading -------------------------------------------------------------------------------------
def _house(tenant_id: str, gate_id: str, groups: frozenset[str], now: datetime) -> _House:
    named = ApproverGroup.objects.filter(tenant_id=tenant_id, name__in=groups)
    belongs = groups_by_user(named.filter(group__user__is_active=True))
    lent = tuple(
        item
        for item in in_force(tenant_id, now)
        .filter(stand_in__is_active=True)
        .select_related("giver", "stand_in")
        .order_by("-delegation_id")
        if item.covers(gate_id)
    )
    ids = {*belongs, *(item.stand_in_id for item in lent), *(item.giver_id for item in lent)}
    users = User.objects.filter(pk__in=ids, is_active=True).order_by("username")
    voters = set(
        Membership.objects.current(now)
        .filter(tenant_id=tenant_id, user_id__in=ids, role__name=VOTING_ROLE)
        .values_list("user_id", flat=True)
    )
    people = {
        user.user_id: Person(
            user.user_id,
            frozenset({VOTING_ROLE}) if user.pk in voters else frozenset(),
            belongs.get(user.pk, frozenset()),
            may_vote=user.pk in belongs,
            stands_in_for=frozenset(
                item.giver.user_id for item in lent if item.stand_in_id == user.pk
            ),
        )
        for user in users
    }
    return _House(people, {user.user_id: str(user) for user in users}, lent)
