"""The page of the log, a check of it, and a report taken as a file, in a real browser (E2, E3)."""

from __future__ import annotations

import pytest

from tests.e2e.agent import Agent
from tests.e2e.conftest import ArriveAs
from tests.e2e.demo_process import Demo

LOG = "/admin/audit/log/"


@pytest.mark.proves("E2")
def test_an_operator_has_the_log_checked_and_reads_the_verdict(
    sign_in: ArriveAs, demo: Demo
) -> None:
    agent = Agent(demo)
    agent.call(agent.open_run(), "orders.lookup", {"order_id": "ord_1001"})
    operator = sign_in("operator")
    operator.open(LOG)
    operator.judge_looks("audit-log")
    operator.click("button:has-text('Check now')")
    operator.keep_picture("audit-log-checking")  # it draws itself anew: nobody judges it
    checks = operator.page.get_by_role("region", name="Checks so far")
    checks.wait_for(timeout=120_000)
    operator.judge_looks("audit-log-checked")
    assert "as signed" in checks.inner_text()
    assert "NOT as signed" not in checks.inner_text()


@pytest.mark.proves("E3")
def test_an_auditor_takes_a_standing_report_as_a_file(sign_in: ArriveAs) -> None:
    auditor = sign_in("auditor")
    auditor.open(LOG)
    auditor.judge_looks("audit-log-auditor")
    auditor.open("/admin/audit/reports/exports/")
    auditor.judge_looks("report-as-file")
    auditor.click("button:has-text('Take it as CSV')")
    auditor.page.wait_for_selector("main a:has-text('Download')", timeout=120_000)
    auditor.judge_looks("report-file")
