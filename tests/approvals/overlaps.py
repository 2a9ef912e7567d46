"""People who have a hand in a request already, each made through the services."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from django.utils import timezone

from approvals.models import ApprovalRequest, Delegation, GateVersion
from approvals.services import delegations, gates, groups
from contextos.identity.models import Membership, User
from tests.approvals.world import CALLS, GateWorld, gate_document
from tests.factories import SYSTEM, grant, make_member, make_superuser, make_tenant
from tests.registry.manifests import refunds
from tests.registry.walks import policy_walk

OWN = "approval.own_request"


@dataclass(frozen=True)
class Overlap:
    """Who votes on what, for whom; the refusal of the service, and of REST where it is another."""

    request: ApprovalRequest
    voter: User
    code: str
    giver: User | None = None
    over_rest: str = ""


# --- making them ---------------------------------------------------------------------------------
def into_finance(world: GateWorld, user: User) -> User:
    """Give somebody the role and the group, so that only their part in it can keep them out."""
    grant(user, world.house.tenant, "finance_approver")
    groups.add_person(group=world.finance, user=user, actor=SYSTEM)
    return user


def asked_for_by(world: GateWorld, name: str, key: str = "ik_dddddddddddddddd") -> ApprovalRequest:
    """A refund that an agent proposes in the name of an approver."""
    token = world.person_token(name)
    run = world.post("/api/v1/runs", world.run_body(), delegation=token).json()
    body = {
        "run_id": run["run_id"],
        "capability_id": "payments.issue_refund",
        "args": {"transaction_id": "txn_4200", "amount_inr": 4200},
        "idempotency_key": key,
    }
    answer = world.post(CALLS, body, delegation=token)
    assert answer.status_code == 202, answer.content
    return ApprovalRequest.objects.get(subject_id=answer.json()["tool_call_id"])


def delegate(world: GateWorld, giver: str, stand_in: str, **how: object) -> Delegation:
    now = timezone.now()
    terms = {
        "starts_at": now - timedelta(hours=1),
        "ends_at": now + timedelta(hours=1),
        "gates": (),
        **how,
    }
    return delegations.delegate(
        tenant_id=world.tenant_id,
        giver=world.approver(giver),
        stand_in=world.approver(stand_in),
        reason="Away.",
        actor=world.house.actor("admin"),
        **terms,  # type: ignore[arg-type]
    )


def two_needed(world: GateWorld) -> ApprovalRequest:
    world.publish_gate(
        version="1.1.0", stages=[{"name": "finance", "groups": ["finance"], "quorum": 2}]
    )
    return world.proposed()[0]


# --- the overlaps --------------------------------------------------------------------------------
def requesting_user(world: GateWorld) -> Overlap:
    return Overlap(asked_for_by(world, "fin1"), world.approver("fin1"), OWN)


def owner_of_the_agent(world: GateWorld) -> Overlap:
    world.agent.owner = world.approver("fin1")
    world.agent.save()
    return Overlap(world.proposed()[0], world.approver("fin1"), OWN)


def manifest_author(world: GateWorld) -> Overlap:
    return Overlap(world.proposed()[0], into_finance(world, world.house.author), OWN)


def manifest_editor(world: GateWorld) -> Overlap:
    house = world.house
    manifest = refunds(version="1.1.0", name="Payments, renewed")
    version = house.edit(house.draft(manifest), manifest, by="admin")
    version = house.submit(version)
    for reviewer in ("reviewer", "reviewer2")[: version.reviewers_needed]:
        warnings = [f.tick_id for f in version.findings.filter(severity="warn")]
        version = house.approve(version, by=reviewer, accepted_warnings=warnings)
    house.publish(version)
    return Overlap(world.proposed()[0], into_finance(world, house.user("admin")), OWN)


def gate_author(world: GateWorld) -> Overlap:
    house, writer = world.house, world.house.user("admin")
    draft = gates.create_draft(
        tenant_id=world.tenant_id,
        document=gate_document(version="1.1.0"),
        author=writer,
        actor=house.actor("admin"),
    )
    gates.submit(version_id=draft.pk, actor=house.actor("admin"))
    findings = GateVersion.objects.get(pk=draft.pk).findings
    gates.approve(
        version_id=draft.pk,
        reviewer=house.user("reviewer"),
        actor=house.actor("reviewer"),
        reason="Read.",
        accepted_warnings=[item["id"] for item in findings],
    )
    gates.publish(version_id=draft.pk, actor=house.actor("admin"))
    return Overlap(world.proposed()[0], into_finance(world, writer), OWN)


def rule_author(world: GateWorld) -> Overlap:
    walk = policy_walk(world.house)
    draft = walk.draft(world.refund_policy(version="1.2.0"), by="admin")
    walk.publish(walk.approve(walk.submit(draft, by="admin")))
    return Overlap(world.proposed()[0], into_finance(world, world.house.user("admin")), OWN)


def delegate_of_the_requester(world: GateWorld) -> Overlap:
    delegate(world, "fin1", "fin2")
    return Overlap(asked_for_by(world, "fin1"), world.approver("fin2"), OWN)


def standing_in_for_the_requester(world: GateWorld) -> Overlap:
    delegate(world, "fin1", "fin2")
    request = asked_for_by(world, "fin1")
    return Overlap(request, world.approver("fin2"), OWN, giver=world.approver("fin1"))


def voting_twice(world: GateWorld) -> Overlap:
    request = two_needed(world)
    world.vote(request, "fin1")
    return Overlap(request, world.approver("fin1"), "approval.already_voted")


def giver_after_the_stand_in(world: GateWorld) -> Overlap:
    delegate(world, "fin1", "fin2")
    request = two_needed(world)
    world.vote(request, "fin2", on_behalf_of=world.approver("fin1"))
    return Overlap(request, world.approver("fin1"), "approval.already_voted")


def stand_in_after_the_giver(world: GateWorld) -> Overlap:
    delegate(world, "fin1", "fin2")
    request = two_needed(world)
    world.vote(request, "fin1")
    giver = world.approver("fin1")
    return Overlap(request, world.approver("fin2"), "approval.already_voted", giver=giver)


def stand_in_for_oneself_and_another(world: GateWorld) -> Overlap:
    delegate(world, "fin1", "fin2")
    request = two_needed(world)
    world.vote(request, "fin2")
    giver = world.approver("fin1")
    return Overlap(request, world.approver("fin2"), "approval.already_voted", giver=giver)


def delegation_revoked(world: GateWorld) -> Overlap:
    given = delegate(world, "fin1", "fin3")
    delegations.revoke(
        delegation_id=given.pk, tenant_id=world.tenant_id, actor=world.house.actor("admin")
    )
    request, giver = world.proposed()[0], world.approver("fin1")
    return Overlap(request, world.approver("fin3"), "approval.not_stand_in", giver=giver)


def delegation_for_another_gate(world: GateWorld) -> Overlap:
    delegate(world, "fin1", "fin3", gates=("GATE_OTHER",))
    request, giver = world.proposed()[0], world.approver("fin1")
    return Overlap(request, world.approver("fin3"), "approval.not_stand_in", giver=giver)


def delegation_that_is_over(world: GateWorld) -> Overlap:
    now = timezone.now()
    past = {"starts_at": now - timedelta(days=2), "ends_at": now - timedelta(days=1)}
    delegate(world, "fin1", "fin3", **past)
    request, giver = world.proposed()[0], world.approver("fin1")
    return Overlap(request, world.approver("fin3"), "approval.not_stand_in", giver=giver)


def giver_without_the_role(world: GateWorld) -> Overlap:
    delegate(world, "fin1", "fin3")
    giver = world.approver("fin1")
    _end_memberships(giver)
    return Overlap(
        world.proposed()[0], world.approver("fin3"), "approval.not_eligible", giver=giver
    )


def superuser_without_the_role(world: GateWorld) -> Overlap:
    root = make_superuser()
    grant(root, world.house.tenant, "operator")
    return Overlap(world.proposed()[0], root, "approval.not_approver")


def membership_that_is_over(world: GateWorld) -> Overlap:
    voter = world.approver("fin1")
    request, _ = world.proposed()
    _end_memberships(voter)
    return Overlap(request, voter, "approval.not_approver", over_rest="auth.access_ended")


def switched_off_person(world: GateWorld) -> Overlap:
    voter = world.approver("fin1")
    request, _ = world.proposed()
    User.objects.filter(pk=voter.pk).update(is_active=False)
    voter.refresh_from_db()
    return Overlap(request, voter, "approval.not_approver", over_rest="auth.subject_inactive")


def removed_from_the_group(world: GateWorld) -> Overlap:
    request, _ = world.proposed()
    voter = world.approver("fin1")
    groups.remove_person(group=world.finance, user=voter, actor=world.house.actor("admin"))
    return Overlap(request, voter, "approval.not_eligible")


def role_without_the_group(world: GateWorld) -> Overlap:
    return Overlap(world.proposed()[0], world.approver("fin9"), "approval.not_eligible")


def keeper_of_another_stage(world: GateWorld) -> Overlap:
    world.group("board", "boss")
    stages = [
        {"name": "finance", "groups": ["finance"], "quorum": 1},
        {"name": "board", "groups": ["board"], "quorum": 1},
    ]
    world.publish_gate(version="1.1.0", stages=stages)
    return Overlap(world.proposed()[0], world.approver("boss"), "approval.not_eligible")


def person_of_another_tenant(world: GateWorld) -> Overlap:
    """An approver, though elsewhere; the service is asked in their tenant, as REST asks it."""
    stranger = make_member(make_tenant(), "finance_approver")
    return Overlap(world.proposed()[0], stranger, "approval.unknown")


def _end_memberships(user: User) -> None:
    ended = timezone.now() - timedelta(minutes=1)
    Membership.objects.filter(user=user).update(
        valid_from=ended - timedelta(days=1), valid_until=ended
    )


OVERLAPS: tuple[Callable[[GateWorld], Overlap], ...] = (
    requesting_user,
    owner_of_the_agent,
    manifest_author,
    manifest_editor,
    gate_author,
    rule_author,
    delegate_of_the_requester,
    standing_in_for_the_requester,
    voting_twice,
    giver_after_the_stand_in,
    stand_in_after_the_giver,
    stand_in_for_oneself_and_another,
    delegation_revoked,
    delegation_for_another_gate,
    delegation_that_is_over,
    giver_without_the_role,
    superuser_without_the_role,
    membership_that_is_over,
    switched_off_person,
    removed_from_the_group,
    role_without_the_group,
    keeper_of_another_stage,
    person_of_another_tenant,
)
