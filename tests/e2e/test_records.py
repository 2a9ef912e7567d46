"""An auditor at work in a real browser: finds records, reads one, proves it, prints it (E1, E3)."""

from __future__ import annotations

import json

import httpx
import pytest

from tests.e2e.agent import HOSTILE, Agent
from tests.e2e.conftest import ArriveAs
from tests.e2e.demo_process import Demo
from tests.e2e.refunds import Refunds
from tests.e2e.visitor import SCREENSHOTS, Codes

RECORDS = "/admin/audit/decisionrow/"


@pytest.fixture(scope="session")
def worked(demo: Demo, codes: Codes) -> str:
    """Reads, refusals, and a refund of 4200 that fin1 approved; the refund's decision.

    In a run of its own: other walks publish versions, and requests of older runs are voided then.
    """
    refunds = Refunds(demo)
    agent = Agent(demo)
    run_id = agent.open_run(context={"ticket": HOSTILE})
    for _ in range(3):
        agent.call(run_id, "orders.lookup", {"order_id": "ord_1001"})
    agent.call(run_id, "orders.lookup", {"order_id": HOSTILE})
    agent.call(run_id, "orders.delete", {"note": HOSTILE})
    asked = refunds.ask(4200)
    approved(demo, asked["approval"]["approval_id"], codes)
    return str(refunds.agent.until(asked["tool_call_id"], "ok")["decision_id"])


def approved(demo: Demo, approval_id: str, codes: Codes) -> None:
    """As fin1 does it with a token."""
    told = json.JSONDecoder().decode((demo.data_dir.parent / "ready.json").read_text())
    headers = {"Authorization": f"Bearer {told['approver_tokens']['fin1']}"}
    with httpx.Client(base_url=demo.url, headers=headers, trust_env=False) as http:
        shown = http.get(f"/api/v1/approvals/{approval_id}").json()
        body = {
            "reason": "Checked with the customer, who was charged twice.",
            "digest": shown["subject"]["digest"],
            "otp": codes.next(demo.users["fin1"]["otp_secret"]),
        }
        answer = http.post(f"/api/v1/approvals/{approval_id}/approve", json=body)
        assert answer.status_code == 200, answer.text


@pytest.mark.proves("E3")
def test_an_auditor_finds_the_refunds_over_3000_that_one_person_approved(
    sign_in: ArriveAs, worked: str
) -> None:
    auditor = sign_in("auditor")
    auditor.open(RECORDS)
    auditor.judge_looks("records-list")
    auditor.page.fill("#f-capability", "payments.issue_refund")
    auditor.page.fill("#f-approver", "fin1")
    auditor.page.fill("#f-amount_min", "3000")
    auditor.page.select_option("#f-status", "EXECUTED")
    auditor.click(".rec-form button[type=submit]")
    assert worked in auditor.page.inner_text("main")
    auditor.judge_looks("records-found")
    auditor.page.keyboard.press("j")
    with auditor.page.expect_navigation():
        auditor.page.keyboard.press("o")
    assert "Every row is in the log, as written." in auditor.page.inner_text("main")
    auditor.judge_looks("record-story")
    auditor.page.emulate_media(media="print", color_scheme="light")
    auditor.page.pdf(path=str(SCREENSHOTS / "record-story.pdf"), format="A4")
    auditor.page.emulate_media(media="screen")


@pytest.mark.proves("E3")
def test_a_search_is_kept_under_a_name_and_found_again(sign_in: ArriveAs, worked: str) -> None:
    auditor = sign_in("auditor")
    auditor.open(f"{RECORDS}?status=REJECTED&columns=status&columns=error&columns=log")
    auditor.page.click("summary:has-text('Keep this search')")
    auditor.page.fill("#search-name", "Refused")
    auditor.click(".rec-keep__form button")
    auditor.open(RECORDS)
    auditor.click("nav a:has-text('Refused')")
    assert auditor.page.locator("tbody tr").count() >= 1
    assert "Place in the log" in auditor.page.inner_text("thead")
    auditor.judge_looks("records-kept")


def test_a_platform_admin_gives_an_auditor_access(sign_in: ArriveAs, worked: str) -> None:
    admin = sign_in("admin")
    admin.open("/admin/audit/auditoraccess/")
    admin.judge_looks("auditors")
    admin.open("/admin/audit/auditoraccess/add/")
    admin.judge_looks("auditors-add")
