"""The review page: what changed, ticks, two steps, who may decide."""

from __future__ import annotations

from typing import Any

import pytest

from contextos.review.states import VersionState
from registry.models import AdapterVersion, Review
from tests.registry.admin.visits import browser, text_of, version_page
from tests.registry.house import House
from tests.registry.manifests import Manifest, orders, refunds


def _riskier() -> Manifest:
    changed = refunds(version="1.1.0")
    changed["capabilities"][0]["idempotency"]["dedup_window_seconds"] = 60
    return changed


def _warned() -> Manifest:
    """One warning that a reviewer has to tick."""
    manifest = orders()
    manifest.pop("rollback_notes")
    return manifest


def _decision(version: AdapterVersion, verdict: str, **more: Any) -> dict[str, Any]:
    return {"verdict": verdict, "reason": "Read in full.", "digest": version.digest, **more}


def _ticks(version: AdapterVersion) -> list[str]:
    return [finding.tick_id for finding in version.findings.filter(severity="warn")]


@pytest.mark.proves("B3")
def test_widenings_come_first_with_both_sides(house: House) -> None:
    house.published(refunds(version="1.0.0"))
    version = house.in_review(_riskier())
    shown = text_of(browser(house, "reviewer").get(version_page(version, "review")))
    assert "86400" in shown
    assert "60" in shown
    assert shown.index("reg-change--widens") < shown.index("reg-change--neutral")
    assert "parts are unchanged" in shown
    assert "0 of 2 approvals" in shown


def test_changes_can_be_narrowed_to_one_direction(house: House) -> None:
    house.published(refunds(version="1.0.0"))
    version = house.in_review(_riskier())
    visitor = browser(house, "reviewer")
    shown = text_of(visitor.get(version_page(version, "review"), {"direction": "widens"}))
    assert "reg-change--widens" in shown
    assert "reg-change--neutral" not in shown


def test_a_first_version_is_shown_as_all_new(house: House) -> None:
    version = house.in_review(orders())
    shown = text_of(browser(house, "reviewer").get(version_page(version, "review")))
    assert "all of it is new" in shown


@pytest.mark.proves("B3")
def test_a_decision_takes_two_steps(house: House) -> None:
    version = house.in_review(orders())
    visitor, address = browser(house, "reviewer"), version_page(version, "review")
    asked = visitor.post(address, _decision(version, "approve"))
    assert version.digest in text_of(asked)
    assert house.fresh(version).state == VersionState.IN_REVIEW
    answer = visitor.post(address, _decision(version, "approve", confirmed="yes"))
    assert answer.status_code == 302
    assert house.fresh(version).state == VersionState.APPROVED


@pytest.mark.proves("B3")
def test_two_people_are_needed_for_something_destructive(house: House) -> None:
    version = house.in_review(refunds())
    ticks = _ticks(version)
    given = _decision(version, "approve", confirmed="yes", tick=ticks)
    browser(house, "reviewer").post(version_page(version, "review"), given)
    second = browser(house, "reviewer2")
    assert "1 of 2 approvals" in text_of(second.get(version_page(version, "review")))
    second.post(version_page(version, "review"), given)
    assert house.fresh(version).state == VersionState.APPROVED


def test_each_warning_has_to_be_ticked(house: House) -> None:
    version = house.in_review(_warned())
    ticks = _ticks(version)
    assert ticks
    visitor, address = browser(house, "reviewer"), version_page(version, "review")
    refused = visitor.post(address, _decision(version, "approve"))
    assert refused.status_code == 422
    assert "warnings are not ticked" in text_of(refused)
    assert visitor.post(address, _decision(version, "approve", tick=ticks)).status_code == 200
    visitor.post(address, _decision(version, "approve", tick=ticks, confirmed="yes"))
    assert house.fresh(version).state == VersionState.APPROVED
    assert Review.objects.get(version=version).accepted_warnings == ticks


