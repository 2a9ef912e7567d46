"""Four eyes stay four: who issues tokens can't write as one person and approve as another."""

from __future__ import annotations

import pytest

from contextos.identity import services
from contextos.identity.token_verification import verify_bearer
from registry.models import AdapterVersion
from tests.factories import make_agent
from tests.identity.forged import named_by_an_issuer_of
from tests.registry.api.calls import Caller, code_of, version_path, versions
from tests.registry.house import House
from tests.registry.manifests import orders

REASON = {"reason": "Read and understood."}


def lent(house: House, *, to: str, by: str = "admin") -> Caller:
    """A caller with a token that one person issued in the name of another."""
    grant = services.issue_user_token(
        tenant_id=house.tenant_id, user=house.user(to), actor=house.actor(by)
    )
    return Caller(grant.token)


def state_of(version: AdapterVersion) -> str:
    return str(AdapterVersion.objects.get(pk=version.pk).state)


@pytest.mark.proves("B3", "C6")
@pytest.mark.parametrize("verb", ["approve", "reject", "request-changes"])
def test_an_administrator_does_not_review_in_anothers_name(house: House, verb: str) -> None:
    version = house.in_review(orders())
    answer = lent(house, to="reviewer").post(f"{version_path(version)}/{verb}", REASON)
    assert code_of(answer) == (403, "permission.denied")
    assert state_of(version) == "in_review"


@pytest.mark.proves("B3", "C6")
def test_an_administrator_does_not_write_in_anothers_name(house: House) -> None:
    answer = lent(house, to="author").post(versions("adp_orders"), orders())
    assert code_of(answer) == (403, "permission.denied")
    assert not AdapterVersion.objects.exists()


@pytest.mark.proves("B3", "C6")
def test_an_administrator_does_not_review_by_an_issuer_of_their_own(house: House) -> None:
    version = house.in_review(orders())
    outside = named_by_an_issuer_of(
        house.actor("admin"), tenant_id=house.tenant_id, user=house.user("reviewer")
    )
    answer = Caller(outside).post(f"{version_path(version)}/approve", REASON)
    assert code_of(answer) == (403, "permission.denied")
    assert state_of(version) == "in_review"


def test_a_token_issued_for_oneself_reviews(house: House) -> None:
    version = house.in_review(orders())
    own = lent(house, to="admin", by="admin")
    assert own.post(f"{version_path(version)}/approve", REASON).status_code == 200
    assert state_of(version) == "approved"


def test_a_lent_token_still_reads(house: House) -> None:
    house.draft(orders())
    assert lent(house, to="reviewer").get("adapters").status_code == 200


def test_an_agents_token_is_lent_to_nobody(house: House) -> None:
    agent = make_agent(house.tenant)
    grant = services.issue_agent_token(
        tenant_id=house.tenant_id, agent_id=agent.agent_id, actor=house.actor("admin")
    )
    assert verify_bearer(grant.token).lent is False
