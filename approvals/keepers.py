"""The people at a tenant's gates, many in one statement: what eligibility wants to know of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db.models import CharField, Exists, OuterRef, Q, Subquery
from django.db.models.functions import Cast

from approvals.eligibility import VOTING_ROLE, Ask, Person, refusal
from approvals.models import ApprovalRequest, ApproverGroup, Gate
from approvals.selectors import VOTE, ask_of, in_force, people_in
from contextos.identity.models import Membership, User

_PERMISSION = "group__groupobjectpermission"


@dataclass(frozen=True, slots=True)
class Keeper:
    """Somebody in an approver group whose group may vote somewhere."""

    pk: int
    user_id: str
    name: str
    votes: bool  # holds the voting role in the tenant
    groups: frozenset[str]
    gates: frozenset[str]
    carries: bool = False  # a delegation to them is in force

    def at(self, gate_id: str, stands_in_for: frozenset[str] = frozenset()) -> Person:
        """As eligibility looks at them for one gate."""
        return Person(
            user_id=self.user_id,
            roles=frozenset({VOTING_ROLE}) if self.votes else frozenset(),
            groups=self.groups,
            may_vote=gate_id in self.gates,
            stands_in_for=stands_in_for,
        )


@dataclass(frozen=True, slots=True)
class Lent:
    """A delegation in force: for whom somebody may vote, and where."""

    giver_pk: int
    giver_id: str
    scope: frozenset[str]  # gate ids; empty means all of the giver's
    giver: Keeper | None = None  # None where the giver keeps nothing themselves

    def covers(self, gate_id: str) -> bool:
        """Whether the delegation is about this gate at all."""
        return not self.scope or gate_id in self.scope

    def allows(self, gate_id: str) -> bool:
        """Whether the giver could vote there, so that the stand-in can."""
        giver = self.giver
        return self.covers(gate_id) and giver is not None and gate_id in giver.gates and giver.votes


def keepers(tenant_id: str, people: Q) -> dict[int, Keeper]:
    """Those who keep a gate among the `people` (a condition on `group__user`), by primary key."""
    gate = (
        Gate.objects.filter(tenant_id=tenant_id)
        .annotate(text=Cast("pk", CharField()))
        .filter(text=OuterRef(f"{_PERMISSION}__object_pk"))
    )
    role = Membership.objects.current().filter(
        user_id=OuterRef("group__user"), tenant_id=tenant_id, role__name=VOTING_ROLE
    )
    rows = ApproverGroup.objects.filter(
        people,
        tenant_id=tenant_id,
        group__user__is_active=True,
        **{
            f"{_PERMISSION}__permission__codename": VOTE,
            f"{_PERMISSION}__permission__content_type__app_label": "approvals",
        },
    ).annotate(
        gate=Subquery(gate.values("gate_id")[:1]),
        votes=Exists(role),
        carries=Exists(in_force(tenant_id).filter(stand_in=OuterRef("group__user"))),
    )
    return _gathered(
        rows.order_by().values_list(
            "group__user__pk",
            "group__user__user_id",
            "group__user__username",
            "group__user__first_name",
            "group__user__last_name",
            "votes",
            "carries",
            "name",
            "gate",
        )
    )


def _gathered(rows: Iterable[tuple[Any, ...]]) -> dict[int, Keeper]:
    people: dict[int, tuple[str, str, bool, bool]] = {}
    groups: defaultdict[int, set[str]] = defaultdict(set)
    gates: defaultdict[int, set[str]] = defaultdict(set)
    for pk, user_id, username, first, last, votes, carries, group, gate in rows:
        people[pk] = (user_id, f"{first} {last}".strip() or username, votes, carries)
        groups[pk].add(group)
        if gate:
            gates[pk].add(gate)
    return {
        pk: Keeper(pk, user_id, name, votes, frozenset(groups[pk]), frozenset(gates[pk]), carries)
        for pk, (user_id, name, votes, carries) in people.items()
    }


def with_givers(user: User, tenant_id: str) -> dict[int, Keeper]:
    """A person and everybody they stand in for now, in one statement."""
    givers = in_force(tenant_id).filter(stand_in=user).values("giver")
    return keepers(tenant_id, Q(group__user=user.pk) | Q(group__user__in=givers))


def lent_to(user: User, tenant_id: str, known: dict[int, Keeper]) -> list[Lent]:
    """The delegations in force to a person, with what is known of their givers."""
    rows = in_force(tenant_id).filter(stand_in=user)
    return [
        Lent(pk, user_id, frozenset(gates), known.get(pk))
        for pk, user_id, gates in rows.values_list("giver_id", "giver__user_id", "gates")
    ]


def who_could_decide(request: ApprovalRequest) -> list[User]:
    """Everybody who may vote at the request's present stage in their own name, by name."""
    able = [keeper.pk for keeper in able_to_decide(request, ask_of(request))]
    return list(User.objects.filter(pk__in=able).order_by("username"))


def able_to_decide(request: ApprovalRequest, ask: Ask) -> list[Keeper]:
    """The same people, however many, in a handful of statements."""
    tenant_id, gate_id = request.tenant_id, request.gate_id
    people = keepers(tenant_id, Q(group__user__in=people_in(tenant_id, ask.groups)))
    covering = _stand_ins(tenant_id, gate_id)
    return [
        keeper
        for keeper in people.values()
        if refusal(keeper.at(gate_id, covering.get(keeper.pk, frozenset())), ask) is None
    ]


def _stand_ins(tenant_id: str, gate_id: str) -> dict[int, frozenset[str]]:
    """Everybody who stands in for somebody at a gate now, with those people's user_ids."""
    found: defaultdict[int, set[str]] = defaultdict(set)
    for lent in in_force(tenant_id).select_related("giver"):
        if lent.covers(gate_id):
            found[lent.stand_in_id].add(lent.giver.user_id)
    return {pk: frozenset(givers) for pk, givers in found.items()}
