"""Gates in a real browser: written with fields, reviewed, published, looked through; being away."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tests.e2e.conftest import ArriveAs

GATES = "/admin/approvals/gateversion/"
GROUPS = "/admin/approvals/approvergroup/"
AWAY = "/admin/approvals/delegation/"
GATE = "GATE_FINANCE_APPROVAL"


@pytest.mark.proves("D1")
def test_an_admin_makes_a_group_and_looks_at_the_gates(sign_in: ArriveAs) -> None:
    admin = sign_in("admin")
    admin.open(GROUPS)
    admin.judge_looks("approver-groups")
    admin.open(f"{GROUPS}add/")
    admin.page.fill("#id_title", "Finance managers")
    admin.page.fill("#id_name", "finance-managers")
    admin.click("button[name=_save], input[name=_save]")
    admin.open(GROUPS)
    admin.click("a:has-text('Finance managers')")
    admin.page.select_option("#id_person", label="Farid Haddad (fin2)")
    admin.click("button:has-text('Add to the group')")
    assert admin.page.locator(".gate-people strong").count() == 1
    admin.judge_looks("approver-group")
    admin.open(GATES)
    admin.judge_looks("gates")
    admin.click(f"table a:has-text('{GATE}')")
    admin.judge_looks("gate")
    admin.click(".reg-tabs a:has-text('Who could approve')")
    assert "can vote today" in admin.page.inner_text("#content")
    admin.judge_looks("gate-who")
    admin.click(".reg-tabs a:has-text('Last 30 days')")
    admin.judge_looks("gate-past")


@pytest.mark.proves("D1")
def test_a_gate_is_written_reviewed_by_a_second_person_and_published(sign_in: ArriveAs) -> None:
    author = sign_in("author")
    author.open(GATES)
    author.click(f"table a:has-text('{GATE}')")
    author.click("a:has-text('New version from this')")
    author.judge_looks("gate-editor")
    author.page.fill('[id="f/expires_after_seconds"]', "9")
    note = author.page.locator('[data-findings="f/expires_after_seconds"] .reg-note--block')
    note.wait_for()  # the script asks by itself after a pause
    assert "at most seven days" in note.inner_text()
    author.page.fill('[id="f/expires_after_seconds"]', "2")
    author.page.select_option('[id="f/second_factor"]', "never")
    author.click("button:has-text('Add a stage')")
    author.judge_looks("gate-editor-findings")
    author.click("button:has-text('Remove stage 2')")
    author.click("button[value=json]")
    author.judge_looks("gate-editor-json")
    author.click("button[value=form]")
    author.click("button[value=save]")
    author.click("a:has-text('Submit for review')")
    author.click("button:has-text('Submit for review')")
    author.click("a:has-text('Open the review')")
    assert author.page.locator("#decide button").count() == 0

    reviewer = sign_in("reviewer")
    reviewer.open(author.page.url.removeprefix(author.url))
    assert "2 widenings" in reviewer.page.inner_text("#content")
    reviewer.judge_looks("gate-review")
    reviewer.page.check("input[name=tick]")
    reviewer.page.fill("#id_reason", "Another control asks for the code.")
    reviewer.click("button[value=approve]")
    reviewer.click("button:has-text('Approve')")
    assert "Approved" in reviewer.page.inner_text(".reg-badges")


@pytest.mark.proves("D3")
def test_an_approver_goes_away_and_comes_back_early(sign_in: ArriveAs) -> None:
    approver = sign_in("fin1")
    approver.open(AWAY)
    approver.judge_looks("away-empty")
    approver.open(f"{AWAY}add/")
    approver.page.select_option("#id_stand_in", index=1)
    end = datetime.now(UTC) + timedelta(days=5)
    approver.page.fill("#id_ends_at", end.strftime("%Y-%m-%dT%H:%M"))
    approver.page.fill("#id_reason", "Holiday.")
    approver.judge_looks("away-new")
    approver.click("button:has-text('Let them vote')")
    approver.judge_looks("away")
    approver.open(AWAY)
    approver.judge_looks("away-list")
    approver.click("#result_list tbody th a")
    approver.click("button:has-text('End it now')")
    assert "ended early" in approver.page.inner_text("#content")


def test_reports_are_drawn_without_a_script(sign_in: ArriveAs) -> None:
    auditor = sign_in("auditor")
    auditor.open("/admin/approvals/reports/")
    auditor.judge_looks("approval-reports")
