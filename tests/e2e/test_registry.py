"""An adapter's whole life in a browser: written, reviewed by two, signed, rolled back, stopped."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from contextos.core import strict_json
from tests.e2e.visitor import Visitor
from tests.registry.manifests import refunds

ArriveAs = Callable[[str], Visitor]
VERSIONS = "/admin/registry/adapterversion/"
NAME = "adp_vouchers"


def _manifest() -> dict[str, Any]:
    """A newcomer's manifest: sound but for a missing owner, and with something to tick."""
    manifest = refunds(adapter_id=NAME, name="Vouchers", environment="development")
    manifest["capabilities"][0] |= {
        "capability_id": "vouchers.issue_voucher",
        "function_name": "examples.vouchers:issue_voucher",
        "domain": "vouchers",
    }
    manifest.pop("version", None)
    manifest.pop("owner_role")
    manifest.pop("rollback_notes", None)
    return manifest


def _open_review(visitor: Visitor) -> None:
    visitor.open(VERSIONS)
    visitor.click(f"text={NAME}")
    visitor.click(".reg-head__buttons >> text=/Review|Open the review/")


def _approve(visitor: Visitor) -> None:
    page = visitor.page
    page.fill("#id_reason", "Read in full, it is what the team described.")
    for box in page.locator(".reg-tick input").all():
        box.check()
    visitor.click("button[value=approve]")
    visitor.click(".reg-confirm button[type=submit]")
    assert page.locator("text=Your approval is recorded.").count() == 1


def _write_first_version(author: Visitor) -> None:
    page = author.page
    author.open("/admin/registry/adapter/")
    author.click("a[href='/admin/registry/adapter/add/']")
    author.judge_looks("registry-new")
    author.click("text=Paste a manifest")
    page.fill("#id_document", '{"adapter_id": "a",\n "adapter_id": "b"}')
    author.expected_status = {422}
    author.click("button[value=check]")
    assert "Line 2, column 2" in page.inner_text("#fault")
    author.judge_looks("registry-fault")
    page.fill("#id_document", strict_json.dumps(_manifest()))
    page.locator("[data-status]", has_text="blocking").wait_for()
    assert not page.locator("#fault").is_visible(), "the text can be read by now"
    author.click("button[value=save]")


def _fix_findings(author: Visitor) -> None:
    page = author.page
    assert page.locator("text=owner.missing").count() == 1
    author.judge_looks("registry-findings")
    author.click("text=Edit the draft")
    owner = page.locator("[name='f/owner_role']")
    assert page.locator("[data-findings='f/owner_role'] .reg-note").count() >= 1
    author.judge_looks("registry-form")
    owner.fill("vouchers_platform")
    page.locator("[data-status]", has_text="nothing blocks").wait_for()
    assert page.locator("[data-findings='f/owner_role'] .reg-note").count() == 0
    author.click("button[value=save]")
    assert page.locator("text=Nothing blocks it").count() == 1


def _submit(author: Visitor) -> None:
    author.click("text=Submit for review")
    author.judge_looks("registry-submit")
    author.click(".reg-confirm button[type=submit]")


@pytest.mark.proves("B1", "B2", "B3", "B4", "B17", "B19", "D3")
def test_from_a_pasted_manifest_to_a_signed_version_and_back(sign_in: ArriveAs) -> None:
    author, first, second, admin = map(sign_in, ("author", "reviewer", "reviewer2", "admin"))

    _write_first_version(author)
    _fix_findings(author)
    _submit(author)
    author.click(".reg-head__buttons >> text=Open the review")
    assert (
        author.page.locator("text=You wrote on this version").count()
        + author.page.locator("text=Deciding needs the role").count()
        == 1
    )

    _open_review(first)
    first.judge_looks("registry-review")
    first.expected_status = {422}
    first.page.fill("#id_reason", "Too quick.")
    first.click("button[value=approve]")
    assert first.page.locator("#ticks-error").count() == 1
    _approve(first)
    _open_review(second)
    assert second.page.locator("text=1 of 2 approvals").count() >= 1
    _approve(second)

    admin.open("/admin/")
    admin.click(f"text={NAME} 1.0.0")
    admin.click(".reg-head__buttons >> text=Publish")
    admin.judge_looks("registry-publish")
    admin.page.fill("#id_notes", "Vouchers for the support desk.")
    admin.click(".reg-confirm button[type=submit]")
    assert admin.page.locator("text=signature verified now").count() == 1
    admin.judge_looks("registry-version")
    for tab in ("capabilities", "manifest", "timeline", "reviews", "access"):
        admin.click(f".reg-tabs a[href='?tab={tab}']")
        admin.judge_looks(f"registry-tab-{tab}")

    _second_version(author, first, second, admin)
    _roll_back(admin)
    _stop_and_lift(sign_in("operator"))


def _second_version(author: Visitor, first: Visitor, second: Visitor, admin: Visitor) -> None:
    author.open(f"{VERSIONS}?state=published")
    author.click(f"text={NAME} 1.0.0")
    author.click("text=New version from this")
    author.page.fill("[name='f/capabilities/0/idempotency/dedup_window_seconds']", "60")
    author.click("button[value=save]")
    author.click("text=Submit for review")
    author.click(".reg-confirm button[type=submit]")
    _open_review(first)
    widening = first.page.locator(".reg-change").first
    assert "widens" in widening.inner_text()
    assert "86400" in widening.inner_text()
    first.page.keyboard.press("j")
    assert first.page.evaluate("document.activeElement.id") == "change-1"
    first.judge_looks("registry-review-widening")
    _approve(first)
    _open_review(second)
    _approve(second)
    admin.open(f"{VERSIONS}?state=approved")
    admin.click(f"text={NAME} 1.1.0")
    admin.click(".reg-head__buttons >> text=Publish")
    assert admin.page.locator("text=is deprecated").count() == 1
    admin.click(".reg-confirm button[type=submit]")


