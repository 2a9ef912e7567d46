"""The front page: panels per person, empty states that teach, first steps."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone

from audit.services import record_event
from contextos.adminkit import front_page
from contextos.adminkit.front_page import Panel, Row, register_panel
from contextos.core.ids import new_id
from contextos.identity.actors import person
from contextos.identity.models import IssuedToken, Tenant, User
from contextos.identity.services import grant_role, issue_agent_token
from tests.adminkit.world import TESTER, make_agent, make_person, make_tenant, signed_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def acme() -> Tenant:
    return make_tenant()


@pytest.fixture
def admin(acme: Tenant) -> User:
    return make_person("ada", acme, "platform_admin")


def card(user: User, key: str) -> str:
    page = signed_in(user).get(reverse("admin:index")).text
    marker = f'id="front-{key}"'
    return page.split(marker)[1].split("</section>")[0] if marker in page else ""


def test_empty_columns_say_what_they_are_for(admin: User) -> None:
    assert "Nothing is published yet" in card(admin, "published")
    assert "Only what was reviewed, signed and published" in card(admin, "published")
    assert "Nothing is failing" in card(admin, "failing")


def test_first_steps_show_what_is_left_and_vanish_when_done(
    admin: User, acme: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = [entry for entry in front_page._builders["start"] if entry[1] == "identity.start"]
    monkeypatch.setitem(front_page._builders, "start", ours)
    assert "Register an agent" in card(admin, "start")
    make_person("bo", acme, "operator")
    make_agent(acme, "agent_one")
    issue_agent_token(tenant_id=acme.pk, agent_id="agent_one", actor=TESTER)
    assert card(admin, "start") == ""


def test_people_who_can_not_take_the_first_steps_are_not_shown_them(acme: Tenant) -> None:
    assert card(make_person("aud", acme, "auditor"), "start") == ""


def test_an_agent_without_a_token_waits(admin: User, acme: Tenant) -> None:
    make_agent(acme, "agent_one")
    assert "Agents without a token" in card(admin, "waiting")
    issue_agent_token(tenant_id=acme.pk, agent_id="agent_one", actor=TESTER)
    assert "Agents without a token" not in card(admin, "waiting")


def test_a_long_lived_token_is_announced_a_week_before_it_ends(admin: User, acme: Tenant) -> None:
    make_agent(acme, "agent_one")
    grant = issue_agent_token(
        tenant_id=acme.pk, agent_id="agent_one", actor=TESTER, lifetime=timedelta(days=30)
    )
    assert "Tokens about to expire" not in card(admin, "waiting")
    earlier = timezone.now() - timedelta(days=25)
    IssuedToken.objects.filter(pk=grant.row.pk).update(
        issued_at=earlier, expires_at=earlier + timedelta(days=30)
    )
    assert "Tokens about to expire" in card(admin, "waiting")


def test_other_tenants_tokens_and_agents_are_not_announced(admin: User) -> None:
    make_agent(make_tenant("tenant_globex", "Globex"), "agent_of_globex")
    assert "agent_of_globex" not in card(admin, "waiting")


def test_an_ending_role_is_announced(admin: User, acme: Tenant) -> None:
    helper = make_person("hal", acme)
    soon = timezone.now() + timedelta(days=3)
    grant_role(user=helper, tenant_id=acme.pk, role="operator", actor=TESTER, valid_until=soon)
    assert "hal as operator" in card(admin, "waiting")


def test_few_recovery_codes_are_announced_to_their_owner(admin: User) -> None:
    assert "No recovery codes left" in card(admin, "waiting")


def test_recent_activity_is_for_those_who_may_read_the_record(admin: User, acme: Tenant) -> None:
    make_agent(acme, "agent_one")
    assert "Agent registered" in card(admin, "activity")
    author = make_person("amy", acme, "manifest_author")
    assert "Agent registered" not in card(author, "activity")


def test_recent_activity_stays_within_the_tenant(admin: User) -> None:
    make_agent(make_tenant("tenant_globex", "Globex"), "agent_of_globex")
    assert "agent_of_globex" not in card(admin, "activity")


def test_an_app_adds_a_panel_and_its_text_is_escaped(
    admin: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(front_page, "_builders", {c: [] for c in front_page.COLUMNS})

    def build(request: HttpRequest) -> Panel | None:
        return Panel("Adapters", [Row("<script>x</script>", label="open", tone="danger")], total=7)

    register_panel(key="test.adapters", column="failing", build=build)
    shown = card(admin, "failing")
    assert "Adapters" in shown
    assert "&lt;script&gt;" in shown
    assert ">7<" in shown


def test_registering_twice_under_one_key_replaces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(front_page, "_builders", {c: [] for c in front_page.COLUMNS})
    register_panel(key="k", column="waiting", build=lambda _: Panel("old", [Row("old")]))
    register_panel(key="k", column="waiting", build=lambda _: Panel("new", [Row("new")]))
    assert [panel.title for panel in front_page.section("waiting", HttpRequest()).panels] == ["new"]


def test_recent_activity_names_things_and_people_in_words(admin: User, acme: Tenant) -> None:
    User.objects.filter(pk=admin.pk).update(first_name="Ada", last_name="Lovelace")
    record_event(
        tenant_id=acme.pk,
        action="approval.voted",
        actor=person(admin, acme.pk),
        subject_kind="approval",
        subject_id=(made := new_id("apr")),
        data={"gate": "GATE_FINANCE_APPROVAL", "verdict": "reject"},
    )
    shown = card(admin, "activity")
    assert "approval GATE_FINANCE_APPROVAL, by Ada Lovelace" in shown
    assert made not in shown
