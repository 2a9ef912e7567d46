"""Behind a proxy a pause hits the visitor who guessed, not the owner of the name."""

from __future__ import annotations

from typing import Any

import pytest
from django.conf import settings as configured
from django.test import Client, RequestFactory
from django.urls import reverse

from contextos.adminkit.login import address_behind_proxy
from tests.adminkit.world import PASSWORD, make_person, make_tenant
from tests.ops.environment import bare_environment, run

ATTACKER, OWNER = "203.0.113.9", "198.51.100.7"


@pytest.fixture
def behind_proxy(settings: Any) -> None:
    settings.AXES_CLIENT_IP_CALLABLE = "contextos.adminkit.login.address_behind_proxy"


def sign_in(password: str, forwarded_for: str) -> int:
    form = {"username": "pat", "password": password}
    headers = {"X-Forwarded-For": forwarded_for}
    return Client().post(reverse("admin:login"), form, headers=headers).status_code


@pytest.mark.django_db
@pytest.mark.usefixtures("behind_proxy")
def test_a_stranger_does_not_lock_the_owner_out() -> None:
    make_person("pat", make_tenant(), "operator")
    guesses = [sign_in("wrong", ATTACKER) for _ in range(configured.AXES_FAILURE_LIMIT)]
    assert guesses[-1] == 429
    assert sign_in(PASSWORD, OWNER) == 302


@pytest.mark.django_db
@pytest.mark.usefixtures("behind_proxy")
def test_made_up_entries_do_not_lift_the_pause() -> None:
    make_person("pat", make_tenant(), "operator")
    guesses = [
        sign_in("wrong", f"10.0.0.{number}, {ATTACKER}")
        for number in range(configured.AXES_FAILURE_LIMIT)
    ]
    assert guesses[-1] == 429


@pytest.mark.parametrize("header", ["", "unknown", "1.2.3.4, ", "1.2.3.4, <b>", "999.1.1.1"])
def test_what_is_no_address_counts_as_the_proxy(header: str) -> None:
    request = RequestFactory().get("/", headers={"X-Forwarded-For": header})
    assert address_behind_proxy(request) == "127.0.0.1"


@pytest.mark.parametrize(("trusted", "expected"), [("true", True), ("false", False)])
def test_the_header_counts_only_where_the_proxy_is_trusted(trusted: str, expected: bool) -> None:
    words = (
        "from contextos.settings import base;"
        "print(hasattr(base, 'AXES_CLIENT_IP_CALLABLE'), hasattr(base, 'SECURE_PROXY_SSL_HEADER'))"
    )
    outcome = run(["-c", words], bare_environment() | {"CONTEXTOS_TRUST_PROXY": trusted})
    assert outcome.stdout.split() == [str(expected)] * 2, outcome.stderr
