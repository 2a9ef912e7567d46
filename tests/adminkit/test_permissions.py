"""Permissions of the base classes: per object, per service, read-only, installation-wide."""

from __future__ import annotations

import pytest
from django.urls import reverse
from guardian.shortcuts import assign_perm

from contextos.identity.models import Agent, Tenant, User
from tests.adminkit.pages import site
from tests.adminkit.world import (
    make_agent,
    make_person,
    make_superuser,
    make_tenant,
    signed_in,
)

pytestmark = [pytest.mark.django_db, pytest.mark.urls("tests.adminkit.pages")]


@pytest.fixture
def acme() -> Tenant:
    return make_tenant()


@pytest.fixture
def admin(acme: Tenant) -> User:
    return make_person("pat", acme, "platform_admin")


def test_a_role_that_only_reads_gets_no_change_form(acme: Tenant) -> None:
    agent = make_agent(acme, "agent_one")
    client = signed_in(make_person("aud", acme, "auditor"))
    url = reverse("admin:identity_agent_change", args=[agent.pk])
    assert client.get(url).status_code == 200
    assert client.post(url, {"name": "Changed"}).status_code == 403
    assert client.get(reverse("admin:identity_agent_add")).status_code == 403
    agent.refresh_from_db()
    assert agent.name == "Agent agent_one"


def test_a_page_without_a_service_has_no_button_for_anybody(acme: Tenant) -> None:
    client = signed_in(make_superuser(), tenant=acme)
    assert client.get(reverse("admin:identity_membership_add")).status_code == 403


def test_deletion_is_off_unless_a_service_deletes(acme: Tenant, admin: User) -> None:
    member = make_person("mel", acme, "operator").memberships.get()
    url = reverse("admin:identity_membership_delete", args=[member.pk])
    assert signed_in(admin).post(url, {"post": "yes"}).status_code == 403


def test_deletion_goes_through_the_service_where_there_is_one(acme: Tenant, admin: User) -> None:
    agent = make_agent(acme, "agent_one")
    url = reverse("admin:identity_agent_delete", args=[agent.pk])
    assert signed_in(admin).post(url, {"post": "yes"}).status_code == 302
    assert not Agent.objects.exists()


def test_a_read_only_page_refuses_even_a_superuser(acme: Tenant) -> None:
    client = signed_in(make_superuser(), tenant=acme)
    assert client.get(reverse("admin:identity_issuedtoken_changelist")).status_code == 200
    assert client.get(reverse("admin:identity_issuedtoken_add")).status_code == 403


def test_a_role_alone_opens_no_object_that_needs_its_own_permission(
    acme: Tenant, admin: User
) -> None:
    url = reverse("admin:identity_tenant_change", args=[acme.pk])
    client = signed_in(admin)
    assert client.get(url).status_code == 302  # not in the list, so not there
    assert (
        "tenant_acme"
        not in client.get(reverse("admin:identity_tenant_changelist")).text.split('id="content"')[1]
    )


def test_an_object_permission_opens_exactly_that_object(acme: Tenant, admin: User) -> None:
    other = make_tenant("tenant_globex", "Globex")
    make_person("pat", other, "platform_admin")
    assign_perm("view_tenant", admin, acme)
    client = signed_in(admin, tenant=acme)
    assert client.get(reverse("admin:identity_tenant_change", args=[acme.pk])).status_code == 200
    assert client.get(reverse("admin:identity_tenant_change", args=[other.pk])).status_code == 302


def test_pages_of_the_installation_are_hidden_from_roles(acme: Tenant, admin: User) -> None:
    client = signed_in(admin)
    assert client.get(reverse("admin:auth_group_changelist")).status_code == 403
    root = signed_in(make_superuser(), tenant=acme)
    assert root.get(reverse("admin:auth_group_changelist")).status_code == 200


def test_an_empty_list_teaches(acme: Tenant, admin: User) -> None:
    page = signed_in(admin).get(reverse("admin:identity_agent_changelist"))
    assert "No agents yet" in page.text
    assert "An agent is a workload that proposes tool calls." in page.text
    assert reverse("admin:identity_agent_add") in page.text


def test_an_empty_search_offers_the_way_back(acme: Tenant, admin: User) -> None:
    page = signed_in(admin).get(reverse("admin:identity_agent_changelist"), {"q": "nothing"})
    assert "Nothing matches" in page.text


def test_a_button_asking_with_the_id_of_a_foreign_object_is_denied(
    acme: Tenant, admin: User
) -> None:
    own = make_agent(acme, "agent_one")
    foreign = make_agent(make_tenant("tenant_globex", "Globex"), "agent_two")
    request = signed_in(admin).get(reverse("admin:identity_agent_changelist")).wsgi_request
    page = site._registry[Agent]
    assert page.has_change_permission(request, str(own.pk))
    assert not page.has_change_permission(request, str(foreign.pk))
    assert not page.has_change_permission(request, "no such id")
