"""A new tenant's platform admin is led to the first governed call, in a real browser."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from contextos.core import strict_json
from tests.e2e.conftest import ArriveAs
from tests.e2e.demo_process import ROOT, Demo
from tests.e2e.visitor import Codes, Visitor

FIRST = "/admin/first-call/"
PASSWORD = "a passphrase for the new tenant"
MANIFEST = ROOT / "examples" / "manifests" / "orders.json"


def _switch(visitor: Visitor, words: str) -> None:
    visitor.open("/admin/")
    visitor.page.click(".cos-tenant summary")
    visitor.click(f".cos-tenant__choices button:has-text('{words}')")


@pytest.fixture
def new_tenant(sign_in: ArriveAs) -> Iterator[Visitor]:
    """Made by whoever runs the installation, with two people; then they leave it again."""
    runner = sign_in("admin")
    runner.open("/admin/identity/tenant/add/")
    runner.page.fill("#id_tenant_id", "tenant_fresh")
    runner.page.fill("#id_name", "Fresh Ltd")
    runner.page.select_option("#id_default_environment", "development")
    runner.click("button[name=_save]")
    yield runner
    _switch(runner, "tenant_acme_prod")


def _add_person(runner: Visitor, name: str, role: str) -> None:
    runner.open("/admin/identity/user/add/")
    runner.page.fill("#id_username", name)
    runner.page.select_option("#id_role", label=role)
    runner.page.fill("#id_password", PASSWORD)
    runner.click("button[name=_save]")


def _arrived(visitor: Visitor, codes: Codes, name: str) -> Visitor:
    """The first sign-in, with an authenticator app of one's own."""
    visitor.open("/admin/")
    visitor.give_password(name, PASSWORD)
    visitor.give_code(codes.next("".join(visitor.page.locator("#secret span").all_inner_texts())))
    visitor.page.check("text=I have saved these codes")
    visitor.click("text=Continue")
    return visitor


def _state(visitor: Visitor, step: str) -> str:
    return visitor.page.locator(f"#{step} .cos-card__head .cos-badge").inner_text().strip()


def _manifest() -> dict[str, Any]:
    document = dict(strict_json.loads_object(Path(MANIFEST).read_bytes()))
    return {**document, "environment": "development"}


def _submitted(admin: Visitor) -> None:
    admin.click(".reg-head__buttons >> text=Submit for review")
    admin.click(".reg-confirm button[type=submit]")


def _approved(reviewer: Visitor, name: str) -> None:
    reviewer.open("/admin/")
    reviewer.click(f"main a:has-text('{name}')")
    reviewer.page.fill("#id_reason", "Read in full.")
    for box in reviewer.page.locator(".reg-tick input").all():
        box.check()
    reviewer.click("button[value=approve]")
    reviewer.click(".reg-confirm button[type=submit]")


def _published(admin: Visitor, name: str) -> None:
    admin.open("/admin/")
    admin.click(f"main a:has-text('{name}')")
    admin.click(".reg-head__buttons >> text=Publish")
    admin.click(".reg-confirm button[type=submit]")


@pytest.mark.proves("C1", "D3")
def test_a_new_tenant_is_led_to_its_first_governed_call(
    new_tenant: Visitor, arrivals: Callable[[Any], Visitor], codes: Codes, demo: Demo
) -> None:
    new_tenant.open(FIRST)
    assert "Nobody holds a role here yet" in new_tenant.page.inner_text("#agent")
    new_tenant.judge_looks("first-call-empty")
    _add_person(new_tenant, "tess", "platform admin")
    _add_person(new_tenant, "rhea", "manifest reviewer")
    admin = _arrived(arrivals(None), codes, "tess")
    reviewer = _arrived(arrivals(None), codes, "rhea")
    page = admin.page

    # With the keyboard alone: the agent, then its token.
    admin.click("text=Make your first governed call")
    assert [_state(admin, step) for step in ("tenant", "agent", "token")] == [
        "done",
        "next",
        "not yet",
    ]
    page.locator("#id_agent-agent_id").focus()
    for words in ("agent_first", "First agent", "helper"):
        page.keyboard.type(words)
        page.keyboard.press("Tab")
    page.locator("#id_agent-role").focus()
    admin.press_enter()
    page.locator("#id_token-lifetime").focus()
    admin.press_enter()
    token = page.inner_text("#token-shown").replace("\n", "")
    assert token.count(".") == 2
    assert "$TOKEN" in page.inner_text("#curl-shown")
    admin.judge_looks("first-call-token")
    admin.open(FIRST)
    assert token[-30:] not in page.content()

    # An adapter, written by the admin and reviewed by somebody else.
    assert "No published adapter" in page.inner_text("#adapter")
    admin.click("#adapter a:has-text('Write a manifest')")
    admin.click("text=Paste a manifest")
    page.fill("#id_document", strict_json.dumps(_manifest()))
    admin.click("button[value=save]")
    _submitted(admin)
    admin.open(FIRST)
    assert "rhea" in page.inner_text("#adapter")
    _approved(reviewer, "adp_orders")
    _published(admin, "adp_orders")

    # The drafts of the page go the same way.
    admin.open(FIRST)
    assert "orders.lookup" in page.inner_text("#adapter")
    admin.click("button:has-text('Draft the policy')")
    admin.click("button:has-text('Draft the pack')")
    admin.judge_looks("first-call-drafts")
    for name in ("reading@1.0.0", "first_call@1.0.0"):
        admin.open(FIRST)
        admin.click(f"#pack a:has-text('{name}')")
        _submitted(admin)
        _approved(reviewer, name)
        _published(admin, name)

    # A refusal is explained; the right arguments come back.
    admin.open(FIRST)
    assert _state(admin, "call") == "next"
    page.fill("#id_arg-m0", "nonsense")
    page.locator("#id_arg-m0").focus()
    admin.press_enter()
    assert "What would allow it" in page.inner_text("#answer")
    admin.judge_looks("first-call-refused")
    page.fill("#id_arg-m0", "ord_1001")
    page.locator("#id_arg-m0").focus()
    admin.press_enter()
    answer = page.inner_text("#answer")
    assert "The call came back" in answer
    assert "txn_4200" in answer
    assert "allow_orders_lookup" in answer
    assert _state(admin, "call") == "done"
    admin.judge_looks("first-call-done")
    admin.click("#answer a:has-text('Open the call')")
    assert "/admin/gateway/toolcall/" in page.url
    admin.open("/admin/")
    assert page.locator(f"a[href='{FIRST}']").count() == 0
