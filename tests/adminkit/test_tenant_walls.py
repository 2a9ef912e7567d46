"""Tenant walls of the admin's base classes, through the pages themselves."""

from __future__ import annotations

import pytest
from django.urls import reverse

from audit.models import AuditEvent
from contextos.identity.models import Agent, Tenant, User
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
    return make_tenant("tenant_acme", "Acme")


@pytest.fixture
def globex() -> Tenant:
    return make_tenant("tenant_globex", "Globex")


@pytest.fixture
def admin(acme: Tenant) -> User:
    return make_person("pat", acme, "platform_admin")


def agent_form(owner: User, **changes: str) -> dict[str, str]:
    values = {
        "agent_id": "agent_new",
        "name": "New agent",
        "role": "support_agent",
        "owner": str(owner.pk),
        "max_mode": "read_only",
    }
    return values | changes


def test_a_list_shows_only_the_acting_tenants_rows(
    acme: Tenant, globex: Tenant, admin: User
) -> None:
    make_agent(acme, "agent_of_acme")
    make_agent(globex, "agent_of_globex")
    page = signed_in(admin).get(reverse("admin:identity_agent_changelist"))
    assert "agent_of_acme" in page.text
    assert "agent_of_globex" not in page.text


def test_search_and_filters_do_not_reach_over_the_wall(globex: Tenant, admin: User) -> None:
    make_agent(globex, "agent_of_globex")
    url = reverse("admin:identity_agent_changelist")
    client = signed_in(admin)
    assert "agent_of_globex" not in client.get(url, {"q": "Agent"}).text
    assert "agent_of_globex" not in client.get(url, {"tenant": globex.pk}).text


@pytest.mark.parametrize("page", ["change", "delete", "history"])
def test_a_foreign_object_looks_like_one_that_is_not_there(
    globex: Tenant, admin: User, page: str
) -> None:
    foreign = make_agent(globex, "agent_of_globex")
    answer = signed_in(admin).get(reverse(f"admin:identity_agent_{page}", args=[foreign.pk]))
    assert answer.status_code in (302, 404)
    assert "agent_of_globex" not in answer.text
    assert answer.headers.get("Location", "/admin/").startswith("/admin/")


def test_a_superuser_who_acts_elsewhere_is_denied_too(acme: Tenant, globex: Tenant) -> None:
    foreign = make_agent(globex, "agent_of_globex")
    client = signed_in(make_superuser(), tenant=acme)
    url = reverse("admin:identity_agent_change", args=[foreign.pk])
    assert client.get(url).status_code in (302, 404)
    client.post(url, agent_form(foreign.owner, name="Taken over"))
    foreign.refresh_from_db()
    assert foreign.name == "Agent agent_of_globex"


def test_a_superuser_who_acts_in_the_tenant_is_let_in(globex: Tenant) -> None:
    agent = make_agent(globex, "agent_of_globex")
    client = signed_in(make_superuser(), tenant=globex)
    url = reverse("admin:identity_agent_change", args=[agent.pk])
    assert client.get(url).status_code == 200


def test_bulk_actions_do_not_touch_foreign_rows(globex: Tenant, admin: User) -> None:
    foreign = make_agent(globex, "agent_of_globex")
    signed_in(admin).post(
        reverse("admin:identity_agent_changelist"),
        {"action": "delete_selected", "_selected_action": [foreign.pk], "post": "yes"},
    )
    assert Agent.objects.filter(pk=foreign.pk).exists()


def test_a_new_object_gets_the_acting_tenant_whatever_is_posted(
    acme: Tenant, globex: Tenant, admin: User
) -> None:
    form = agent_form(admin, tenant=globex.pk, tenant_id=globex.pk)
    answer = signed_in(admin).post(reverse("admin:identity_agent_add"), form)
    assert answer.status_code == 302, answer.text
    assert Agent.objects.get(agent_id="agent_new").tenant == acme


def test_the_service_recorded_what_the_page_did(acme: Tenant, admin: User) -> None:
    signed_in(admin).post(reverse("admin:identity_agent_add"), agent_form(admin))
    event = AuditEvent.objects.get(action="identity.agent.registered")
    assert event.actor_id == admin.user_id
    assert event.tenant_id == acme.pk


def test_a_foreign_key_offers_only_the_tenants_own_rows(
    acme: Tenant, globex: Tenant, admin: User
) -> None:
    stranger = make_person("stranger", globex, "operator")
    client = signed_in(admin)
    assert "stranger" not in client.get(reverse("admin:identity_agent_add")).text
    answer = client.post(reverse("admin:identity_agent_add"), agent_form(stranger))
    assert answer.status_code == 200
    assert not Agent.objects.filter(agent_id="agent_new").exists()


def test_a_person_with_two_roles_is_listed_once(acme: Tenant, admin: User) -> None:
    make_person("both", acme, "operator", "manifest_author")
    page = signed_in(admin).get(reverse("admin:identity_user_changelist"))
    assert page.context["cl"].result_count == 2


def test_a_refusal_by_the_service_keeps_the_input_and_says_why(acme: Tenant, admin: User) -> None:
    make_agent(acme, "agent_new")
    answer = signed_in(admin).post(
        reverse("admin:identity_agent_add"), agent_form(admin, name="Kept name")
    )
    assert answer.status_code == 200
    assert "Kept name" in answer.text
    assert Agent.objects.filter(agent_id="agent_new").count() == 1


def test_without_a_tenant_there_are_no_rows_and_nothing_can_be_added(acme: Tenant) -> None:
    make_agent(acme, "agent_of_acme")
    Tenant.objects.update(is_active=False)
    Tenant.objects.all()
    lonely = make_superuser()
    client = signed_in(lonely)
    Tenant.objects.filter(pk=acme.pk).update(is_active=True)
    request = client.get(reverse("admin:identity_agent_changelist")).wsgi_request
    request.acting_tenant = None  # type: ignore[attr-defined]
    from tests.adminkit.pages import site

    page = site._registry[Agent]
    assert list(page.get_queryset(request)) == []
    assert page.has_add_permission(request) is False
