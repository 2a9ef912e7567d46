"""Erasing, holding, keeping and showing that a value matches, in a real browser (E6)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.e2e.agent import Agent
from tests.e2e.conftest import ArriveAs
from tests.e2e.demo_process import Demo

AUDIT = "/admin/audit/"


@pytest.fixture(scope="module")
def read(demo: Demo) -> dict[str, Any]:
    """A read that left values and evidence."""
    agent = Agent(demo)
    run_id = agent.open_run(context={"ticket": "T-1"})
    agent.call(run_id, "orders.lookup", {"order_id": "ord_1001"})
    return agent.call(run_id, "orders.lookup", {"order_id": "ord_1001"})


@pytest.mark.proves("E6")
def test_a_hold_stops_an_erasure_and_two_people_release_it(
    sign_in: ArriveAs, read: dict[str, Any]
) -> None:
    admin = sign_in("admin")
    admin.open(f"{AUDIT}legalhold/add/?decision={read['decision_id']}")
    admin.judge_looks("audit-hold-new")
    admin.page.fill("#id_title", "Matter 12/2026")
    admin.page.fill("#id_reason", "Letter of counsel of 3 November.")
    admin.click("button:has-text('Place the hold')")
    admin.judge_looks("audit-hold")
    hold = admin.page.url
    admin.open(f"/admin/gateway/toolcall/{read['tool_call_id']}/change/")
    admin.click("a:has-text('Erase its values')")
    admin.judge_looks("audit-erasure-confirm")
    assert "under legal hold" in admin.page.inner_text("main")
    admin.page.fill("#id_reason", "Request 17 of the data subject.")
    admin.page.check("#id_sure")
    admin.click("button:has-text('List the erasure')")
    assert "kept by a legal hold" in admin.page.inner_text("main")
    admin.judge_looks("audit-erasure")
    admin.page.goto(hold)
    admin.click("a:has-text('Propose its release')")
    admin.page.fill("#id_reason", "Settled out of court.")
    admin.click("button:has-text('Propose its release')")
    assert "another person has to confirm" in admin.page.inner_text("main")
    admin.open(f"{AUDIT}legalhold/")
    admin.judge_looks("audit-holds")
    admin.open(f"{AUDIT}erasure/")
    admin.judge_looks("audit-erasures")


@pytest.mark.proves("E6")
def test_retention_is_read_by_auditors_and_never_set_under_the_floor(sign_in: ArriveAs) -> None:
    auditor = sign_in("auditor")
    auditor.open(f"{AUDIT}retention/")
    assert "7 years" in auditor.page.inner_text("main")
    auditor.judge_looks("audit-retention")
    admin = sign_in("admin")
    admin.open(f"{AUDIT}retention/record.other/")
    admin.expected_status = {422}
    admin.page.fill("#id_days", "30")
    admin.page.fill("#id_reason", "Less.")
    admin.click("button:has-text('Keep them so long')")
    assert "at least 184 days" in admin.page.inner_text("main")
    admin.judge_looks("audit-retention-class")
    admin.expected_status = set()


@pytest.mark.proves("E6")
def test_a_value_is_shown_to_match(sign_in: ArriveAs, read: dict[str, Any]) -> None:
    admin = sign_in("admin")
    admin.open(f"{AUDIT}match/{read['decision_id']}/")
    option = admin.page.locator("#id_v-payload option", has_text="args").first
    admin.page.select_option("#id_v-payload", option.get_attribute("value"))
    admin.page.fill("#id_v-value", '{"order_id": "ord_1001"}')
    admin.click("button:has-text('Compare')")
    assert "The value matches the commitment." in admin.page.inner_text("main")
    admin.judge_looks("audit-match")


@pytest.mark.proves("C18")
def test_evidence_says_what_it_is_worth(sign_in: ArriveAs, read: dict[str, Any]) -> None:
    admin = sign_in("admin")
    admin.open("/admin/gateway/evidence/")
    assert "superseded" in admin.page.inner_text("main")
    admin.judge_looks("gateway-evidences")
    admin.open(f"/admin/gateway/evidence/{read['evidence_refs'][0]}/change/")
    assert "ord_1001" in admin.page.inner_text("main")
    admin.judge_looks("gateway-evidence")
