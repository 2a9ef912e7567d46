"""Packs and policies in a real browser: read, write with live findings, simulate, decide."""

from __future__ import annotations

import pytest

from tests.e2e.conftest import ArriveAs
from tests.e2e.visitor import Visitor

POLICIES = "/admin/registry/policybundleversion/"
PACKS = "/admin/registry/contextpackversion/"


def _open_listed(visitor: Visitor, listed: str, name: str) -> None:
    visitor.open(listed)
    visitor.click(f"table a:has-text('{name}')")


@pytest.mark.proves("B10")
def test_a_pack_says_what_its_runs_may_call(sign_in: ArriveAs) -> None:
    author = sign_in("author")
    author.open(PACKS)
    author.judge_looks("packs")
    _open_listed(author, PACKS, "support_refund@1.0.0")
    assert author.page.locator("tbody tr").count() == 6
    author.judge_looks("pack")


@pytest.mark.proves("C4")
def test_an_author_writes_a_policy_and_sees_errors_at_their_line(sign_in: ArriveAs) -> None:
    author = sign_in("author")
    author.open(f"{POLICIES}new/")
    author.judge_looks("policy-editor")
    text = author.page.input_value("#id_document")
    author.page.fill("#id_document", text.replace('{">"', '{"log"', 1))
    found = author.page.locator("[data-all] .reg-finding--block")
    found.wait_for()  # the script asks by itself after a pause
    assert 'The operator "log" is not allowed.' in found.inner_text()
    assert "line " in found.inner_text()
    author.click("button[value=check]")
    author.judge_looks("policy-editor-findings")


@pytest.mark.proves("C4")
def test_a_draft_is_tried_beside_the_published_policy(sign_in: ArriveAs) -> None:
    author = sign_in("author")
    _open_listed(author, POLICIES, "refunds@1.1.0")
    author.judge_looks("policy")
    author.click(".reg-head__buttons a:has-text('Simulate')")
    author.click("button:has-text('a small refund runs')")
    result = author.page.locator("#result")
    assert "small_refund_on_behalf" in result.inner_text()
    assert "GATE_FINANCE_APPROVAL" in result.inner_text()
    author.judge_looks("policy-simulator")


@pytest.mark.proves("C4")
def test_a_reviewer_reads_what_changes_before_deciding(sign_in: ArriveAs) -> None:
    reviewer = sign_in("reviewer")
    _open_listed(reviewer, POLICIES, "refunds@1.1.0")
    reviewer.click(".reg-head__buttons a:has-text('Review')")
    assert "What changes since 1.0.0" in reviewer.page.inner_text("main, body")
    reviewer.judge_looks("policy-review")
