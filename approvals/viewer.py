"""Who looks at the queue: what they see, what they may decide, and in whose name."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.db.models import Count, Exists, Min, OuterRef, Q, QuerySet, TextField
from django.db.models.functions import Cast
from django.http import HttpRequest

from approvals.eligibility import VOTING_ROLE, Person
from approvals.gates import GateTerms, read_terms
from approvals.keepers import Keeper, Lent, lent_to, with_givers
from approvals.models import ApprovalRequest, Vote
from approvals.states import RequestState
from audit.admin.window import auditor_window, is_only_auditor_here
from contextos.adminkit.tenancy import acting_tenant
from contextos.identity.access import roles_of
from contextos.identity.backends import acting_roles
from contextos.identity.models import User

MOST_VERSIONS = 1000
READS_ALL = "approvals.view_notice"  # platform admins, operators, auditors
_PLACE = ("gate_id", "gate_version_id", "stage", "escalation")


@dataclass(frozen=True, slots=True)
class Pile:
    """Waiting requests that the same people decide; `mine` of them wait for the viewer."""

    values: dict[str, Any]
    count: int
    mine: int
    ways: tuple[int, ...] = ()  # in whose name: 0 is the viewer's own


class Viewer:
    """One person in one tenant, read once per request of a page."""

    def __init__(self, user: User, tenant_id: str) -> None:
        self.user = user
        self.tenant_id = tenant_id
        self.reads_all = user.has_perm(READS_ALL)

    # --- what they are ------------------------------------------------------------------------
    @cached_property
    def _known(self) -> dict[int, Keeper]:
        return with_givers(self.user, self.tenant_id)

    @cached_property
    def keeper(self) -> Keeper:
        """The viewer at the gates; without any when no group of theirs keeps one."""
        found = self._known.get(self.user.pk)
        if found is not None:
            return found
        votes = bool(self._known) and self._votes
        none: frozenset[str] = frozenset()
        return Keeper(self.user.pk, self.user.user_id, str(self.user), votes, none, none)

    @cached_property
    def _votes(self) -> bool:
        """Holds the voting role: known with the permissions, so that others cost no statement."""
        here = getattr(self.user, "acting_tenant_id", None) == self.tenant_id
        roles = acting_roles(self.user) if here else roles_of(self.user, self.tenant_id)
        return VOTING_ROLE in roles

    @cached_property
    def lent(self) -> list[Lent]:
        """Whose votes they carry now; asked for only where somebody's are known to be carried."""
        if self.user.pk in self._known and not self.keeper.carries:
            return []
        return lent_to(self.user, self.tenant_id, self._known)

    @cached_property
    def gates(self) -> frozenset[str]:
        """The gates whose requests concern them; none without the voting role."""
        if not self._votes or not self.keeper.votes:
            return frozenset()
        borrowed = (
            gate
            for lent in self.lent
            for gate in (lent.giver.gates if lent.giver else ())
            if lent.allows(gate)
        )
        return self.keeper.gates.union(borrowed)

    def person_at(self, gate_id: str) -> Person:
        """As eligibility looks at them."""
        givers = frozenset(lent.giver_id for lent in self.lent if lent.covers(gate_id))
        return self.keeper.at(gate_id, givers)

    # --- what they see ------------------------------------------------------------------------
    def visible(self) -> QuerySet[ApprovalRequest]:
        """Readers see all of the tenant, approvers what stands at their gates."""
        rows = ApprovalRequest.objects.filter(tenant_id=self.tenant_id)
        if not self.reads_all:
            return rows.filter(gate_id__in=self.gates)
        if is_only_auditor_here(self.user):
            return auditor_window(self.user, self.tenant_id).limit(rows)
        return rows

    def waiting(self) -> QuerySet[ApprovalRequest]:
        """What they see and nobody has decided."""
        return self.visible().filter(state=RequestState.PENDING)

    # --- what they may decide -----------------------------------------------------------------
    def piles(self, *more: str) -> list[Pile]:
        """The waiting requests counted by what decides who may vote, and by `more` columns."""
        counts = {f"open_{i}": Count("pk", filter=free) for i, free in enumerate(self._open_ways())}
        grouped = self._judged().order_by().values(*_PLACE, *more)
        rows = list(grouped.annotate(n=Count("pk"), sample=Min("pk"), **counts))
        terms = terms_of_versions({row["gate_version_id"]: row["sample"] for row in rows})
        return [self._pile(row, terms[row["gate_version_id"]]) for row in rows]

    @cached_property
    def own_piles(self) -> list[Pile]:
        """As `piles`; a page that needs more columns puts its own here, to ask only once."""
        return self.piles() if self.gates else []

    def mine(self) -> QuerySet[ApprovalRequest]:
        """What waits for this person's vote, riskiest first, then longest waiting."""
        free, wanted = self._open_ways(), Q(pk__in=())
        places = {(*(pile.values[name] for name in _PLACE), pile.ways) for pile in self.own_piles}
        for *place, ways in sorted(places):
            for way in ways:
                wanted |= Q(**dict(zip(_PLACE, place, strict=True))) & free[way]
        return self._judged().filter(wanted).order_by("-risk", "created_at", "pk")

    @property
    def mine_count(self) -> int:
        """How many wait for this person."""
        return sum(pile.mine for pile in self.own_piles)

    def count_again(self) -> None:
        """After votes of this very request: the menu is drawn afterwards."""
        self.__dict__.pop("own_piles", None)

    def _pile(self, row: dict[str, Any], terms: GateTerms) -> Pile:
        stage = min(row["stage"], len(terms.stages) - 1)
        ways = self._ways_at(row["gate_id"], terms.groups_at(stage, row["escalation"]))
        # Where two givers could be spoken for, the larger number is near enough for a badge.
        mine = max((row[f"open_{way}"] for way in ways), default=0)
        return Pile(row, row["n"], mine, ways)

    def _ways_at(self, gate: str, groups: frozenset[str]) -> tuple[int, ...]:
        """In whose name the person may vote there: 0 is their own, others as in `lent`."""
        if not self.keeper.votes:
            return ()
        if gate in self.keeper.gates and self.keeper.groups & groups:
            return (0,)
        return tuple(
            number
            for number, lent in enumerate(self.lent, start=1)
            if lent.allows(gate) and lent.giver and lent.giver.groups & groups
        )

    def _judged(self) -> QuerySet[ApprovalRequest]:
        """Waiting requests with the barred as text: each database searches JSON its own way."""
        return self.waiting().annotate(barred=Cast("excluded", TextField()))

    def _open_ways(self) -> list[Q]:
        """For each name the person may vote in: not barred from it, and no vote given in it."""
        personal = ~self._barred() & ~Q(_voted(self.user.pk))
        return [personal, *(personal & ~Q(_voted(lent.giver_pk)) for lent in self.lent)]

    def _barred(self) -> Q:
        """They, or somebody they stand in for at that gate, asked for it or wrote it."""
        found = Q(barred__contains=f'"{self.keeper.user_id}"')
        for lent in self.lent:
            where = Q(gate_id__in=lent.scope) if lent.scope else Q()
            found |= where & Q(barred__contains=f'"{lent.giver_id}"')
        return found


