"""A newcomer's first day, walked through in a real browser."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.e2e.demo_process import Demo
from tests.e2e.visitor import Codes, Visitor

PASSWORD = "newcomers first passphrase"
ArriveAs = Callable[[str], Visitor]


def add_person(admin: Visitor, name: str) -> None:
    admin.open("/admin/identity/user/add/")
    admin.page.fill("#id_username", name)
    admin.page.fill("#id_first_name", "Nora")
    admin.page.fill("#id_last_name", "Newcomer")
    admin.page.select_option("#id_role", label="operator")
    admin.page.fill("#id_password", PASSWORD)
    admin.click("button[name=_save]")
    assert admin.page.locator("text=was added successfully").count() == 1


def test_from_the_first_password_to_the_front_page(
    sign_in: ArriveAs, arrivals: Callable[[Any], Visitor], codes: Codes, demo: Demo
) -> None:
    add_person(sign_in("admin"), "newcomer")
    visitor = arrivals(None)
    page = visitor.page

    assert visitor.open("/admin/") == 200
    visitor.judge_looks("sign-in")
    visitor.give_password("newcomer", PASSWORD)

    assert page.url.startswith(f"{demo.url}/admin/verify/")
    assert page.locator("img.cos-qr").evaluate("image => image.complete && image.naturalWidth > 0")
    visitor.judge_looks("enrol")
    secret = "".join(page.locator("#secret span").all_inner_texts())
    visitor.give_code(codes.next(secret))

    assert page.locator("#codes li").count() == 10
    visitor.judge_looks("recovery-codes")
    page.click("text=Continue")
    assert page.locator("#codes li").count() == 10, "the box must be ticked first"
    page.check("text=I have saved these codes")
    visitor.click("text=Continue")

    assert page.url == f"{demo.url}/admin/"
    assert page.locator("h2", has_text="Hello Nora Newcomer").count() == 1
    visitor.keep_picture("front-page-newcomer")

    page.click("button[aria-label^='Your account']")
    visitor.click("text=Log out")
    visitor.judge_looks("signed-out")
    visitor.open("/admin/")
    assert "/admin/login/" in page.url


def test_a_wrong_code_is_explained_at_the_field(
    arrivals: Callable[[Any], Visitor], demo: Demo
) -> None:
    visitor = arrivals(None)
    visitor.open("/admin/")
    visitor.give_password("reviewer2", demo.users["reviewer2"]["password"])
    visitor.judge_looks("verify")
    visitor.give_code("not a code")
    error = visitor.page.locator("#code-error")
    assert "That code is not right" in error.inner_text()
    assert visitor.page.locator("#id_code").get_attribute("aria-describedby") == "code-error"
    visitor.judge_looks("verify-wrong")
    visitor.click("text=Use a recovery code")
    assert visitor.page.locator("label", has_text="Recovery code").count() == 1
    visitor.judge_looks("verify-recovery")


def test_wrong_passwords_end_in_a_pause_that_explains_itself(stranger: Visitor) -> None:
    stranger.expected_status = {429}
    stranger.open("/admin/")
    stranger.give_password("somebody", "wrong")
    stranger.judge_looks("sign-in-wrong")
    while "Too many wrong passwords" not in stranger.page.inner_text("h1"):
        stranger.give_password("somebody", "wrong")
    assert "paused for 15 minutes" in stranger.page.inner_text("main")
    stranger.judge_looks("locked-out")


def test_the_step_up_page_asks_a_signed_in_person_again(
    sign_in: ArriveAs, demo: Demo, codes: Codes
) -> None:
    visitor = sign_in("fin2")
    visitor.open("/admin/account/")
    visitor.judge_looks("account")
    visitor.click("text=Make new recovery codes")
    assert "purpose=account" in visitor.page.url
    visitor.judge_looks("step-up")
    visitor.give_code(codes.next(demo.users["fin2"]["otp_secret"]))
    visitor.click("button:has-text('Make new codes')")
    assert visitor.page.locator("#codes li").count() == 10
