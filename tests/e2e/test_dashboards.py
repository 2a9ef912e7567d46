"""Operator, auditor and admin look at figures, reports and streams, in a browser (E3, E5, E7)."""

from __future__ import annotations

import pytest

from tests.e2e.agent import Agent
from tests.e2e.conftest import ArriveAs
from tests.e2e.demo_process import Demo

BOARD = "/admin/gateway/dashboard/"
REPORTS = "/admin/audit/reports/"


@pytest.mark.proves("E5")
def test_an_operator_reads_the_dashboard(sign_in: ArriveAs, demo: Demo) -> None:
    agent, operator = Agent(demo), sign_in("operator")
    run_id = agent.open_run()
    for number in range(12):
        agent.call(
            run_id, "payments.lookup_transaction", {"transaction_id": f"txn_{4200 + number}"}
        )
    for _ in range(3):
        agent.call(run_id, "payments.lookup_transaction", {"transaction_id": 7})
    agent.call(run_id, "invented.by_agent", {})
    operator.open(BOARD)
    operator.page.wait_for_timeout(300)
    body = operator.page.inner_text("main")
    assert "payments.lookup_transaction" in body
    assert "Denied per 1,000" in body
    assert operator.page.locator("canvas[data-board]").count() == 3
    operator.judge_looks("dashboard-day")
    operator.open(f"{BOARD}?range=1h")
    operator.page.locator("details.gw-fold summary").first.click()
    operator.judge_looks("dashboard-hour-numbers")
    operator.click("main a:has-text('payments.lookup_transaction')")
    assert "invented" not in operator.page.inner_text("main")
    operator.judge_looks("dashboard-one-capability")
    operator.open(f"{BOARD}?since=2020-01-01T00:00&until=2020-01-02T00:00")
    assert "No decision ended in this time" in operator.page.inner_text("main")
    operator.judge_looks("dashboard-empty")


@pytest.mark.proves("E3")
def test_an_auditor_reads_the_standing_reports(sign_in: ArriveAs, demo: Demo) -> None:
    auditor = sign_in("auditor")
    auditor.open(REPORTS)
    auditor.judge_looks("reports")
    for key in ("denied", "gate-and-policy-changes", "self-approval-attempts"):
        auditor.open(f"{REPORTS}{key}/")
        auditor.judge_looks(f"report-{key}")
    auditor.page.emulate_media(media="print")
    auditor.open(f"{REPORTS}gate-and-policy-changes/")
    auditor.page.screenshot(path="build/screenshots/report-printed.png", full_page=True)


@pytest.mark.proves("E7")
def test_a_platform_admin_sets_up_a_stream(sign_in: ArriveAs, demo: Demo) -> None:
    admin = sign_in("admin")
    admin.open("/admin/gateway/siemstream/")
    admin.judge_looks("siem-empty")
    admin.open("/admin/gateway/siemstream/add/")
    admin.judge_looks("siem-add")
    admin.page.fill("#id_name", "Collector")
    admin.page.select_option("#id_transport", "syslog_tcp")
    admin.page.fill("#id_address", "127.0.0.1:9")
    admin.page.select_option("#id_format", "cef")
    admin.page.check("#id_from_beginning")
    admin.click("button[name='_save'], input[name='_save']")
    admin.page.wait_for_timeout(4000)
    admin.open("/admin/gateway/siemstream/")
    assert "failing" in admin.page.inner_text("main")
    admin.judge_looks("siem-list")
    admin.click("#result_list tr:has-text('Collector') a")
    admin.judge_looks("siem-one")
