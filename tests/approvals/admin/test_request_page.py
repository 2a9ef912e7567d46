"""The page of one request: all arguments, hostile text, risk by rule, history, questions."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from approvals.models import ApprovalRequest, Remark
from audit.models import Payload
from tests.approvals.admin.desk import QUEUE, Desk, page
from tests.approvals.admin.rows import TERMS, VIEW

HOSTILE = "<script>alert(1)</script><b>bold</b> \u202egnp.exe\u200b\u2066 zero\u200dwidth &amp;"
SHOWN = (
    "&lt;script&gt;alert(1)&lt;/script&gt;&lt;b&gt;bold&lt;/b&gt; ⟨U+202E⟩gnp.exe⟨U+200B⟩⟨U+2066⟩"
)


def _clean(page_text: str) -> None:
    """Nothing of it acts; the values of choices, which nobody sees, have to stay exact."""
    text = re.sub(r'<option value="[^"]*"', "<option", page_text)
    assert "<script>alert(1)" not in text
    assert "<b>bold</b>" not in text
    for character in "\u202e\u200b\u2066\u200d":
        assert character not in text


# --- arguments -----------------------------------------------------------------------------------
@pytest.mark.proves("D2")
def test_every_argument_stands_there_with_its_label_and_unit(desk: Desk) -> None:
    args = {
        "amount_inr": 420000,
        "transaction_id": "txn_4200",
        "urgent": True,
        "note": None,
        "lines": [{"sku": "A-1", "quantity": 2}, {"sku": "B-2", "quantity": 1250}],
        "address": {"city": "Pune", "geo": {"lat": 18.5204}},
        "empty": [],
    }
    text = desk.fin1.get(page(desk.request(args=args))).text
    for words in (
        "Amount to refund",
        "In whole rupees.",
        "<b>420,000</b> INR",
        "txn_4200",
        "<b>yes</b>",
        "A-1",
        "<b>1,250</b>",
        "Pune",
        "18.5204",
        "an empty list",
        "Lines, number 2",
    ):
        assert words in text, words


@pytest.mark.parametrize("place", ["page", "confirm"])
def test_secrets_are_masked_by_schema_and_by_name(desk: Desk, place: str) -> None:
    args = {
        "pin": "hidden-by-schema",
        "card": {"seal": "hidden-by-pointer", "holder": "Ann"},
        "api_key": "hidden-by-name",
        "nested": {"password": "hidden-deep"},
        "plain": "[redacted]",
    }
    view = {"labels": {"pin": {"writeOnly": "True"}}, "secrets": ["/card/seal"]}
    request = desk.request(args=args, view=view)
    text = desk.fin1.get(page(request, "change" if place == "page" else "approve")).text
    assert "hidden-" not in text
    assert text.count("masked: a secret") == 4
    assert "Ann" in text


@pytest.mark.proves("D2")
def test_hostile_text_in_every_place_is_shown_and_does_nothing(desk: Desk) -> None:
    args = {"note": HOSTILE, HOSTILE: "value", "list": [HOSTILE, {"deep": HOSTILE}]}
    view = {
        "summary": HOSTILE,
        "capability": {**VIEW["capability"], "description": HOSTILE, "adapter_id": HOSTILE},
        "policy": {
            "reason": HOSTILE,
            "matched_rule_ids": [HOSTILE],
            "bundle_versions": [f"{HOSTILE}@1.0.0"],
        },
        "requested_by": [{"kind": HOSTILE, "id": HOSTILE}],
        "evidence_refs": [HOSTILE],
        "intent": HOSTILE,
        "environment": HOSTILE,
        "labels": {"note": {"title": HOSTILE, "description": HOSTILE, "x-unit": HOSTILE}},
    }
    request = desk.request(
        args=args, view=view, capability_id=HOSTILE, agent_id=HOSTILE, user_id=HOSTILE[:30]
    )
    for address in (QUEUE, page(request), page(request, "approve"), page(request, "reject")):
        answer = desk.fin1.get(address)
        assert answer.status_code == 200
        _clean(answer.text)
        assert "⟨U+202E⟩" in answer.text
    assert SHOWN in desk.fin1.get(page(request)).text
    assert "characters that can't be seen" in desk.fin1.get(page(request)).text


def test_hostile_names_of_people_and_words_of_theirs_are_shown_and_do_nothing(desk: Desk) -> None:
    fin2 = desk.person("fin2")
    fin2.first_name, fin2.last_name = HOSTILE[:30], HOSTILE[-30:]
    fin2.save()
    request = desk.request(effective_mode="network")
    desk.fin2.post(page(request, "say"), {"kind": "comment", "text": HOSTILE})
    desk.vote(request, "fin2", "reject", reason=HOSTILE)
    for address in (page(request), page(request, "approve")):
        answer = desk.fin1.get(address)
        _clean(answer.text)
        assert "⟨U+" in answer.text


@pytest.mark.parametrize("stages", [1, 2])
def test_what_was_approved_is_shown_with_the_votes_that_approved_it(
    desk: Desk, stages: int
) -> None:
    stage = {"groups": ["finance"], "quorum": 1}
    terms = {**TERMS, "stages": [{**stage, "name": f"stage{at}"} for at in range(stages)]}
    request = desk.request(effective_mode="network", terms=terms)
    for name in ("fin1", "fin2")[:stages]:
        assert desk.vote(request, name).status_code == 302
    assert ApprovalRequest.objects.get(pk=request.pk).stage == stages
    for address in (page(request), f"{QUEUE}?show=ended"):
        assert "1 of 1 approved" in desk.fin1.get(address).text


def test_erased_arguments_say_so(desk: Desk) -> None:
    request = desk.request()
    Payload.objects.update(sealed=None, erased_at=timezone.now())
    answer = desk.fin1.get(page(request))
    assert answer.status_code == 200
    assert "erased" in answer.text


def test_the_policy_the_rule_and_the_digest_are_named(desk: Desk) -> None:
    request = desk.request()
    text = desk.fin1.get(page(request)).text
    for words in ("Every refund waits for finance.", "refund_needs_finance", "refunds@1.1.0"):
        assert words in text
    assert request.digest in text
    assert "can&#x27;t be reversed" in text or "can't be reversed" in text


# --- risk ----------------------------------------------------------------------------------------
def _risk(text: str) -> str:
    start = text.index('<ul class="ap-risk">')
    return text[start : text.index("</ul>", start)]


@pytest.mark.proves("D2")
def test_nothing_an_agent_writes_changes_a_byte_of_the_risk_summary(desk: Desk) -> None:
    at = timezone.now() - timedelta(minutes=5)
    calm = desk.request(args={"amount_inr": 4200, "note": "Thanks."}, created_at=at)
    loud = desk.request(
        args={"amount_inr": 4200, "note": f"SAFE, approve at once. {HOSTILE}"},
        view={"evidence_refs": ["ev_looks_fine"]},
        created_at=at,
    )
    both = [_risk(desk.fin1.get(page(request)).text) for request in (calm, loud)]
    assert both[0] == both[1]


def test_similar_decisions_tell_amount_outcome_time_and_names(desk: Desk) -> None:
    before = desk.request(
        effective_mode="network", amount="900", created_at=timezone.now() - timedelta(hours=2)
    )
    desk.vote(before, "fin2", "reject", reason="Not ours.")
    desk.request(capability_id="mail.send", state="rejected", decided_at=timezone.now())
    text = desk.fin1.get(page(desk.request())).text
    part = text[text.index("The last decisions about") :]
    table = part[: part.index("</table>")]
    assert "900 INR" in table
    assert "Rejected" in table
    assert "2 hours" in table
    assert desk.person("fin2").username in table
    assert table.count("<tr>") == 2


# --- talk ----------------------------------------------------------------------------------------
@pytest.mark.proves("D5")
def test_a_question_stops_the_clock_and_an_answer_lets_it_go_on(desk: Desk) -> None:
    request = desk.request()
    digest = request.digest
    desk.fin1.post(page(request, "say"), {"kind": "question", "text": "Whose is it?"})
    assert ApprovalRequest.objects.get().question_open is True
    assert "the clock stands still" in desk.fin2.get(page(request)).text
    desk.fin2.post(page(request, "say"), {"kind": "answer", "text": "Mine."})
    answered = ApprovalRequest.objects.get()
    assert (answered.question_open, answered.digest) == (False, digest)
    shown = desk.fin1.get(page(request)).text
    assert "Whose is it?" in shown
    assert "Mine." in shown


def test_who_had_a_part_in_it_may_answer_although_they_can_not_decide(desk: Desk) -> None:
    owner = desk.person("owner", "operator")
    request = desk.request(excluded=[owner.user_id])
    desk.fin1.post(page(request, "say"), {"kind": "question", "text": "Why?"})
    answer = desk.browser("owner").post(
        page(request, "say"), {"kind": "answer", "text": "The parcel was lost."}
    )
    assert answer.status_code == 302
    assert Remark.objects.filter(kind="answer", author=owner).count() == 1


def test_an_empty_comment_is_told_in_place_and_what_was_typed_is_kept(desk: Desk) -> None:
    request = desk.request()
    answer = desk.fin1.post(page(request, "say"), {"kind": "comment", "text": " \n "})
    assert answer.status_code == 422
    assert "id_text_error" in answer.text
    late = desk.fin1.post(page(request, "say"), {"kind": "answer", "text": "To nothing"})
    assert late.status_code == 422
    assert "To nothing" in late.text


# --- history, withdrawing ------------------------------------------------------------------------
@pytest.mark.proves("D5")
def test_the_history_is_fit_for_print(desk: Desk) -> None:
    request = desk.request()
    desk.vote(request, "fin1", reason="Seen the receipt.")
    text = desk.fin2.get(page(request)).text
    history = text[text.index('<ol class="ap-history">') :]
    for words in (
        "Asked for",
        "Vote: approved",
        desk.person("fin1").username,
        "Seen the receipt.",
        "code from the app",
        request.digest,
        " UTC</time>",
        "data-local",
    ):
        assert words in history, words


def test_a_vote_is_withdrawn_after_a_question_and_stays_in_the_history(desk: Desk) -> None:
    terms: dict[str, Any] = {**request_terms(), "stages": _two_people()}
    request = desk.request(effective_mode="network", terms=terms)
    desk.vote(request, "fin1")
    assert "Withdraw my vote" in desk.fin1.get(page(request)).text
    assert desk.fin1.get(page(request, "withdraw")).status_code == 200
    desk.fin1.post(page(request, "withdraw"))
    text = desk.fin1.get(page(request)).text
    assert "Vote withdrawn" in text
    assert "data-approve" in text
    assert desk.fin1.post(page(request, "withdraw")).status_code == 409


def request_terms() -> dict[str, Any]:
    from tests.approvals.admin.rows import TERMS

    return TERMS


def _two_people() -> list[dict[str, Any]]:
    return [{"name": "finance", "groups": ["finance"], "quorum": 2}]


def test_who_could_decide_is_named_without_those_who_voted_or_asked(desk: Desk) -> None:
    desk.group("more", "fin3")
    terms = {**request_terms(), "stages": _two_people()}
    request = desk.request(
        effective_mode="network", terms=terms, excluded=[desk.person("fin3").user_id]
    )
    desk.vote(request, "fin1")
    part = desk.fin2.get(page(request)).text.split("Who can decide now", 1)[1][:600]
    assert desk.person("fin2").username in part
    assert desk.person("fin1").username not in part
    assert desk.person("fin3").username not in part


def test_looking_changes_nothing(desk: Desk) -> None:
    request = desk.request()
    before = ApprovalRequest.objects.values().get()
    for name in ("change", "approve", "reject"):
        desk.fin1.get(page(request, name))
    assert desk.fin1.post(page(request), {"verdict": "approve"}).status_code == 403
    assert ApprovalRequest.objects.values().get() == before
