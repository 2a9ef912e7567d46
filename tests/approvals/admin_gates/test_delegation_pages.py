"""Pages of delegations: saying that one is away, seeing and ending it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from approvals.models import Delegation
from approvals.selectors import delegations_to
from contextos.core.clock import utcnow
from contextos.identity.models import User
from tests.approvals.admin_gates.visits import GateHouse, page, text_of
from tests.identity.signed_in import browser_of

GATE = "GATE_FINANCE_APPROVAL"


def sent(giver: User, stand_in: User, **changes: Any) -> dict[str, Any]:
    now = utcnow()
    return {
        "giver": giver.user_id,
        "stand_in": stand_in.user_id,
        "starts_at": (now - timedelta(minutes=5)).strftime("%Y-%m-%dT%H:%M"),
        "ends_at": (now + timedelta(days=3)).strftime("%Y-%m-%dT%H:%M"),
        "reason": "Holiday.",
        **changes,
    }


@pytest.fixture
def pair(house: GateHouse) -> tuple[User, User]:
    house.gate_published()
    first, second = house.keepers
    return first, second


def browser(house: GateHouse, user: User) -> Client:
    return browser_of(user, house.tenant)


@pytest.mark.proves("D3")
def test_an_approver_says_that_they_are_away_and_comes_back(
    house: GateHouse, pair: tuple[User, User]
) -> None:
    first, second = pair
    visitor = browser(house, first)
    shown = visitor.get(page("delegation_add"))
    assert "Who votes for you" in text_of(shown)
    answer = visitor.post(page("delegation_add"), sent(first, second, gates=[GATE]))
    made = Delegation.objects.get()
    assert answer["Location"] == page("delegation_change", made.pk)
    assert (made.giver, made.stand_in, made.gates) == (first, second, [GATE])
    assert delegations_to(second, tenant_id=house.tenant_id, gate_id=GATE).exists()
    assert "End it now" in text_of(visitor.get(page("delegation_change", made.pk)))
    visitor.post(page("delegation_end", made.pk))
    assert not delegations_to(second, tenant_id=house.tenant_id, gate_id=GATE).exists()
    assert visitor.post(page("delegation_end", made.pk)).status_code == 403


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"stand_in": ""}, "This field is required"),
        ({"reason": "  "}, "This field is required"),
        ({"ends_at": "2026-01-01T00:00"}, "The end lies before the start"),
        ({"starts_at": "soon"}, "Enter a valid date/time"),
        ({"gates": ["GATE_OF_OTHERS"]}, "is not one of the available choices"),
        ({"ends_at": "2036-01-01T00:00"}, "92 days apart at most"),
    ],
)
def test_what_can_not_be_is_said_at_its_field(
    house: GateHouse, pair: tuple[User, User], changes: dict[str, Any], words: str
) -> None:
    first, second = pair
    answer = browser(house, first).post(page("delegation_add"), sent(first, second) | changes)
    assert answer.status_code == 422
    assert words in text_of(answer)
    assert not Delegation.objects.exists()


def test_an_approver_can_not_give_somebody_elses_vote_away(
    house: GateHouse, pair: tuple[User, User]
) -> None:
    first, second = pair
    answer = browser(house, first).post(page("delegation_add"), sent(second, first))
    assert answer.status_code == 422
    assert not Delegation.objects.exists()


def test_a_chain_is_refused_with_the_reason(house: GateHouse, pair: tuple[User, User]) -> None:
    first, second = pair
    browser(house, first).post(page("delegation_add"), sent(first, second))
    answer = browser(house, second).post(page("delegation_add"), sent(second, first))
    assert answer.status_code == 422
    assert "never passed on" in text_of(answer)


def test_an_admin_enters_it_for_somebody_who_fell_ill(
    house: GateHouse, pair: tuple[User, User]
) -> None:
    first, second = pair
    admin = house.browser("admin")
    assert "Somebody is away" in text_of(admin.get(page("delegation_add")))
    admin.post(page("delegation_add"), sent(first, second))
    assert Delegation.objects.get().giver == first


def test_people_see_their_own_and_admins_and_auditors_all(
    house: GateHouse, pair: tuple[User, User]
) -> None:
    first, second = pair
    browser(house, first).post(page("delegation_add"), sent(first, second))
    made = Delegation.objects.get()
    for visitor in (
        browser(house, first),
        browser(house, second),
        house.browser("admin"),
        house.browser("auditor"),
    ):
        rows = visitor.get(page("delegation_changelist")).context["cl"].result_list
        assert [row.pk for row in rows] == [made.pk]
        assert visitor.get(page("delegation_change", made.pk)).status_code == 200
    stranger = house.browser("approver")
    assert not list(stranger.get(page("delegation_changelist")).context["cl"].result_list)
    assert stranger.get(page("delegation_change", made.pk)).status_code == 404
    assert stranger.post(page("delegation_end", made.pk)).status_code == 404
    assert house.browser("auditor").post(page("delegation_end", made.pk)).status_code == 403
    assert house.browser("author").get(page("delegation_changelist")).status_code == 403
    assert browser(house, second).get(page("delegation_end", made.pk)).status_code == 404
    assert browser(house, second).post(page("delegation_end", made.pk)).status_code == 302


def test_nothing_of_another_tenant_is_offered_or_taken(
    house: GateHouse, neighbour: GateHouse, pair: tuple[User, User]
) -> None:
    first, second = pair
    stranger = neighbour.keepers[0]
    answer = browser(house, first).get(page("delegation_add"))
    assert stranger.user_id not in text_of(answer)
    browser(house, first).post(page("delegation_add"), sent(first, stranger))
    assert not Delegation.objects.exists()
    browser(house, first).post(page("delegation_add"), sent(first, second))
    made = Delegation.objects.get()
    assert neighbour.browser("admin").post(page("delegation_end", made.pk)).status_code == 404
