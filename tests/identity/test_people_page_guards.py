"""The page of people gives nothing away that would open an account, and takes none over."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from contextos.identity.models import Tenant, User
from tests.factories import PASSWORD, make_member
from tests.identity.signed_in import browser_of

ANOTHER = "a-second-long-password"


@pytest.fixture
def boss(acme: Tenant) -> User:
    return make_member(acme, "platform_admin", username="boss")


@pytest.mark.parametrize(
    "lookup", ["password", "password__startswith", "password__regex", "password__gt"]
)
def test_nobody_is_found_by_the_hash_of_their_password(acme: Tenant, lookup: str) -> None:
    browser = browser_of(make_member(acme, "auditor"), acme)
    page = browser.get(reverse("admin:identity_user_changelist"), {lookup: "pbkdf2"})
    assert page.status_code == 400


def test_people_are_still_found_by_their_state(acme: Tenant, boss: User) -> None:
    page = browser_of(boss, acme).get(
        reverse("admin:identity_user_changelist"), {"is_active__exact": "1"}
    )
    assert page.status_code == 200
    assert "boss" in page.text


def test_an_open_session_does_not_set_its_own_password(acme: Tenant, boss: User) -> None:
    browser: Client = browser_of(boss, acme)
    page = browser.post(
        reverse("admin:identity_user_change_password", args=[boss.pk]), {"password": ANOTHER}
    )
    assert "where the present one is asked for" in page.text
    assert User.objects.get(pk=boss.pk).check_password(PASSWORD)


def test_somebody_elses_password_is_still_set(acme: Tenant, boss: User) -> None:
    other = make_member(acme, "operator")
    browser_of(boss, acme).post(
        reverse("admin:identity_user_change_password", args=[other.pk]), {"password": ANOTHER}
    )
    assert User.objects.get(pk=other.pk).check_password(ANOTHER)
