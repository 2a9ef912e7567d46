"""Submit, publish, roll back and retire: each page says what follows before it happens."""

from __future__ import annotations

import pytest

from audit.models import AuditEvent
from contextos.review.states import VersionState
from tests.registry.admin.visits import browser, text_of, version_page
from tests.registry.house import House
from tests.registry.manifests import orders, refunds


def test_submitting_says_how_many_people_it_takes(house: House) -> None:
    version = house.draft(refunds())
    visitor, address = browser(house, "author"), version_page(version, "submit")
    assert "2 people other than its authors" in text_of(visitor.get(address))
    assert house.fresh(version).state == VersionState.DRAFT
    visitor.post(address, {"digest": version.digest})
    assert house.fresh(version).state == VersionState.IN_REVIEW


def test_a_draft_edited_meanwhile_is_not_submitted_unseen(house: House) -> None:
    version = house.draft(orders())
    house.edit(version, orders(version=version.version, name="Other"), by="admin")
    answer = browser(house, "author").post(
        version_page(version, "submit"), {"digest": version.digest}
    )
    assert answer.status_code == 422
    assert house.fresh(version).state == VersionState.DRAFT


def test_blocking_findings_are_named_when_somebody_submits_all_the_same(house: House) -> None:
    version = house.draft(orders(owner_role=""))
    answer = browser(house, "author").post(
        version_page(version, "submit"), {"digest": version.digest}
    )
    assert answer.status_code == 422
    assert "blocking findings stop the submission" in text_of(answer)


@pytest.mark.proves("B2", "B17")
def test_publishing_names_what_is_replaced_and_signs(house: House) -> None:
    old = house.published(orders(version="1.0.0"))
    new = house.approved(orders(version="1.1.0"))
    visitor, address = browser(house, "admin"), version_page(new, "publish")
    asked = text_of(visitor.get(address))
    assert f"{old} is deprecated" in asked
    assert "pending" in asked
    assert "void" in asked
    visitor.post(address, {"notes": "Tell the support desk."})
    assert house.fresh(new).state == VersionState.PUBLISHED
    assert house.fresh(new).publication_notes == "Tell the support desk."
    assert house.fresh(old).state == VersionState.DEPRECATED
    assert "signature verified now" in text_of(visitor.get(version_page(new)))


@pytest.mark.proves("B17")
def test_a_rollback_is_one_confirmed_click_and_recorded(house: House) -> None:
    old = house.published(orders(version="1.0.0"))
    new = house.published(orders(version="1.1.0"))
    visitor, address = browser(house, "admin"), version_page(old, "publish")
    assert "Roll back to adp_orders 1.0.0" in text_of(visitor.get(address))
    visitor.post(address, {"notes": "Refund totals were wrong."})
    assert house.fresh(old).state == VersionState.PUBLISHED
    assert house.fresh(new).state == VersionState.DEPRECATED
    event = AuditEvent.objects.get(action="adapter_version.rolled_back")
    assert event.actor_id == house.user("admin").user_id
    assert "Refund totals were wrong." in event.text


def test_retiring_needs_a_reason_and_is_for_good(house: House) -> None:
    version = house.published(orders())
    visitor, address = browser(house, "admin"), version_page(version, "retire")
    assert "can&#x27;t be published again" in text_of(visitor.get(address))
    assert visitor.post(address, {"reason": " "}).status_code == 422
    visitor.post(address, {"reason": "The service is switched off."})
    assert house.fresh(version).state == VersionState.RETIRED
    answer = visitor.post(version_page(version, "publish"), {"notes": ""})
    assert answer.status_code == 422


def test_a_name_taken_by_another_adapter_is_told_on_the_page(house: House) -> None:
    house.published(orders())
    other = house.approved(orders(adapter_id="adp_orders_copy"))
    answer = browser(house, "admin").post(version_page(other, "publish"), {"notes": ""})
    assert answer.status_code == 422
    assert "already published by" in text_of(answer)
    assert house.fresh(other).state == VersionState.APPROVED


@pytest.mark.parametrize("name", ["author", "reviewer", "auditor", "operator"])
@pytest.mark.parametrize("verb", ["publish", "retire"])
def test_only_platform_admins_publish_and_retire(house: House, name: str, verb: str) -> None:
    version = house.approved(orders())
    visitor = browser(house, name)
    shown = text_of(visitor.get(version_page(version)))
    assert version_page(version, verb) not in shown
    address = version_page(version, verb)
    assert visitor.get(address).status_code == 403
    assert visitor.post(address, {"reason": "x", "notes": "x"}).status_code == 403
    assert house.fresh(version).state == VersionState.APPROVED
