"""How passwords are kept: memory-hard, and older ones are kept anew at the next sign-in."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.contrib.auth.hashers import PBKDF2PasswordHasher, identify_hasher
from django.test import override_settings

from contextos.identity.backends import MembershipBackend
from contextos.identity.models import Tenant
from contextos.settings import base
from tests.factories import make_member

pytestmark = [pytest.mark.django_db, pytest.mark.proves("C6")]
PASSWORD = "correct horse battery staple"


@pytest.fixture(autouse=True)
def _as_in_production() -> Iterator[None]:
    with override_settings(PASSWORD_HASHERS=base.PASSWORD_HASHERS):
        yield


def test_a_password_is_kept_with_scrypt(acme: Tenant) -> None:
    person = make_member(acme, "operator", username="otto")
    person.set_password(PASSWORD)
    assert identify_hasher(person.password).algorithm == "scrypt"
    assert PASSWORD not in person.password


def test_an_older_password_still_opens_and_is_kept_anew(acme: Tenant) -> None:
    person = make_member(acme, "operator", username="otto")
    person.password = PBKDF2PasswordHasher().encode(PASSWORD, "salt", iterations=1000)
    person.save()
    backend = MembershipBackend()
    assert backend.authenticate(None, username="otto", password=f"{PASSWORD}!") is None
    assert backend.authenticate(None, username="otto", password=PASSWORD) == person
    person.refresh_from_db()
    assert identify_hasher(person.password).algorithm == "scrypt"