def test_refusing_needs_no_ticks_but_a_reason(house: House) -> None:
    version = house.in_review(_warned())
    visitor, address = browser(house, "reviewer"), version_page(version, "review")
    empty = visitor.post(address, _decision(version, "reject", reason="  ", confirmed="yes"))
    assert empty.status_code == 422
    visitor.post(address, _decision(version, "request_changes", confirmed="yes"))
    assert house.fresh(version).state == VersionState.CHANGES_REQUESTED


def test_another_digest_than_the_shown_one_decides_nothing(house: House) -> None:
    version = house.in_review(orders())
    given = _decision(version, "approve", confirmed="yes") | {"digest": "sha256:" + "0" * 64}
    answer = browser(house, "reviewer").post(version_page(version, "review"), given)
    assert answer.status_code == 422
    assert "not the one that was shown" in text_of(answer)
    assert house.fresh(version).state == VersionState.IN_REVIEW


def test_the_author_reads_why_they_cannot_approve(house: House) -> None:
    version = house.submit(house.draft(orders(), by="admin"), by="admin")
    visitor, address = browser(house, "admin"), version_page(version, "review")
    shown = text_of(visitor.get(address))
    assert "You wrote on this version" in shown
    assert "Approve …" not in shown
    answer = visitor.post(address, _decision(version, "approve", confirmed="yes"))
    assert "Nobody approves what they wrote" in text_of(answer)
    assert house.fresh(version).state == VersionState.IN_REVIEW


@pytest.mark.parametrize("name", ["author", "auditor", "operator"])
def test_who_does_not_review_gets_no_buttons_and_no_vote(house: House, name: str) -> None:
    version = house.in_review(orders())
    visitor, address = browser(house, name), version_page(version, "review")
    assert "Approve …" not in text_of(visitor.get(address))
    answer = visitor.post(address, _decision(version, "approve", confirmed="yes"))
    assert answer.status_code == 403
    assert house.fresh(version).state == VersionState.IN_REVIEW


def test_a_second_decision_of_the_same_person_is_refused_in_words(house: House) -> None:
    version = house.in_review(refunds())
    visitor, address = browser(house, "reviewer"), version_page(version, "review")
    given = _decision(version, "approve", confirmed="yes", tick=_ticks(version))
    visitor.post(address, given)
    assert "You have decided on this version already" in text_of(visitor.get(address))
    assert "already decided" in text_of(visitor.post(address, given))
    assert Review.objects.filter(version=version).count() == 1


def test_the_thread_takes_comments_of_authors_and_reviewers(house: House) -> None:
    version = house.in_review(orders())
    address = version_page(version, "comment")
    for name in ("reviewer", "author"):
        browser(house, name).post(address, {"text": f"A word by {name} <b>"})
    shown = text_of(browser(house, "auditor").get(version_page(version, "review")))
    assert "A word by reviewer &lt;b&gt;" in shown
    assert "A word by author" in shown
    assert browser(house, "auditor").post(address, {"text": "Me too"}).status_code == 403
    assert house.fresh(version).state == VersionState.IN_REVIEW


def test_hidden_characters_in_a_change_are_spelt_out(house: House) -> None:
    house.published(orders(version="1.0.0"))
    changed = orders(version="1.1.0")
    changed["capabilities"][0]["description"] = "Look\u200b up <b>one</b> order."
    version = house.in_review(changed)
    shown = text_of(browser(house, "reviewer").get(version_page(version, "review")))
    assert "⟨U+200B⟩" in shown
    assert "&lt;b&gt;one" in shown
    assert "\u200b" not in shown


def test_a_version_published_meanwhile_is_pointed_out(house: House) -> None:
    house.published(orders(version="1.0.0"))
    version = house.in_review(orders(version="1.1.0"))
    house.published(orders(version="1.2.0"))
    shown = text_of(browser(house, "reviewer").get(version_page(version, "review")))
    assert "Meanwhile" in shown
    assert "1.2.0" in shown