def _voted(user_pk: int) -> Exists:
    """A vote by that person, or in their name, stands."""
    votes = Vote.objects.filter(
        Q(approver_id=user_pk) | Q(on_behalf_of_id=user_pk),
        request=OuterRef("pk"),
        withdrawn_at__isnull=True,
    )
    return Exists(votes)


_terms: dict[str, GateTerms] = {}


def terms_of_versions(samples: dict[str, str]) -> dict[str, GateTerms]:
    """Gate version -> who keeps which stage, from one request each (version -> approval_id).

    A version never changes, so it is read once per process; only its quorum may be raised for
    one request, and that does not say who votes.
    """
    unknown = [pk for version, pk in samples.items() if version not in _terms]
    if len(_terms) > MOST_VERSIONS:
        _terms.clear()
        unknown = list(samples.values())
    if unknown:
        rows = ApprovalRequest.objects.filter(pk__in=unknown)
        for version, terms in rows.values_list("gate_version_id", "terms"):
            _terms[version] = read_terms(terms)
    return {version: _terms[version] for version in samples}


def viewer_of(request: HttpRequest) -> Viewer | None:
    """The signed-in person in the tenant they act in; kept with the request."""
    kept: Viewer | None = getattr(request, "approvals_viewer", None)
    tenant = acting_tenant(request)
    if kept is None and tenant is not None and isinstance(request.user, User):
        kept = Viewer(request.user, str(tenant.pk))
        request.approvals_viewer = kept  # type: ignore[attr-defined]
    return kept
