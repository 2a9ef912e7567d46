"""The person's own account page, password, and the tenant switcher."""

from __future__ import annotations

import pytest
from django.contrib.auth import authenticate
from django.test import Client, RequestFactory
from django.urls import reverse

from audit.models import AuditEvent
from contextos.identity.models import Tenant, User
from tests.adminkit.world import PASSWORD, make_person, make_tenant, signed_in

pytestmark = pytest.mark.django_db
NEW = "quite another passphrase"


@pytest.fixture
def acme() -> Tenant:
    return make_tenant()


@pytest.fixture
def person(acme: Tenant) -> User:
    return make_person("pat", acme, "platform_admin")


def change_password(client: Client, old: str) -> int:
    form = {"old_password": old, "new_password1": NEW, "new_password2": NEW}
    return client.post(reverse("admin:password_change"), form).status_code


def test_the_account_page_shows_roles_and_recovery_codes(person: User) -> None:
    page = signed_in(person).get(reverse("admin:account")).text
    assert "platform admin in Acme" in page
    assert "0: make new ones" in page


def test_changing_the_password_is_recorded_and_keeps_this_session(person: User) -> None:
    client = signed_in(person)
    assert change_password(client, PASSWORD) == 302
    assert client.get(reverse("admin:account")).status_code == 200
    request = RequestFactory().post("/admin/login/")
    assert authenticate(request, username="pat", password=NEW) == person
    event = AuditEvent.objects.get(action="identity.user.password_set")
    assert event.actor_id == person.user_id


def test_changing_the_password_ends_other_sessions(person: User) -> None:
    elsewhere = signed_in(person)
    assert change_password(signed_in(person), PASSWORD) == 302
    assert elsewhere.get(reverse("admin:account")).status_code == 302


def test_the_old_password_is_needed(person: User) -> None:
    assert change_password(signed_in(person), "guess") == 200
    assert AuditEvent.objects.filter(action="identity.user.password_set").count() == 0


def test_the_switcher_appears_only_with_several_tenants(person: User) -> None:
    switch = reverse("admin:change_tenant")
    assert switch not in signed_in(person).get(reverse("admin:index")).text
    make_person("pat", make_tenant("tenant_globex", "Globex"), "operator")
    assert switch in signed_in(person).get(reverse("admin:index")).text


def test_switching_the_tenant_changes_where_the_person_acts(person: User, acme: Tenant) -> None:
    globex = make_tenant("tenant_globex", "Globex")
    make_person("pat", globex, "operator")
    client = signed_in(person, tenant=acme)
    answer = client.post(reverse("admin:change_tenant"), {"tenant_id": globex.pk}, follow=True)
    assert "You now act in Globex." in answer.text
    assert client.get(reverse("admin:index")).context["acting_tenant"] == globex


def test_a_foreign_tenant_can_not_be_entered(person: User, acme: Tenant) -> None:
    make_tenant("tenant_globex", "Globex")
    client = signed_in(person)
    answer = client.post(reverse("admin:change_tenant"), {"tenant_id": "tenant_globex"})
    assert answer.status_code == 404
    assert client.get(reverse("admin:index")).context["acting_tenant"] == acme


def test_switching_needs_a_post_and_a_csrf_token(person: User) -> None:
    assert signed_in(person).get(reverse("admin:change_tenant")).status_code == 405
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = signed_in(person).cookies
    answer = strict.post(reverse("admin:change_tenant"), {"tenant_id": "tenant_acme"})
    assert answer.status_code == 403
