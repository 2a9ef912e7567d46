"""Who may say yes, to what, and how often."""

from __future__ import annotations

from typing import Any

import pytest

from contextos.core.errors import ContextOSError
from contextos.core.events import automation
from contextos.identity.actors import person
from contextos.identity.models import User
from registry.models import AdapterVersion
from registry.services import lifecycle
from tests.factories import grant, make_superuser
from tests.registry.house import House
from tests.registry.manifests import blocked, orders, refunds, with_warning


def refused(code: str, act: Any, *args: Any, **kwargs: Any) -> ContextOSError:
    with pytest.raises(ContextOSError) as caught:
        act(*args, **kwargs)
    assert caught.value.code == code
    return caught.value


def _said(house: House, user: User, version: AdapterVersion) -> dict[str, Any]:
    actor = person(user, house.tenant_id)
    return {"version_id": version.pk, "reviewer": user, "actor": actor, "reason": "Fine."}


@pytest.mark.proves("B3")
@pytest.mark.parametrize("step", [lifecycle.approve, lifecycle.reject, lifecycle.request_changes])
def test_the_author_decides_nothing_about_their_own_version(house: House, step: Any) -> None:
    grant(house.author, house.tenant, "manifest_reviewer")
    grant(house.author, house.tenant, "platform_admin")
    version = house.in_review(orders())
    refused("review.author_cannot_approve", step, **_said(house, house.author, version))
    assert house.fresh(version).state == "in_review"


@pytest.mark.proves("B3")
def test_whoever_edited_the_draft_can_not_approve_it(house: House) -> None:
    draft = house.draft(orders())
    house.edit(draft, orders(name="Orders, better"), by="admin")
    version = house.submit(draft)
    refused("review.author_cannot_approve", house.approve, version, by="admin")
    assert house.approve(version).state == "approved"


@pytest.mark.proves("B3")
def test_a_platform_admin_may_author_review_and_publish_but_not_the_same_version(
    house: House,
) -> None:
    own = house.submit(house.draft(orders(), by="admin"), by="admin")
    refused("review.author_cannot_approve", house.approve, own, by="admin")
    other = house.in_review(orders(adapter_id="adp_other"))
    house.approve(other, by="admin")
    assert house.publish(other).state == "published"


@pytest.mark.proves("B3")
@pytest.mark.parametrize("name", ["author", "auditor", "operator", "approver", "service"])
def test_reviewing_needs_a_role_that_reviews(house: House, name: str) -> None:
    version = house.submit(house.draft(orders(), by="admin"), by="admin")
    refused("review.not_reviewer", house.approve, version, by=name)


@pytest.mark.proves("B3")
def test_being_superuser_confers_no_vote(house: House) -> None:
    version = house.in_review(orders())
    root = make_superuser()
    refused(
        "review.not_reviewer",
        lifecycle.approve,
        version_id=version.pk,
        reviewer=root,
        actor=person(root, None),
        reason="I run the installation.",
    )


@pytest.mark.proves("B3")
def test_a_reviewer_of_another_tenant_is_refused(house: House, neighbour: House) -> None:
    version = house.in_review(orders())
    stranger = neighbour.user("reviewer")
    said = {"version_id": version.pk, "reviewer": stranger, "reason": "Fine."}
    refused("tenant.forbidden", lifecycle.approve, actor=neighbour.actor("reviewer"), **said)
    borrowed = person(stranger, house.tenant_id)
    refused("review.not_reviewer", lifecycle.approve, actor=borrowed, **said)


@pytest.mark.proves("B3")
def test_nobody_reviews_in_the_name_of_another(house: House) -> None:
    version = house.in_review(orders())
    said = {"version_id": version.pk, "reviewer": house.user("reviewer"), "reason": "Fine."}
    for actor in (house.actor("author"), automation("script")):
        refused("review.not_reviewer", lifecycle.approve, actor=actor, **said)


