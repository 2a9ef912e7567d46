"""Every page light, dark and narrow; the keyboard alone; switching the tenant."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.e2e.demo_process import Demo
from tests.e2e.visitor import NARROW, Codes, Visitor

ArriveAs = Callable[[str], Visitor]


def test_every_page_of_the_menu_looks_right(sign_in: ArriveAs) -> None:
    visitor = sign_in("admin")
    visitor.judge_looks("front-page")
    links = visitor.page.locator("[data-menu-entry] a").evaluate_all(
        "links => links.map(l => l.href)"
    )
    assert len(links) >= 10
    for link in links[1:]:
        visitor.page.goto(link)
        visitor.judge_looks("list-" + link.rstrip("/").rsplit("/", 1)[1])


@pytest.mark.parametrize(
    "path",
    [
        "/admin/identity/user/add/",
        "/admin/identity/agent/add/",
        "/admin/identity/membership/add/",
        "/admin/identity/trustedissuer/add/",
        "/admin/identity/tenant/add/",
        "/admin/password_change/",
        "/admin/account/",
    ],
)
def test_every_form_looks_right(sign_in: ArriveAs, path: str) -> None:
    visitor = sign_in("admin")
    assert visitor.open(path) == 200
    visitor.judge_looks("form-" + path.strip("/").replace("/", "-"))


def test_an_object_and_its_record_look_right(sign_in: ArriveAs) -> None:
    visitor = sign_in("admin")
    for model in ("identity/agent", "audit/auditevent", "identity/issuedtoken", "identity/user"):
        visitor.open(f"/admin/{model}/")
        visitor.click("#result_list tbody tr a")
        visitor.judge_looks("object-" + model.replace("/", "-"))


def test_a_missing_page_says_so(sign_in: ArriveAs) -> None:
    visitor = sign_in("admin")
    visitor.expected_status = {404}
    assert visitor.open("/admin/no-such-page/") == 404
    assert visitor.page.inner_text("h1") == "There is nothing at this address"
    visitor.judge_looks("not-found")


def test_the_menu_opens_and_closes_on_a_narrow_screen(sign_in: ArriveAs) -> None:
    visitor = sign_in("admin")
    page = visitor.page
    page.set_viewport_size(NARROW)  # type: ignore[arg-type]
    page.reload()
    menu = page.locator("#nav-sidebar")
    assert not menu.is_visible()
    page.click("button[aria-label='Open the menu']")
    menu.wait_for(state="visible")
    visitor.keep_picture("menu-360")
    page.click("button[aria-label='Close the menu']")
    menu.wait_for(state="hidden")


def test_signing_in_with_the_keyboard_alone(stranger: Visitor, demo: Demo, codes: Codes) -> None:
    page = stranger.page
    stranger.open("/admin/")
    page.locator("#id_username:focus").wait_for()
    page.keyboard.type("reviewer2")
    page.keyboard.press("Tab")
    page.keyboard.type(demo.users["reviewer2"]["password"])
    stranger.press_enter()
    page.locator("#id_code:focus").wait_for()
    page.keyboard.type(codes.next(demo.users["reviewer2"]["otp_secret"]))
    stranger.press_enter()
    assert page.url == f"{demo.url}/admin/"

    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "cos-skip"
    stranger.keep_picture("skip-link")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "content"

    page.keyboard.press("?")
    page.locator("#cos-shortcuts[open]").wait_for()
    stranger.keep_picture("shortcuts")
    page.keyboard.press("Escape")
    page.locator("#cos-shortcuts[open]").wait_for(state="detached")

    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "nav-filter"
    page.keyboard.type("event")
    assert page.locator("[data-menu-entry]:visible").count() == 1
    stranger.press_enter()
    assert page.url == f"{demo.url}/admin/audit/auditevent/"
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "searchbar"


def test_switching_the_tenant(sign_in: ArriveAs) -> None:
    visitor = sign_in("admin")
    page = visitor.page
    visitor.open("/admin/identity/tenant/add/")
    page.fill("#id_tenant_id", "tenant_globex")
    page.fill("#id_name", "Globex")
    visitor.click("button[name=_save]")  # whoever adds a tenant acts in it from then on
    visitor.open("/admin/")
    assert "You act in Globex." in page.inner_text("main")
    assert "Getting started" in page.inner_text("main")
    visitor.judge_looks("front-page-empty")
    visitor.open("/admin/identity/agent/")
    assert "No agents yet" in page.inner_text("main")
    visitor.judge_looks("list-empty")

    page.click("summary.cos-tenant__face")
    visitor.keep_picture("tenant-switcher")
    visitor.click("button[value=tenant_acme_prod]")
    assert "You now act in Acme." in page.inner_text("main")
    visitor.open("/admin/identity/agent/")
    assert "Support refunds agent" in page.inner_text("main")
