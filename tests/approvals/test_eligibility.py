"""Nobody decides what they have a hand in, nor twice, nor where they have no say (D1, D3)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from approvals.keepers import who_could_decide
from approvals.models import ApprovalRequest, Vote
from approvals.services import groups
from approvals.services.votes import Ballot, cast_vote
from audit.models import AuditEvent
from contextos.core.errors import ContextOSError, http_status
from contextos.identity import services
from contextos.identity.models import Membership, Tenant
from tests.approvals.overlaps import OVERLAPS, Overlap, asked_for_by, delegate
from tests.approvals.world import GateWorld
from tests.factories import make_agent_token, make_user_token
from tests.identity.forged import named_by_an_issuer_of
from tests.recorded_worlds import ready
from tests.registry.api.calls import Caller, code_of

pytestmark = pytest.mark.django_db
Make = Callable[[GateWorld], Overlap]
each_overlap = pytest.mark.parametrize("make", OVERLAPS, ids=lambda make: make.__name__)


@pytest.fixture
def world() -> GateWorld:
    return ready(GateWorld)


def _ballot(case: Overlap, verdict: str) -> Ballot:
    return Ballot(
        verdict=verdict,
        digest=case.request.digest,
        reason="I would like to.",
        code="123456",
        on_behalf_of=case.giver,
    )


def _tenant_of(case: Overlap) -> Tenant:
    """Where the voter belongs, as a token would say."""
    rows = Membership.objects.filter(user=case.voter).select_related("tenant")
    return rows.order_by("-pk")[0].tenant


def _standing(case: Overlap) -> tuple[int, str]:
    votes = Vote.objects.filter(request=case.request).count()
    return votes, str(ApprovalRequest.objects.get(pk=case.request.pk).state)


@pytest.mark.proves("D1", "D3")
@pytest.mark.parametrize("verdict", ["approve", "reject"])
@each_overlap
def test_the_service_refuses_by_its_code(world: GateWorld, make: Make, verdict: str) -> None:
    case = make(world)
    before = _standing(case)
    with pytest.raises(ContextOSError) as refused:
        cast_vote(
            tenant_id=_tenant_of(case).pk,
            approval_id=case.request.pk,
            approver=case.voter,
            ballot=_ballot(case, verdict),
        )
    assert refused.value.code == case.code
    assert http_status(refused.value) in (403, 404, 409)
    assert _standing(case) == before
    if case.giver is None:
        assert case.voter not in who_could_decide(case.request)


@pytest.mark.proves("D3", "D5")
@each_overlap
def test_rest_refuses_alike(world: GateWorld, make: Make) -> None:
    tokens = {}  # before the case: a person who has left gets no new token
    for name in ("fin1", "fin2"):
        tokens[world.approver(name).pk] = world.person_token(name)
    case = make(world)
    before = _standing(case)
    token = tokens.get(case.voter.pk) or make_user_token(case.voter, _tenant_of(case)).token
    said = {"digest": case.request.digest, "reason": "I would like to.", "otp": "123456"}
    if case.giver is not None:
        said["on_behalf_of"] = case.giver.user_id
    answer = Caller(token).post(f"approvals/{case.request.pk}/approve", said)
    status, code = code_of(answer)
    assert code == (case.over_rest or case.code)
    assert status in (401, 403, 404, 409)
    assert _standing(case) == before


@pytest.mark.proves("D3")
def test_an_attempt_to_decide_ones_own_request_stands_in_the_log(world: GateWorld) -> None:
    request = asked_for_by(world, "fin1")
    with pytest.raises(ContextOSError):
        world.vote(request, "fin1")
    event = AuditEvent.objects.get(action="approval.vote_refused", subject_id=request.pk)
    assert event.actor_id == world.approver("fin1").user_id


@pytest.mark.proves("D3")
def test_a_token_that_somebody_else_issued_does_not_vote(world: GateWorld) -> None:
    request, _ = world.proposed()
    lent = services.issue_user_token(
        tenant_id=world.tenant_id, user=world.approver("fin1"), actor=world.house.actor("admin")
    ).token
    narrowed = make_user_token(
        world.approver("fin1"), world.house.tenant, scopes=["payments.issue_refund"]
    ).token
    outside = named_by_an_issuer_of(
        world.house.actor("admin"), tenant_id=world.tenant_id, user=world.approver("fin1")
    )
    said = {"digest": request.digest, "reason": "Fine.", "otp": world.code("fin1")}
    agents = world.agent_token, make_agent_token(world.agent).token
    for token in (lent, narrowed, outside, *agents):
        for verb in ("approve", "reject", "withdraw", "comments"):
            answer = Caller(token).post(f"approvals/{request.pk}/{verb}", said)
            assert code_of(answer) == (403, "approval.people_only")
    assert code_of(Caller(None).post(f"approvals/{request.pk}/approve", said))[0] == 401
    assert not Vote.objects.exists()


@pytest.mark.proves("D1")
def test_a_stand_in_votes_in_the_givers_name_and_both_are_recorded(world: GateWorld) -> None:
    delegate(world, "fin1", "fin3")
    request, _ = world.proposed()
    answer = Caller(world.person_token("fin3")).post(
        f"approvals/{request.pk}/approve",
        {
            "digest": request.digest,
            "reason": "For fin1.",
            "otp": world.code("fin3"),
            "on_behalf_of": world.approver("fin1").user_id,
        },
    )
    assert answer.status_code == 200, answer.content
    vote = answer.json()["votes"][0]
    assert (vote["approver"], vote["on_behalf_of"]) == (
        world.approver("fin3").user_id,
        world.approver("fin1").user_id,
    )


@pytest.mark.parametrize("giver", ["user_nobody", ""])
def test_standing_in_for_nobody_is_refused(world: GateWorld, giver: str) -> None:
    request, _ = world.proposed()
    said = {"digest": request.digest, "reason": "Fine.", "on_behalf_of": giver}
    answer = Caller(world.person_token("fin1")).post(f"approvals/{request.pk}/approve", said)
    assert code_of(answer) == (403, "approval.not_stand_in")


@pytest.mark.proves("D1")
def test_somebody_new_in_the_group_may_vote_at_once(world: GateWorld) -> None:
    """The counterpart of the refusals: role and group are all that was missing."""
    request, _ = world.proposed()
    newcomer = world.approver("fin7")
    assert newcomer not in who_could_decide(request)
    groups.add_person(group=world.finance, user=newcomer, actor=world.house.actor("admin"))
    assert newcomer in who_could_decide(request)
    world.vote(request, "fin7")
    assert Vote.objects.get().approver == newcomer