@pytest.mark.proves("B2", "B3")
def test_a_destructive_manifest_needs_two_different_people(house: House) -> None:
    version = house.in_review(refunds())
    assert version.reviewers_needed == 2
    assert house.approve(version, by="reviewer").state == "in_review"
    refused("review.already_decided", house.approve, version, by="reviewer")
    refused("state.transition_refused", house.publish, version)
    assert house.approve(version, by="reviewer2").state == "approved"


@pytest.mark.proves("B3")
def test_one_no_ends_a_review_that_had_a_yes(house: House) -> None:
    version = house.in_review(refunds())
    house.approve(version, by="reviewer")
    assert house.reject(version, by="reviewer2").state == "rejected"
    refused("state.transition_refused", house.approve, version, by="admin")


@pytest.mark.parametrize("reason", ["", "   \n"])
@pytest.mark.parametrize("step", ["approve", "reject", "request_changes", "retire"])
def test_every_decision_needs_a_reason(house: House, step: str, reason: str) -> None:
    version = house.in_review(orders())
    if step == "retire":
        house.approve(version)
    refused("review.reason_missing", getattr(house, step), version, reason=reason)


@pytest.mark.proves("B3")
def test_what_was_read_is_what_is_approved(house: House) -> None:
    draft = house.draft(orders())
    shown = draft.digest
    version = house.submit(house.edit(draft, orders(name="Other"), by="author"))
    error = refused("review.stale_digest", house.approve, version, digest=shown)
    assert error.data == {"shown": shown, "current": version.digest}
    assert house.approve(version, digest=version.digest).state == "approved"


@pytest.mark.proves("B4")
def test_blocking_findings_stop_the_submission(house: House) -> None:
    draft = house.draft(blocked())
    error = refused("review.blocked_by_findings", house.submit, draft)
    assert error.data["findings"] == [
        "capability.approval_mode.missing@/capabilities/0/approval_mode"
    ]
    assert house.fresh(draft).state == "draft"
    house.edit(draft, orders(), by="author")
    assert house.submit(draft).state == "in_review"


@pytest.mark.proves("B4")
def test_a_draft_is_linted_again_when_it_is_submitted(house: House) -> None:
    draft = house.draft(blocked())
    draft.findings.all().delete()  # as if saved before the rule existed
    refused("review.blocked_by_findings", house.submit, draft)


@pytest.mark.proves("B3")
def test_every_warning_has_to_be_ticked(house: House) -> None:
    version = house.in_review(with_warning())
    error = refused("review.warnings_not_ticked", house.approve, version)
    assert error.data == {"not_accepted": ["auth.none_in_production@/auth/type"]}
    refused("review.warnings_not_ticked", house.approve, version, accepted_warnings=["auth.other"])
    assert not version.reviews.exists()
    house.approve(version, accepted_warnings=["auth.none_in_production@/auth/type"])
    assert version.reviews.get().accepted_warnings == ["auth.none_in_production@/auth/type"]


@pytest.mark.proves("B3")
def test_a_rule_ticks_all_its_places_and_the_places_are_kept(house: House) -> None:
    version = house.in_review(with_warning())
    house.approve(version, accepted_warnings=["auth.none_in_production", "not.there"])
    assert version.reviews.get().accepted_warnings == ["auth.none_in_production@/auth/type"]


@pytest.mark.proves("B3")
def test_each_of_two_reviewers_ticks_for_themselves(house: House) -> None:
    version = house.in_review(refunds(auth={"type": "none", "reason": "Inside."}))
    ticks = [finding.tick_id for finding in version.findings.filter(severity="warn")]
    assert ticks
    house.approve(version, by="reviewer", accepted_warnings=ticks)
    refused("review.warnings_not_ticked", house.approve, version, by="reviewer2")


def test_a_comment_changes_nothing_and_needs_words(house: House) -> None:
    version = house.in_review(orders())
    said: dict[str, Any] = {
        "version_id": version.pk,
        "reviewer": house.author,
        "actor": house.actor("author"),
    }
    lifecycle.comment(text="The owner is away until Monday.", **said)
    refused("review.reason_missing", lifecycle.comment, text=" ", **said)
    assert house.fresh(version).state == "in_review"
    assert [entry.verdict for entry in version.reviews.all()] == ["comment"]
