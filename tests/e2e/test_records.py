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
ACCESSES = "/admin/audit/auditoraccess/"


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
    asked = refunds.ask(4200, transaction_id="txn_4202")  # whose money other walks leave alone
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


@pytest.mark.proves("E3")
def test_an_auditor_takes_what_was_found_as_a_file(sign_in: ArriveAs, worked: str) -> None:
    auditor = sign_in("auditor")
    auditor.open(f"{RECORDS}?capability=payments.issue_refund")
    auditor.click("a:has-text('Export these')")
    auditor.judge_looks("export-form")
    auditor.page.fill("#id_title", "Refunds of the quarter")
    auditor.click("button:has-text('Export')")
    auditor.page.wait_for_selector("main a:has-text('Download')", timeout=120_000)
    assert "python3 verify.py" in auditor.page.inner_text("main")
    auditor.judge_looks("export-done")
    auditor.open("/admin/audit/exportjob/")
    assert "Refunds of the quarter" in auditor.page.inner_text("main")
    auditor.judge_looks("exports")


@pytest.mark.proves("E3")
def test_whoever_holds_the_role_alone_reads_what_is_missing_until_an_access_is_given(
    sign_in: ArriveAs,
) -> None:
    admin, newcomer = sign_in("admin"), sign_in("reviewer2")
    admin.open("/admin/identity/membership/add/")
    admin.page.select_option("#id_user", label="Ravi Nair")
    admin.page.select_option("#id_role", label="auditor")
    admin.page.fill("#id_valid_until_0", "2099-01-01")
    admin.page.fill("#id_valid_until_1", "00:00:00")
    admin.click("button[name=_save]")
    newcomer.expected_status = {403}
    assert newcomer.open(RECORDS) == 403
    said = newcomer.page.inner_text("body")
    assert "nobody has said yet what you may read" in said
    assert "Ask a platform admin of the tenant to grant you an access" in said
    newcomer.judge_looks("auditor-without-access")
    admin.open(ACCESSES)
    admin.judge_looks("auditors")
    admin.open(f"{ACCESSES}add/")
    admin.judge_looks("auditors-add")
    admin.page.fill("#id_auditor", "reviewer2")
    for name, moment in (("starts_at", "2020-01-01"), ("ends_at", "2099-01-01")):
        admin.page.fill(f"#id_{name}_0", moment)
        admin.page.fill(f"#id_{name}_1", "00:00:00")
    admin.page.select_option("#id_clearance", "CONFIDENTIAL")
    admin.page.fill("#id_reason", "The audit of this year.")
    admin.click("button[name=_save]")
    assert newcomer.open(RECORDS) == 200
    admin.open(ACCESSES)
    admin.click("#result_list tbody tr:has-text('reviewer2') a")
    admin.click("a:has-text('Take back')")
    admin.judge_looks("auditors-take-back")
    admin.page.fill("#id_reason", "The audit is over.")
    admin.click("button:has-text('Take back')")
    assert "The access has ended." in admin.page.inner_text("body")
    assert newcomer.open(RECORDS) == 403
    assert "Your access as an auditor ended on" in newcomer.page.inner_text("body")
