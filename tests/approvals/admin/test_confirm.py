"""The confirm step: digest, reason, code, two tabs, back button, in whose name, how long seen."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from approvals.models import ApprovalRequest, Vote
from approvals.services.delegations import delegate
from tests.approvals.admin.desk import Desk, page
from tests.approvals.admin.rows import TERMS
from tests.factories import SYSTEM


def _state(request: ApprovalRequest) -> str:
    return str(ApprovalRequest.objects.get(pk=request.pk).state)


@pytest.mark.proves("D3", "D5")
def test_an_approval_with_reason_and_code_decides(desk: Desk) -> None:
    request = desk.request()
    form = desk.fin1.get(page(request, "approve")).text
    assert 'autocomplete="one-time-code"' in form
    assert 'inputmode="numeric"' in form
    assert f'name="digest" value="{request.digest}"' in form
    answer = desk.vote(request, "fin1")
    assert answer["Location"] == f"{page(request)}?voted=1"
    assert _state(request) == "approved"
    vote = Vote.objects.get()
    assert (vote.factor, vote.digest) == ("totp", request.digest)
    after = desk.fin1.get(answer["Location"]).text
    assert "Next request" in after


@pytest.mark.proves("D5")
def test_a_rejection_needs_a_reason_and_no_code(desk: Desk) -> None:
    request = desk.request()
    assert 'name="code"' not in desk.fin1.get(page(request, "reject")).text
    assert desk.vote(request, "fin1", "reject", reason="Not ours.").status_code == 302
    assert _state(request) == "rejected"


@pytest.mark.parametrize("reason", ["", "   ", "\u00a0\u2003", "\u200b\u2060", "…", "\u3164"])
@pytest.mark.parametrize("verdict", ["approve", "reject"])
def test_a_reason_that_says_nothing_is_told_in_place(desk: Desk, reason: str, verdict: str) -> None:
    request = desk.request()
    answer = desk.vote(request, "fin1", verdict, reason=reason)
    assert answer.status_code == 422
    assert 'id="id_reason_error"' in answer.text
    assert _state(request) == "pending"


def test_a_lesser_call_is_approved_without_reason_and_code(desk: Desk) -> None:
    request = desk.request(effective_mode="network")
    assert 'name="code"' not in desk.fin1.get(page(request, "approve")).text
    assert desk.vote(request, "fin1", reason="").status_code == 302
    assert _state(request) == "approved"


@pytest.mark.parametrize("code", ["", "12345x", "000000", "٠٠٠٠٠٠"])
def test_a_wrong_code_keeps_what_was_typed(desk: Desk, code: str) -> None:
    request = desk.request()
    answer = desk.vote(request, "fin1", code=code, reason="Asked the shop about it.")
    assert answer.status_code == 422
    assert 'id="id_code_error"' in answer.text
    assert "Asked the shop about it." in answer.text
    assert _state(request) == "pending"


@pytest.mark.proves("D3")
def test_a_code_serves_one_request_only(desk: Desk) -> None:
    first, second = desk.request(), desk.request()
    code = desk.code("fin1")
    assert desk.vote(first, "fin1", code=code).status_code == 302
    again = desk.vote(second, "fin1", code=code)
    assert again.status_code == 422
    assert "was used already" in again.text
    assert _state(second) == "pending"


@pytest.mark.proves("D2")
@pytest.mark.parametrize("digest", ["", "sha256:" + "0" * 64])
def test_a_vote_on_something_else_is_a_clear_conflict(desk: Desk, digest: str) -> None:
    request = desk.request()
    answer = desk.vote(request, "fin1", digest=digest)
    assert answer.status_code == 409
    assert "This is not the request you looked at" in answer.text
    assert _state(request) == "pending"


@pytest.mark.proves("D4")
def test_the_second_tab_and_the_back_button_learn_who_decided(desk: Desk) -> None:
    request = desk.request()
    desk.fin2.get(page(request, "approve"))
    desk.vote(request, "fin1", "reject", reason="Not ours.")
    for attempt in (
        desk.vote(request, "fin2"),
        desk.vote(request, "fin1"),
        desk.fin1.get(page(request, "approve")),
    ):
        assert attempt.status_code == 409
        assert "Decided meanwhile" in attempt.text
        assert f"{desk.person('fin1').username} rejected it" in attempt.text
        assert "Next request" in attempt.text
    assert Vote.objects.count() == 1


def test_a_second_vote_of_the_same_person_is_a_conflict_while_it_waits(desk: Desk) -> None:
    two = {**TERMS, "stages": [{"name": "finance", "groups": ["finance"], "quorum": 2}]}
    request = desk.request(effective_mode="network", terms=two)
    told = desk.fin1.get(desk.vote(request, "fin1")["Location"])
    assert "1 of 2" in told.text
    again = desk.vote(request, "fin1", "reject")
    assert again.status_code == 409
    assert "You have voted already" in again.text
    assert Vote.objects.count() == 1


@pytest.mark.proves("D4")
@pytest.mark.parametrize("state", ["expired", "cancelled", "voided", "consumed"])
def test_what_is_over_can_not_be_decided(desk: Desk, state: str) -> None:
    request = desk.request(state=state, decided_at=timezone.now(), void_reason="The gate changed.")
    answer = desk.vote(request, "fin1")
    assert answer.status_code == 409
    assert "The gate changed." in answer.text


def test_what_ran_out_a_moment_ago_says_so_before_the_sweep_came(desk: Desk) -> None:
    request = desk.request(expires_at=timezone.now() - timedelta(seconds=1))
    answer = desk.vote(request, "fin1")
    assert answer.status_code == 409
    assert "Its time is up" in answer.text


# --- in somebody's name --------------------------------------------------------------------------
def _lend(desk: Desk, giver: str, stand_in: str, **scope: Any) -> None:
    delegate(
        tenant_id=desk.tenant.pk,
        giver=desk.person(giver),
        stand_in=desk.person(stand_in),
        starts_at=timezone.now() - timedelta(hours=1),
        ends_at=timezone.now() + timedelta(hours=1),
        reason="On leave.",
        actor=SYSTEM,
        **scope,
    )


@pytest.mark.proves("D5")
def test_a_stand_in_votes_for_somebody_and_both_names_stand_there(desk: Desk) -> None:
    request = desk.request(effective_mode="network")
    helper = desk.browser("helper")
    assert helper.get(page(request)).status_code == 404
    _lend(desk, "fin2", "helper")
    giver = desk.person("fin2")
    assert f"For {giver.username}" in helper.get(page(request, "approve")).text
    sent = {"on_behalf_of": giver.user_id, "digest": request.digest, "reason": "As agreed."}
    assert helper.post(page(request, "approve"), sent).status_code == 302
    vote = Vote.objects.get()
    assert (vote.approver, vote.on_behalf_of) == (desk.person("helper"), giver)
    shown = desk.fin1.get(page(request)).text
    assert f"{desk.person('helper').username}, for {giver.username}" in shown


def test_nobody_votes_for_somebody_who_did_not_delegate(desk: Desk) -> None:
    request = desk.request(effective_mode="network")
    _lend(desk, "fin2", "helper", gates=["ANOTHER_GATE"])
    assert desk.browser("helper").get(page(request)).status_code == 404
    sent = {"on_behalf_of": desk.person("fin2").user_id, "digest": request.digest}
    desk.fin1.post(page(request, "approve"), sent)
    assert not Vote.objects.filter(on_behalf_of__isnull=False).exists()


# --- how long it was looked at -------------------------------------------------------------------
@pytest.mark.proves("D5")
def test_the_seconds_from_opening_to_voting_are_kept(desk: Desk, time_machine: Any) -> None:
    request = desk.request(effective_mode="network")
    now = timezone.now()
    time_machine.move_to(now, tick=False)
    mark = desk.fin1.get(page(request)).context["seen"]
    time_machine.move_to(now + timedelta(seconds=42), tick=False)
    form = desk.fin1.get(page(request, "approve"), {"seen": mark})
    assert form.context["seen"] == mark
    desk.vote(request, "fin1", seen=mark)
    assert Vote.objects.get().seconds_seen == pytest.approx(42, abs=0.01)


def test_a_mark_of_another_request_or_person_tells_nothing(desk: Desk) -> None:
    first, second = desk.request(effective_mode="network"), desk.request(effective_mode="network")
    mark = desk.fin1.get(page(first)).context["seen"]
    desk.vote(second, "fin1", seen=mark)
    desk.vote(first, "fin2", seen=mark)
    assert {vote.seconds_seen for vote in Vote.objects.all()} == {None}
