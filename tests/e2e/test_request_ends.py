"""How requests end otherwise than by one vote, as the approver sees it."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from contextos.core import strict_json
from tests.e2e.conftest import ArriveAs
from tests.e2e.demo_process import ROOT, Demo
from tests.e2e.refunds import QUEUE, Refunds, page_of, press, reject
from tests.e2e.visitor import Codes


@pytest.mark.proves("D1", "D3")
def test_a_large_refund_needs_two_and_a_vote_can_be_taken_back(
    sign_in: ArriveAs, refunds: Refunds, demo: Demo, codes: Codes
) -> None:
    asked = refunds.ask(25_000, transaction_id="txn_4203")
    fin1 = sign_in("fin1")
    fin1.open(page_of(asked))
    assert "0 of 2 approved" in fin1.page.inner_text("main")
    press(fin1, "a")
    fin1.page.keyboard.type("The order never arrived.")
    fin1.page.keyboard.press("Tab")
    fin1.page.keyboard.type(codes.next(demo.users["fin1"]["otp_secret"]))
    press(fin1, "Enter")
    assert "1 of 2 have approved" in fin1.page.inner_text("main")
    fin1.judge_looks("approvals-half-approved")
    fin1.open(page_of(asked))
    fin1.click("a:has-text('Withdraw my vote')")
    fin1.judge_looks("approvals-withdraw")
    press(fin1, "Enter")
    assert "Your vote is withdrawn" in fin1.page.inner_text("main")
    assert refunds.agent.until(asked["tool_call_id"], "paused")
    reject(sign_in("fin2"), asked)


@pytest.mark.proves("D2", "D3")
def test_who_comes_too_late_is_told_that_nobody_decided_in_time(
    sign_in: ArriveAs, refunds: Refunds
) -> None:
    asked = refunds.ask(12, reason_code="duplicate")
    fin1 = sign_in("fin1")
    fin1.expected_status = {409}
    fin1.open(page_of(asked, "approve"))
    ended = refunds.agent.until(asked["tool_call_id"], "rejected")
    assert ended["error"]["code"] == "approval.expired"
    fin1.page.fill("#id_reason", "Fine with me.")
    fin1.page.fill("#id_code", "123456")
    fin1.click("form[data-confirm] button[type=submit]")
    assert "in time" in fin1.page.inner_text("main")
    fin1.judge_looks("approvals-too-late")
    fin1.open(page_of(asked))
    assert "Expired" in fin1.page.inner_text(".reg-badges")
    fin1.judge_looks("approvals-expired")


@pytest.mark.proves("D3")
def test_spaces_are_no_reason_and_the_back_button_votes_no_second_time(
    sign_in: ArriveAs, refunds: Refunds
) -> None:
    asked = refunds.ask(13)
    fin1 = sign_in("fin1")
    fin1.expected_status = {409, 422}
    fin1.open(page_of(asked, "reject"))
    fin1.page.fill("#id_reason", "   ")
    fin1.page.evaluate("document.querySelector('form[data-confirm]').noValidate = true")
    fin1.click("form[data-confirm] button[type=submit]")
    assert fin1.page.locator("#id_reason_error").count() == 1
    reject(fin1, asked)
    assert "Rejected." in fin1.page.inner_text("main")
    fin1.page.go_back()
    assert "Decided meanwhile" in fin1.page.inner_text("main")
    assert fin1.page.locator("form[data-confirm]").count() == 0


@pytest.mark.proves("C5", "D2")
def test_a_change_of_the_manifest_voids_what_waits_and_says_so(
    sign_in: ArriveAs, refunds: Refunds, demo: Demo, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = refunds.ask(14)
    fin1 = sign_in("fin1")
    fin1.expected_status = {409}
    fin1.open(page_of(asked, "approve"))
    _lower_the_limit(demo, monkeypatch)
    ended = refunds.agent.until(asked["tool_call_id"], "rejected")
    assert ended["error"]["code"] == "approval.voided"
    fin1.page.fill("#id_reason", "Fine with me.")
    fin1.page.fill("#id_code", "123456")
    fin1.click("form[data-confirm] button[type=submit]")
    fin1.judge_looks("approvals-void-conflict")
    fin1.open(page_of(asked))
    assert "A newer version of the adapter's manifest" in fin1.page.inner_text("main")
    fin1.judge_looks("approvals-voided")
    fin1.open(f"{QUEUE}?show=ended")
    assert "Voided" in fin1.page.inner_text("[data-queue]")


def _lower_the_limit(demo: Demo, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the example does it: written by the author, reviewed by two others, published."""
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    if demo.database_url:
        monkeypatch.setenv("DATABASE_URL", demo.database_url)
    import manifest_change
    import ready

    told: dict[str, Any] = strict_json.loads_object(
        (demo.data_dir.parent / "ready.json").read_text()
    )
    manifest_change.lower_the_limit(ready.Demo(told, demo.data_dir))
    for module in ("manifest_change", "person", "ready"):
        sys.modules.pop(module)
