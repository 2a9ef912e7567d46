"""Nobody reaches the admin without a second factor."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import pytest
from django.contrib import admin
from django.core.checks import run_checks
from django.template.loader import render_to_string
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from contextos.admin_site import ContextOSAdminSite
from contextos.identity.models import Tenant, User
from tests.adminkit.world import (
    PASSWORD,
    give_factor,
    make_person,
    make_tenant,
    password_only,
    signed_in,
)

pytestmark = [pytest.mark.django_db]

OPEN_TO_STRANGERS = {"login", "logout", "verify", "jsi18n"}


@pytest.fixture
def acme() -> Tenant:
    return make_tenant()


@pytest.fixture
def person(acme: Tenant) -> User:
    return make_person("pat", acme, "platform_admin")


def test_the_default_site_is_the_guarded_one() -> None:
    assert isinstance(admin.site, ContextOSAdminSite)
    assert [found for found in run_checks() if found.id == "contextos.E020"] == []


def test_the_theme_taking_over_the_site_stops_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admin, "site", admin.AdminSite())
    assert "contextos.E020" in [found.id for found in run_checks()]


def admin_addresses() -> list[str]:
    """Every address of the admin that takes no argument."""
    resolver = next(
        entry
        for entry in get_resolver().url_patterns
        if isinstance(entry, URLResolver) and entry.namespace == "admin"
    )
    found: list[str] = []

    def walk(entries: list[URLPattern | URLResolver], prefix: str) -> None:
        for entry in entries:
            route = prefix + str(entry.pattern)
            if isinstance(entry, URLResolver):
                walk(entry.url_patterns, route)
            elif "<" not in route and "(" not in route and entry.name not in OPEN_TO_STRANGERS:
                found.append("/" + route)

    walk(list(resolver.url_patterns), "admin/")
    return found


def test_every_page_sends_strangers_and_half_signed_in_people_away(person: User) -> None:
    give_factor(person)
    half = password_only("pat")
    addresses = admin_addresses()
    assert len(addresses) > 8
    for client in (Client(), half):
        for address in addresses:
            answer = client.get(address)
            assert answer.status_code == 302, address
            assert urlsplit(answer["Location"]).path == reverse("admin:login"), address


def test_after_the_password_comes_the_second_factor_and_then_the_wanted_page(person: User) -> None:
    give_factor(person)
    client = Client()
    wanted = reverse("admin:account")
    page = client.post(
        f"{reverse('admin:login')}?next={wanted}",
        {"username": "pat", "password": PASSWORD, "next": wanted},
        follow=True,
    )
    last = urlsplit(page.redirect_chain[-1][0])
    assert last.path == reverse("admin:verify")
    assert parse_qs(last.query)["next"] == [wanted]


def test_the_login_page_does_not_forward_to_other_hosts(person: User) -> None:
    client = signed_in(person)
    answer = client.get(reverse("admin:login"), {"next": "https://evil.example/"})
    assert answer["Location"] == reverse("admin:index")


def test_people_without_a_factor_can_still_sign_out(person: User) -> None:
    client = password_only("pat")
    assert client.post(reverse("admin:logout")).status_code == 200
    assert "_auth_user_id" not in client.session


def test_the_first_page_names_tenant_environment_and_database(person: User) -> None:
    page = signed_in(person).get(reverse("admin:index"))
    assert "Acme" in page.text
    assert "development" in page.text
    from django.db import connection

    banner = "This installation runs on the embedded database: for trying out only."
    assert (banner in page.text) == (connection.vendor == "sqlite")


def test_own_pages_hold_no_inline_script(person: User) -> None:
    client = signed_in(person)
    for name in ("index", "account", "password_change"):
        text = client.get(reverse(f"admin:{name}")).text
        assert "<script>" not in text
        assert "onclick=" not in text


@pytest.mark.parametrize(("value", "shown"), [("3", True), ("0", False), ("", False)])
def test_a_menu_badge_shows_only_when_there_is_something_to_count(value: str, shown: bool) -> None:
    page = render_to_string("adminkit/menu_badge.html", {"value": value})
    assert ("cos-badge" in page) is shown