def _roll_back(admin: Visitor) -> None:
    admin.open("/admin/registry/adapter/?q=vouchers")
    admin.click(f"text={NAME}")
    admin.judge_looks("registry-adapter")
    admin.click("text=Roll back to 1.0.0")
    admin.judge_looks("registry-rollback")
    admin.page.fill("#id_notes", "The shorter window was a mistake.")
    admin.click(".reg-confirm button[type=submit]")
    assert admin.page.locator("text=signature verified now").count() == 1
    admin.click(".reg-tabs a[href='?tab=timeline']")
    assert admin.page.locator("text=published again (rollback)").count() == 1


def _stop_and_lift(operator: Visitor) -> None:
    page = operator.page
    page.fill("#nav-filter", "issue_voucher")
    operator.press_enter()
    operator.judge_looks("registry-find")
    operator.click("text=vouchers.issue_voucher")
    operator.judge_looks("registry-capability")
    operator.click(".reg-head__buttons >> text=Kill switch")
    operator.judge_looks("registry-throw")
    page.fill("#id_reason", "Vouchers were sent twice.")
    operator.click("text=Show what will stop")
    assert page.locator("code", has_text="vouchers.issue_voucher").count() == 1
    operator.judge_looks("registry-throw-confirm")
    operator.click("text=Throw the switch")
    assert page.locator("text=Stopping calls now").count() == 1
    operator.judge_looks("registry-switch")
    operator.open("/admin/registry/capability/?q=issue_voucher")
    operator.click("text=vouchers.issue_voucher")
    assert "Vouchers were sent twice." in page.inner_text(".reg-stop")
    operator.judge_looks("registry-stopped")
    operator.click(".reg-stop a")
    operator.click("text=Lift it")
    page.fill("#id_reason", "The duplicate sender is off.")
    operator.click("text=Lift the switch")
    assert page.locator("text=Lifted: calls go through again.").count() == 1


def test_the_demo_shows_a_widening_in_review(sign_in: ArriveAs) -> None:
    visitor = sign_in("reviewer")
    visitor.click("text=adp_payments_mcp 1.1.0")
    changes = visitor.page.locator(".reg-change").all_inner_texts()
    assert "widens" in changes[0]
    assert any("200000" in change for change in changes)
    visitor.page.click("summary")
    assert visitor.page.locator(".reg-unchanged li").count() > 0
    visitor.click(".reg-filter a[href='?direction=widens']")
    assert visitor.page.locator(".reg-change--neutral").count() == 0


@pytest.mark.parametrize("script", [True, False], ids=["with script", "without script"])
def test_a_file_is_uploaded_and_checked(
    sign_in: ArriveAs, tmp_path: Path, browser: Any, script: bool
) -> None:
    author = sign_in("author")
    file = tmp_path / "manifest.json"
    file.write_text(strict_json.dumps(_manifest()))
    visitor = author
    if not script:
        state: Any = author.page.context.storage_state()
        context = browser.new_context(storage_state=state, java_script_enabled=False)
        visitor = Visitor(context.new_page(), author.url)
    visitor.open(f"{VERSIONS}new/")
    visitor.page.set_input_files("#id_file", file)
    visitor.click("text=Read and check it")
    assert visitor.page.locator("code", has_text="owner.missing").count() == 1
    visitor.click("text=Twelve steps")
    visitor.page.fill("[name='f/owner_role']", "vouchers_platform")
    visitor.click("button[value=check]")
    assert "nothing blocks" in visitor.page.inner_text("[data-status]")
    visitor.click("button[value=add_capability]")
    assert visitor.page.locator("legend", has_text="2. not named yet").count() >= 1
    assert visitor.faults == []
    if not script:
        visitor.page.context.close()


def _hidden_width(visitor: Visitor) -> int:
    """How much of a list's table lies beyond its edge."""
    table = visitor.page.locator("#result_list, .cos-blank").first
    hidden = "t => t.scrollWidth - t.closest('.simplebar-content-wrapper, main').clientWidth"
    return int(table.evaluate(hidden))


def test_the_entry_of_the_present_page_is_in_view_however_long_the_menu(
    sign_in: ArriveAs,
) -> None:
    visitor = sign_in("admin")
    for entry in ("Adapters", "Tokens", "Failed sign-ins"):
        visitor.click(f"[data-menu-entry] a:has-text('{entry}')")
        present = visitor.page.locator("#nav-sidebar-apps [aria-current=page]").bounding_box()
        menu = visitor.page.locator("#nav-sidebar-apps").bounding_box()
        assert present is not None
        assert menu is not None
        assert menu["y"] <= present["y"]
        assert present["y"] + present["height"] <= menu["y"] + menu["height"]


def test_lists_and_empty_states_look_right(sign_in: ArriveAs) -> None:
    visitor = sign_in("auditor")
    for name in ("adapter", "adapterversion", "capability", "schemadocument", "killswitch"):
        visitor.open(f"/admin/registry/{name}/")
        assert _hidden_width(visitor) <= 0, f"{name} scrolls sideways at 1280 px"
        visitor.judge_looks(f"registry-list-{name}")
    visitor.open("/admin/registry/prompt/")
    assert visitor.page.locator(".cos-blank").count() == 1
    visitor.judge_looks("registry-empty")
