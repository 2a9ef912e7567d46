"""The second-factor page: enrolment, codes, recovery, step-up, and what must not work."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.test import Client
from django.urls import reverse

from audit.models import AuditEvent
from contextos.identity.models import Tenant, TotpDevice, User
from contextos.identity.second_factor import issue_recovery_codes, recovery_codes_left
from tests.adminkit.world import (
    TESTER,
    code_at,
    give_factor,
    make_person,
    make_tenant,
    password_only,
    secret_of,
    wrong_code,
)

pytestmark = pytest.mark.django_db

VERIFY = "/admin/verify/"


def frozen() -> time_machine.travel:
    """Time stands still at the present moment, so that sessions made before stay valid."""
    return time_machine.travel(datetime.now(UTC), tick=False)


@pytest.fixture
def acme() -> Tenant:
    return make_tenant()


@pytest.fixture
def person(acme: Tenant) -> User:
    return make_person("pat", acme, "platform_admin")


@pytest.fixture
def browser(person: User) -> Client:
    """Signed in with the password only."""
    return password_only("pat")


def shown_secret(page: str) -> bytes:
    block = page.split('id="secret"')[1].split("</div>")[0]
    return secret_of("".join(re.findall(r"<span>([A-Z2-7]+)</span>", block)))


def shown_codes(page: str) -> list[str]:
    return re.findall(r"<li>([a-z2-7]{4}(?:-[a-z2-7]{4}){3})</li>", page)


# --- enrolment ---------------------------------------------------------------------------------
def test_enrolment_leads_from_the_qr_code_to_recovery_codes_and_in(browser: Client) -> None:
    page = browser.get(VERIFY, {"next": "/admin/account/"}).text
    assert 'src="data:image/svg+xml;base64,' in page
    secret = shown_secret(page)
    answer = browser.post(VERIFY, {"code": code_at(secret), "next": "/admin/account/"})
    assert len(shown_codes(answer.text)) == 10
    assert "no-store" in answer["Cache-Control"]
    done = browser.post(VERIFY, {"step": "saved", "next": "/admin/account/"})
    assert done["Location"] == "/admin/account/"
    assert browser.get("/admin/account/").status_code == 200


def test_enrolment_is_recorded(browser: Client, person: User) -> None:
    secret = shown_secret(browser.get(VERIFY).text)
    browser.post(VERIFY, {"code": code_at(secret)})
    actions = set(
        AuditEvent.objects.filter(subject_id=person.user_id).values_list("action", flat=True)
    )
    assert {"identity.factor.enrolled", "identity.recovery_codes.issued"} <= actions


def test_reloading_the_page_keeps_the_same_secret(browser: Client) -> None:
    assert shown_secret(browser.get(VERIFY).text) == shown_secret(browser.get(VERIFY).text)


def test_a_secret_shown_in_another_session_can_not_be_confirmed_here(browser: Client) -> None:
    spy = password_only("pat")
    seen_by_spy = shown_secret(spy.get(VERIFY).text)
    own = shown_secret(browser.get(VERIFY).text)
    assert own != seen_by_spy
    browser.post(VERIFY, {"code": code_at(seen_by_spy)})
    assert not TotpDevice.objects.filter(confirmed=True).exists()


def test_a_wrong_first_code_confirms_nothing(browser: Client) -> None:
    secret = shown_secret(browser.get(VERIFY).text)
    page = browser.post(VERIFY, {"code": wrong_code(secret)})
    assert "That code is not right" in page.text
    assert 'aria-invalid="true"' in page.text
    assert browser.get("/admin/").status_code == 302


def test_recovery_codes_are_not_shown_a_second_time(browser: Client) -> None:
    secret = shown_secret(browser.get(VERIFY).text)
    codes = shown_codes(browser.post(VERIFY, {"code": code_at(secret)}).text)
    for address in ("/admin/", "/admin/account/", VERIFY):
        assert not set(codes) & set(shown_codes(browser.get(address, follow=True).text))


# --- proving -----------------------------------------------------------------------------------
def test_the_right_code_lets_in_and_changes_the_session_key(browser: Client, person: User) -> None:
    secret = give_factor(person)
    before = browser.session.session_key
    answer = browser.post(VERIFY, {"code": code_at(secret), "next": "/admin/"})
    assert answer["Location"] == "/admin/"
    assert browser.session.session_key != before
    assert browser.get("/admin/").status_code == 200


def test_the_field_is_made_for_one_time_codes(browser: Client, person: User) -> None:
    give_factor(person)
    page = browser.get(VERIFY).text
    assert 'autocomplete="one-time-code"' in page
    assert 'inputmode="numeric"' in page


@pytest.mark.parametrize(
    "code", ["", "abc", "12345", "1234567", "１２３４５６", "0x1234", "-12345"]
)
def test_nonsense_is_refused_with_a_field_error(browser: Client, person: User, code: str) -> None:
    give_factor(person)
    page = browser.post(VERIFY, {"code": code})
    assert page.status_code == 200
    assert 'id="code-error"' in page.text


def test_a_code_works_once_only(browser: Client, person: User) -> None:
    secret = give_factor(person)
    code = code_at(secret)
    assert browser.post(VERIFY, {"code": code}).status_code == 302
    other = password_only("pat")
    assert other.post(VERIFY, {"code": code}).status_code == 200
    assert other.get("/admin/").status_code == 302


def test_wrong_codes_make_the_next_try_wait_and_say_how_long(browser: Client, person: User) -> None:
    secret = give_factor(person)
    with frozen() as clock:
        for _ in range(3):
            browser.post(VERIFY, {"code": wrong_code(secret)})
            clock.shift(10)
        browser.post(VERIFY, {"code": wrong_code(secret)})  # the fourth: 8 seconds of waiting
        page = browser.post(VERIFY, {"code": code_at(secret)})
        assert "Too many wrong codes. Try again in 9 seconds." in page.text
        clock.shift(9)
        assert browser.post(VERIFY, {"code": code_at(secret)}).status_code == 302


def test_a_recovery_code_lets_in_once(browser: Client, person: User) -> None:
    give_factor(person)
    code = issue_recovery_codes(user=person, actor=TESTER)[0]
    assert browser.post(f"{VERIFY}?recovery=1", {"code": code.upper()}).status_code == 302
    assert "you used a recovery code" in browser.get("/admin/").text.lower()
    assert recovery_codes_left(person) == 9
    other = password_only("pat")
    assert other.post(f"{VERIFY}?recovery=1", {"code": code}).status_code == 200
    assert AuditEvent.objects.filter(action="identity.recovery_code.used").count() == 1


def test_somebody_elses_recovery_code_is_worthless(
    browser: Client, person: User, acme: Tenant
) -> None:
    give_factor(person)
    issue_recovery_codes(user=person, actor=TESTER)
    other = make_person("quinn", acme, "operator")
    code = issue_recovery_codes(user=other, actor=TESTER)[0]
    assert browser.post(VERIFY, {"code": code}).status_code == 200


@pytest.mark.parametrize(
    "target",
    [
        "https://evil.example/",
        "//evil.example/",
        "/\\evil.example",
        "///evil.example",
        "http:evil.example",
        "javascript:alert(1)",
        "\thttps://evil.example",
        "/%09/evil.example\n",
        "https://testserver@evil.example/",
        "admin/",
    ],
)
@pytest.mark.parametrize("where", ["query", "body", "saved"])
def test_next_never_leaves_this_host(
    browser: Client, person: User, target: str, where: str
) -> None:
    secret = give_factor(person)
    body = {"code": code_at(secret)}
    if where == "saved":
        answer = browser.post(VERIFY, {"step": "saved", "next": target})
    elif where == "query":
        answer = browser.post(f"{VERIFY}?next={target.strip()}", body)
    else:
        answer = browser.post(VERIFY, body | {"next": target})
    assert answer.status_code == 302
    location = answer["Location"]
    assert location == "/admin/" or (location.startswith("/%09/") and "\\" not in location)


def test_strangers_are_sent_to_the_password_first() -> None:
    answer = Client().get(VERIFY)
    assert answer["Location"].startswith("/admin/login/")


def test_a_verified_person_is_not_asked_again_without_a_purpose(
    browser: Client, person: User
) -> None:
    secret = give_factor(person)
    browser.post(VERIFY, {"code": code_at(secret)})
    assert browser.get(VERIFY, {"next": "/admin/account/"})["Location"] == "/admin/account/"


# --- step-up -----------------------------------------------------------------------------------
def test_step_up_asks_again_although_the_person_is_verified(browser: Client, person: User) -> None:
    secret = give_factor(person)
    with frozen() as clock:
        browser.post(VERIFY, {"code": code_at(secret)})
        guarded = reverse("admin:account_recovery_codes")
        asked = browser.get(guarded)
        assert (
            asked["Location"]
            == f"{VERIFY}?purpose=account&next=%2Fadmin%2Faccount%2Frecovery-codes%2F"
        )
        page = browser.get(asked["Location"])
        assert "Before your sign-in settings change" in page.text
        clock.shift(30)
        form = {"code": code_at(secret), "purpose": "account", "next": guarded}
        assert browser.post(VERIFY, form)["Location"] == guarded
        assert browser.get(guarded).status_code == 200


def test_a_step_up_is_fresh_for_five_minutes_and_no_longer(browser: Client, person: User) -> None:
    secret = give_factor(person)
    guarded = reverse("admin:account_recovery_codes")
    with frozen() as clock:
        browser.post(VERIFY, {"code": code_at(secret), "purpose": "account"})
        clock.shift(300)
        assert browser.get(guarded).status_code == 200
        clock.shift(1)
        assert browser.get(guarded).status_code == 302


def test_a_step_up_for_one_purpose_does_not_serve_another(browser: Client, person: User) -> None:
    secret = give_factor(person)
    browser.post(VERIFY, {"code": code_at(secret), "purpose": "approve:apr_1"})
    assert browser.get(reverse("admin:account_recovery_codes")).status_code == 302


def test_the_purpose_in_the_address_can_not_put_words_on_the_page(
    browser: Client, person: User
) -> None:
    give_factor(person)
    page = browser.get(VERIFY, {"purpose": "Wire 1000 EUR <b>now</b>"}).text
    assert "Before you go on, show that it is you." in page
    assert "<b>now</b>" not in page


def test_the_factor_ends_with_the_device(browser: Client, person: User) -> None:
    secret = give_factor(person)
    browser.post(VERIFY, {"code": code_at(secret)})
    TotpDevice.objects.all().delete()
    assert browser.get("/admin/").status_code == 302


def test_replacing_the_app_retires_the_old_one(browser: Client, person: User) -> None:
    old = give_factor(person)
    address = reverse("admin:account_authenticator")
    with frozen() as clock:
        browser.post(VERIFY, {"code": code_at(old), "purpose": "account"})
        new = shown_secret(browser.get(address).text)
        answer = browser.post(address, {"code": code_at(new)})
        assert len(shown_codes(answer.text)) == 10
        clock.shift(60)
        other = password_only("pat")
        assert other.post(VERIFY, {"code": code_at(old)}).status_code == 200
        clock.shift(timedelta(seconds=30))
        assert other.post(VERIFY, {"code": code_at(new)}).status_code == 302
