"""An approver at work in a real browser: by keyboard, on a phone, with all outcomes looked at."""

from __future__ import annotations

import time

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import ArriveAs
from tests.e2e.demo_process import Demo
from tests.e2e.refunds import QUEUE, Refunds, page_of, press, reject
from tests.e2e.visitor import NARROW, Codes

TWO_MINUTES = 120.0


@pytest.mark.proves("D5")
def test_three_requests_are_decided_by_keyboard_on_a_phone_within_two_minutes(
    sign_in: ArriveAs, refunds: Refunds, demo: Demo, codes: Codes
) -> None:
    asked = [refunds.ask(amount) for amount in (900, 90, 9)]
    fin1 = sign_in("fin1")
    fin1.page.set_viewport_size(NARROW)  # type: ignore[arg-type]
    started = time.monotonic()
    fin1.open(f"/admin/approvals/queue/{asked[0]['approval']['approval_id']}/")
    assert "900 INR" in fin1.page.inner_text("main")
    press(fin1, "a")
    fin1.page.keyboard.type("The customer sent the receipt.")
    fin1.page.keyboard.press("Tab")
    fin1.page.keyboard.type(codes.next(demo.users["fin1"]["otp_secret"]))
    press(fin1, "Enter")
    assert "Approved." in fin1.page.inner_text("main")
    for _ in range(2):
        expect(fin1.page.locator("a[data-next]")).to_be_focused()
        press(fin1, "Enter")
        press(fin1, "r")
        fin1.page.keyboard.type("Paid back last week already.")
        press(fin1, "Control+Enter")
        assert "Rejected." in fin1.page.inner_text("main")
    assert time.monotonic() - started < TWO_MINUTES
    assert refunds.agent.until(asked[0]["tool_call_id"], "ok", "failed")["status"] == "ok"
    for refused in asked[1:]:
        assert refunds.agent.until(refused["tool_call_id"], "rejected")["status"] == "rejected"
    fin1.keep_picture("approvals-decided-360")


@pytest.mark.proves("D1", "D5")
def test_the_queue_is_walked_by_keys_and_never_decides_by_one(
    sign_in: ArriveAs, refunds: Refunds
) -> None:
    fin1 = sign_in("fin1")
    fin1.open(QUEUE)
    fin1.judge_looks("approvals-queue-empty")
    first, second = refunds.ask(41), refunds.ask(42)
    fin1.open(QUEUE)
    page = fin1.page
    assert page.locator("[data-menu-entry]:has-text('Approvals') .cos-badge").inner_text() == "2"
    page.keyboard.press("j")
    expect(page.locator("[data-line] [data-open]").nth(0)).to_be_focused()
    page.keyboard.press("j")
    expect(page.locator("[data-line] [data-open]").nth(1)).to_be_focused()
    page.keyboard.press("k")
    page.keyboard.press("?")
    assert "Next, previous request" in page.locator("#cos-shortcuts").inner_text()
    fin1.keep_picture("approvals-keys")
    page.keyboard.press("Escape")
    fin1.judge_looks("approvals-queue")
    page.keyboard.press("j")
    press(fin1, "a")
    assert page.url.endswith("/approve/")
    page.go_back()
    page.keyboard.press("j")
    press(fin1, "o")
    assert page.url.endswith("/change/")
    fin1.judge_looks("approvals-request")
    for waiting in (first, second):
        assert refunds.agent.until(waiting["tool_call_id"], "paused")
    page.locator("details.ap-fold summary").click()
    press(fin1, "u")
    assert page.url.endswith(QUEUE)
    for waiting in (first, second):
        reject(fin1, waiting)


@pytest.mark.proves("D2", "D3")
def test_faults_stay_in_the_form_and_two_tabs_get_a_clear_answer(
    sign_in: ArriveAs, refunds: Refunds
) -> None:
    asked = refunds.ask(77)
    fin1, fin2 = sign_in("fin1"), sign_in("fin2")
    fin1.expected_status, fin2.expected_status = {422, 409}, {409}
    for visitor in (fin1, fin2):
        visitor.open(page_of(asked, "approve"))
    fin1.judge_looks("approvals-confirm")
    fin1.page.fill("#id_reason", "Looks right.")
    fin1.page.fill("#id_code", "12")
    fin1.click("form[data-confirm] button[type=submit]")
    assert fin1.page.input_value("#id_reason") == "Looks right."
    assert "wrong, or was used already" in fin1.page.inner_text("#id_code_error")
    fin1.judge_looks("approvals-confirm-faults")
    fin1.open(page_of(asked, "reject"))
    fin1.page.fill("#id_reason", "The receipt is of another shop.")
    fin1.click("form[data-confirm] button[type=submit]")
    fin2.page.fill("#id_reason", "Fine with me.")
    fin2.page.fill("#id_code", "123456")
    fin2.click("form[data-confirm] button[type=submit]")
    said = fin2.page.inner_text("main")
    assert "Decided meanwhile" in said
    assert "Fiona Clarke rejected it" in said
    fin2.judge_looks("approvals-conflict")
    fin1.open(page_of(asked))
    fin1.page.emulate_media(media="print")
    fin1.keep_picture("approvals-print")
    fin1.page.emulate_media(media="screen")


@pytest.mark.proves("D5")
def test_a_question_stops_the_clock_and_everybody_sees_it(
    sign_in: ArriveAs, refunds: Refunds
) -> None:
    asked = refunds.ask(55)
    fin1 = sign_in("fin1")
    fin1.open(page_of(asked))
    fin1.page.keyboard.press("c")
    fin1.page.keyboard.type("Which receipt is this?")
    fin1.click("button[value=question]")
    assert "the clock stands still" in fin1.page.inner_text("main")
    fin1.judge_looks("approvals-question")
    fin1.open(QUEUE)
    assert "question open" in fin1.page.inner_text("[data-queue]")
    fin1.open(page_of(asked))
    fin1.page.fill("#id_text", "The one of Tuesday.")
    fin1.click("button[value=answer]")
    assert "the clock stands still" not in fin1.page.inner_text("main")
    reject(fin1, asked)


@pytest.mark.proves("D5")
def test_several_alike_are_decided_with_their_total_in_sight(
    sign_in: ArriveAs, refunds: Refunds
) -> None:
    asked = [refunds.ask(amount) for amount in (1200, 1300)]
    refunds.tame(*asked)
    fin2 = sign_in("fin2")
    fin2.open(QUEUE)
    for _ in asked:
        fin2.page.keyboard.press("j")
        fin2.page.keyboard.press("x")
    fin2.keep_picture("approvals-ticked")
    fin2.click("button:has-text('Reject ticked')")
    assert "2,500 INR" in fin2.page.inner_text("main")
    fin2.judge_looks("approvals-bulk")
    fin2.page.keyboard.type("A test of many.")
    press(fin2, "Control+Enter")
    assert "2 of 2 votes counted" in fin2.page.inner_text("main")
    fin2.judge_looks("approvals-bulk-done")
    fin2.open(f"{QUEUE}?show=ended")
    fin2.judge_looks("approvals-ended")


def test_readers_see_that_values_are_hidden_and_why(sign_in: ArriveAs, refunds: Refunds) -> None:
    asked = refunds.ask(31)
    auditor = sign_in("auditor")
    auditor.open(QUEUE)
    auditor.click("[data-open]")
    said = auditor.page.inner_text("main")
    assert "The arguments are hidden from you." in said
    assert "txn_4200" not in said
    auditor.judge_looks("approvals-reader")
    fin1 = sign_in("fin1")
    reject(fin1, asked)
