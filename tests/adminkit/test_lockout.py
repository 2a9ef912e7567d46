"""Too many wrong passwords: a pause that explains itself."""

from __future__ import annotations

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse

from contextos.identity.models import Tenant
from contextos.identity.services import deactivate_user
from tests.adminkit.world import PASSWORD, TESTER, make_person, make_tenant, signed_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def acme() -> Tenant:
    return make_tenant()


def try_passwords(username: str, times: int) -> list[int]:
    client = Client()
    form = {"username": username, "password": "not the password"}
    return [client.post(reverse("admin:login"), form).status_code for _ in range(times)]


def test_the_page_says_when_to_try_again_and_whom_to_ask(acme: Tenant) -> None:
    make_person("pat", acme, "operator")
    try_passwords("pat", settings.AXES_FAILURE_LIMIT)
    page = Client().post(reverse("admin:login"), {"username": "pat", "password": PASSWORD})
    assert page.status_code == 429
    assert page["Retry-After"] == "900"
    assert "paused for 15 minutes" in page.text
    assert "person who runs this installation" in page.text


def test_every_failure_is_told_in_the_same_words(acme: Tenant) -> None:
    make_person("pat", acme, "operator")
    off = make_person("off", acme, "operator")
    deactivate_user(user_id=off.user_id, actor=TESTER, reason="left")
    sentence = "This name and password do not open an account here."
    for name, password in (("pat", "wrong"), ("nobody", "wrong"), ("off", PASSWORD)):
        form = {"username": name, "password": password}
        assert sentence in Client().post(reverse("admin:login"), form).text


def test_the_right_password_does_not_help_during_the_pause(acme: Tenant) -> None:
    make_person("pat", acme, "operator")
    try_passwords("pat", settings.AXES_FAILURE_LIMIT)
    client = Client()
    client.post(reverse("admin:login"), {"username": "pat", "password": PASSWORD})
    assert "_auth_user_id" not in client.session


def test_known_and_unknown_names_are_answered_alike(acme: Tenant) -> None:
    make_person("pat", acme, "operator")
    times = settings.AXES_FAILURE_LIMIT + 1
    assert try_passwords("pat", times) == try_passwords("nobody", times)


def test_the_front_page_tells_an_administrator(acme: Tenant) -> None:
    make_person("pat", acme, "operator")
    admin = make_person("ada", acme, "platform_admin")
    stranger = make_person("sam", make_tenant("tenant_globex", "Globex"), "operator")
    try_passwords("pat", settings.AXES_FAILURE_LIMIT)
    try_passwords(stranger.username, settings.AXES_FAILURE_LIMIT)
    page = signed_in(admin).get(reverse("admin:index")).text
    failing = page.split('id="front-failing"')[1].split("</section>")[0]
    assert "pat" in failing
    assert "sam" not in failing
