"""Reading gates, people and requests; nothing here changes anything."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import BigIntegerField, Count, Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Cast
from guardian.models import GroupObjectPermission

from approvals.eligibility import VOTING_ROLE, Ask, Person, Refused, refusal
from approvals.gates import GateTerms, read_terms
from approvals.models import ApprovalRequest, ApproverGroup, Delegation, Gate, GateVersion, Vote
from approvals.states import RequestState
from contextos.core.clock import utcnow
from contextos.identity.access import roles_of
from contextos.identity.models import Membership, User
from contextos.review.signed_documents import signed_document
from contextos.review.states import VersionState

VOTE = "vote_gate"
ACTIVE_PEOPLE = Count("group__user", filter=Q(group__user__is_active=True))  # of an approver group


@dataclass(frozen=True, slots=True)
class OpenGate:
    """A gate as it decides now, its signature checked."""

    gate_id: str
    version: str
    version_id: str
    digest: str
    authors: frozenset[str]  # user_ids; they may not decide what passes it
    terms: GateTerms


def gate_in_force(*, tenant_id: str, gate_id: str) -> OpenGate | None:
    """The published version of a gate; None where nobody keeps it."""
    rows = GateVersion.objects.select_related("author")
    version = rows.filter(
        tenant_id=tenant_id, gate_id=gate_id, state=VersionState.PUBLISHED
    ).first()
    if version is None:
        return None
    terms = read_terms(signed_document(version))
    authors = frozenset({version.author.user_id, *version.editors})
    return OpenGate(gate_id, version.version, version.pk, version.digest, authors, terms)


def group_sizes(tenant_id: str) -> dict[str, int]:
    """How many active people each approver group of a tenant has."""
    groups = ApproverGroup.objects.filter(tenant_id=tenant_id).annotate(people=ACTIVE_PEOPLE)
    return dict(groups.values_list("name", "people"))


# --- people --------------------------------------------------------------------------------------
def person_at(user: User, *, tenant_id: str, gate_id: str, now: datetime | None = None) -> Person:
    """A person as eligibility looks at them, for one gate."""
    if not user.is_active:
        return Person(user.user_id)
    given = delegations_to(user, tenant_id=tenant_id, gate_id=gate_id, now=now)
    return Person(
        user_id=user.user_id,
        roles=roles_of(user, tenant_id),
        groups=groups_of(user, tenant_id),
        may_vote=may_vote_at(user, tenant_id=tenant_id, gate_id=gate_id),
        stands_in_for=frozenset(given.values_list("giver__user_id", flat=True)),
    )


def groups_of(user: User, tenant_id: str) -> frozenset[str]:
    """The approver groups a person belongs to."""
    rows = ApproverGroup.objects.filter(tenant_id=tenant_id, group__user=user)
    return frozenset(rows.values_list("name", flat=True))


def groups_by_user(groups: QuerySet[ApproverGroup]) -> dict[int, frozenset[str]]:
    """Which of the approver groups each person is in, by primary key."""
    found: defaultdict[int, set[str]] = defaultdict(set)
    for name, user_pk in groups.filter(group__user__isnull=False).values_list(
        "name", "group__user"
    ):
        found[user_pk].add(name)
    return {user_pk: frozenset(names) for user_pk, names in found.items()}


def holds_voting_role(tenant_id: str) -> Exists:
    """Whether the person of the outer query has the voting role in the tenant now."""
    return Exists(
        Membership.objects.current().filter(
            user=OuterRef("pk"), tenant_id=tenant_id, role__name=VOTING_ROLE
        )
    )


def may_vote_at(user: User, *, tenant_id: str, gate_id: str) -> bool:
    """Whether the person holds the object permission, by a group; being superuser confers none."""
    return gate_id in _gates_by_group(user, tenant_id)


def gates_of(user: User, tenant_id: str, now: datetime | None = None) -> frozenset[str]:
    """The gates whose queue concerns a person, themselves or as a stand-in."""
    own = _gates_by_group(user, tenant_id)
    lent = delegations_to(user, tenant_id=tenant_id, now=now).select_related("giver")
    borrowed = {
        gate
        for item in lent
        for gate in _gates_by_group(item.giver, tenant_id)
        if item.covers(gate)
    }
    return frozenset(own | borrowed)


def _gates_by_group(user: User, tenant_id: str) -> set[str]:
    """The gates whose `vote_gate` permission a group of the person holds, in one statement."""
    held = GroupObjectPermission.objects.filter(
        group__user=user,
        permission__codename=VOTE,
        permission__content_type__app_label="approvals",
    ).annotate(gate_pk=Cast("object_pk", BigIntegerField()))
    rows = Gate.objects.filter(tenant_id=tenant_id, pk__in=held.values("gate_pk"))
    return set(rows.values_list("gate_id", flat=True))


def delegations_to(
    user: User, *, tenant_id: str, gate_id: str | None = None, now: datetime | None = None
) -> QuerySet[Delegation]:
    """Delegations in force that let this person vote for others."""
    rows = in_force(tenant_id, now).filter(stand_in=user)
    if gate_id is None:
        return rows
    return rows.filter(pk__in=[item.pk for item in rows if item.covers(gate_id)])


def in_force(tenant_id: str, now: datetime | None = None) -> QuerySet[Delegation]:
    """The tenant's delegations that let somebody vote at this moment."""
    moment = now or utcnow()
    return Delegation.objects.filter(
        tenant_id=tenant_id,
        revoked_at__isnull=True,
        starts_at__lte=moment,
        ends_at__gt=moment,
        giver__is_active=True,
    ).order_by()


# --- requests ------------------------------------------------------------------------------------
def ask_of(request: ApprovalRequest) -> Ask:
    """A request as eligibility looks at it."""
    terms = read_terms(request.terms)
    stage = min(request.stage, len(terms.stages) - 1)
    voted = Vote.objects.filter(request=request, withdrawn_at__isnull=True).values_list(
        "approver__user_id", "on_behalf_of__user_id"
    )
    return Ask(
        excluded=frozenset(request.excluded),
        groups=terms.groups_at(stage, request.escalation),
        voted=frozenset(name for pair in voted for name in pair if name),
    )


def why_not(
    user: User, request: ApprovalRequest, giver: User | None = None, *, now: datetime | None = None
) -> Refused | None:
    """Why a person may not decide a request; None when they may."""
    where: dict[str, Any] = {"tenant_id": request.tenant_id, "gate_id": request.gate_id, "now": now}
    person = person_at(user, **where)
    standing = person_at(giver, **where) if giver is not None else None
    return refusal(person, ask_of(request), standing)


def people_in(tenant_id: str, groups: frozenset[str]) -> QuerySet[User]:
    """The active people of some approver groups."""
    rows = ApproverGroup.objects.filter(tenant_id=tenant_id, name__in=groups)
    return (
        User.objects.filter(groups__in=rows.values("group"), is_active=True)
        .distinct()
        .order_by("username")
    )


def request_of(subject_kind: str, subject_id: str) -> ApprovalRequest | None:
    """The request about a subject, if there ever was one."""
    rows = ApprovalRequest.objects.filter(subject_kind=subject_kind, subject_id=subject_id)
    return rows.first()


def pending_of_agent(tenant_id: str, agent_id: str) -> int:
    """How many requests of one agent wait for people."""
    return ApprovalRequest.objects.filter(
        tenant_id=tenant_id, agent_id=agent_id, state=RequestState.PENDING
    ).count()
