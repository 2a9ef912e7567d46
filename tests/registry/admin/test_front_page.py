"""The registry's part of the front page, the menu and the global search."""

from __future__ import annotations

import pytest
from django.urls import reverse

from tests.registry.admin.visits import browser, page, text_of, version_page
from tests.registry.house import House
from tests.registry.manifests import orders, refunds


def _front(house: House, name: str) -> str:
    return text_of(browser(house, name).get(reverse("admin:index")))


def _found(house: House, name: str, words: str) -> str:
    return text_of(browser(house, name).get(reverse("admin:find"), {"q": words}))


@pytest.mark.proves("D3")
def test_a_review_waits_for_those_who_may_decide_it(house: House) -> None:
    version = house.in_review(refunds())
    address = version_page(version, "review")
    assert address in _front(house, "reviewer")
    assert address in _front(house, "admin")
    assert address not in _front(house, "author")
    assert address not in _front(house, "operator")
    house.approve(version, by="reviewer", accepted_warnings=house._warnings(version))
    assert address not in _front(house, "reviewer")
    assert address in _front(house, "reviewer2")


def test_an_approved_version_waits_for_those_who_publish(house: House) -> None:
    version = house.approved(orders())
    assert "Approved, to be published" in _front(house, "admin")
    assert version_page(version) not in _front(house, "operator")


def test_published_failing_and_blocked_things_have_their_columns(house: House) -> None:
    house.published(orders())
    house.draft(refunds(owner_role=""))
    house.throw("capability", "orders.lookup", reason="Wrong totals.")
    shown = _front(house, "author")
    assert "adp_orders 1.0.0, 1 capability" in shown
    assert "Your drafts with blocking findings" in shown
    assert "Wrong totals." in shown
    assert "Your drafts with blocking findings" not in _front(house, "reviewer")


def test_changes_asked_of_an_author_wait_until_they_begin_anew(house: House) -> None:
    version = house.request_changes(house.in_review(orders(version="1.0.0")))
    assert "Changes asked of you" in _front(house, "author")
    house.draft(orders(version="1.1.0"))
    assert "Changes asked of you" not in _front(house, "author")
    assert version.state == "changes_requested"


def test_the_menu_counts_what_waits_and_what_is_stopped(house: House) -> None:
    house.in_review(orders())
    shown = _front(house, "reviewer")
    assert "Versions in review" in shown
    assert page("adapterversion_changelist") in shown


def test_the_search_finds_pages_adapters_and_capabilities(house: House) -> None:
    version = house.published(refunds())
    capability = page("capability_change", version.capabilities.get().pk)
    assert capability in _found(house, "auditor", "issue_ref")
    assert page("adapter_change", version.adapter_id) in _found(house, "auditor", "payments")
    assert page("killswitch_changelist") in _found(house, "auditor", "kill")
    assert "Nothing found" in _found(house, "auditor", "no such thing")
    assert "at least two letters" in _found(house, "auditor", "x")


def test_the_search_shows_nothing_that_one_may_not_see(house: House, neighbour: House) -> None:
    house.published(refunds())
    assert "Nothing found" in _found(neighbour, "admin", "issue_refund")
    assert "Nothing found" in _found(house, "approver", "issue_refund")


def test_searched_words_are_never_rendered_as_markup(house: House) -> None:
    assert "<script>" not in _found(house, "auditor", "<script>alert(1)</script>").split("<main")[1]
