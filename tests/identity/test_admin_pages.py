"""Changes made on pages go through services: recorded, refused with a reason, undone together."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.admin.utils import quote
from django.contrib.auth.models import Group
from django.test import Client
from django.urls import reverse

from audit.models import AuditEvent
from contextos.identity.keyring import forget_cached_keys
from contextos.identity.models import (
    Agent,
    Environment,
    IssuedToken,
    Membership,
    Tenant,
    TotpDevice,
    TrustedIssuer,
    User,
)
from contextos.identity.token_verification import verify_bearer
from tests.factories import (
    PASSWORD,
    grant,
    make_agent,
    make_agent_token,
    make_issuer,
    make_member,
    make_superuser,
)
from tests.identity.signed_in import browser_of


@pytest.fixture(autouse=True)
def own_keys(settings: Any, tmp_path: Path) -> Iterator[None]:
    settings.KEYS_DIR = tmp_path / "keys"
    yield
    forget_cached_keys()


@pytest.fixture
def boss(acme: Tenant) -> User:
    return make_member(acme, "platform_admin", username="boss")


@pytest.fixture
def browser(boss: User, acme: Tenant) -> Client:
    return browser_of(boss, acme)


# What a browser sends for tables of related rows in which nothing was touched.
NO_INLINES = {
    f"{table}-{count}": "0"
    for table in ("environments", "memberships")
    for count in ("TOTAL_FORMS", "INITIAL_FORMS")
}


def add(browser: Client, page: str, **fields: Any) -> Any:
    return browser.post(reverse(f"admin:identity_{page}_add"), fields)


def change(browser: Client, page: str, pk: object, **fields: Any) -> Any:
    return browser.post(reverse(f"admin:identity_{page}_change", args=[pk]), NO_INLINES | fields)


def press(browser: Client, page: str, button: str, pk: object, **fields: Any) -> Any:
    return browser.post(reverse(f"admin:identity_{page}_{button}", args=[pk]), fields)


def last_event() -> AuditEvent:
    return AuditEvent.objects.order_by("-event_id")[0]


def group(role: str) -> int:
    return Group.objects.get(name=role).pk


def person_fields(**changes: Any) -> dict[str, Any]:
    return {
        "username": "nadia",
        "first_name": "Nadia",
        "last_name": "Khan",
        "email": "nadia@acme.test",
        "role": group("operator"),
        "valid_until_0": "",
        "valid_until_1": "",
        "password": PASSWORD,
    } | changes


# --- people -------------------------------------------------------------------------------------
def test_adding_a_person_gives_the_first_role(browser: Client, boss: User, acme: Tenant) -> None:
    answer = add(browser, "user", **person_fields())
    assert answer.status_code == 302, answer.context and answer.context["errors"]
    user = User.objects.get(username="nadia")
    assert user.check_password(PASSWORD)
    assert [m.role.name for m in user.memberships.filter(tenant=acme)] == ["operator"]
    event = last_event()
    assert (event.action, event.actor_id) == ("identity.role.granted", boss.user_id)


def test_a_refused_role_leaves_no_person_behind(browser: Client) -> None:
    answer = add(browser, "user", **person_fields(role=group("auditor")))
    assert answer.status_code == 200
    assert "needs an end date" in answer.text
    assert not User.objects.filter(username="nadia").exists()


def test_a_weak_password_is_refused_at_its_field(browser: Client) -> None:
    answer = add(browser, "user", **person_fields(password="short"))
    assert "password" in answer.context["adminform"].form.errors
    assert not User.objects.filter(username="nadia").exists()


def test_changing_a_person_is_recorded(browser: Client, acme: Tenant) -> None:
    user = make_member(acme, "operator")
    answer = change(browser, "user", user.pk, first_name="N", last_name="K", email="n@acme.test")
    assert answer.status_code == 302
    assert User.objects.get(pk=user.pk).email == "n@acme.test"
    assert last_event().action == "identity.user.changed"


def test_a_person_of_two_tenants_is_refused_with_a_reason(
    browser: Client, acme: Tenant, globex: Tenant
) -> None:
    user = make_member(acme, "operator")
    grant(user, globex, "operator")
    answer = change(browser, "user", user.pk, first_name="N", last_name="K", email="n@acme.test")
    assert answer.status_code == 200
    assert "works for another tenant" in answer.text
    answer = press(browser, "user", "change_password", user.pk, password="a brand new phrase")
    assert "works for another tenant" in answer.text
    assert User.objects.get(pk=user.pk).check_password(PASSWORD)
    factor = TotpDevice.objects.filter(user=user)
    browser_of(user, globex)
    answer = press(browser, "user", "reset_factor", user.pk, reason="lost phone")
    assert "works for another tenant" in answer.text
    assert factor.exists()


def test_only_the_roles_of_this_tenant_are_listed(
    browser: Client, acme: Tenant, globex: Tenant
) -> None:
    user = make_member(acme, "operator")
    grant(user, globex, "finance_approver")
    page = browser.get(reverse("admin:identity_user_change", args=[user.pk]))
    listing = browser.get(reverse("admin:identity_user_changelist"))
    assert "operator" in page.text
    assert "finance_approver" not in page.text + listing.text


@pytest.mark.parametrize(
    ("button", "action"),
    [
        ("lock_out", "identity.user.deactivated"),
        ("sign_out", "identity.user.sessions_ended"),
        ("reset_factor", "identity.factor.reset"),
    ],
)
def test_buttons_on_a_person_ask_for_a_reason_and_record_it(
    browser: Client, acme: Tenant, button: str, action: str
) -> None:
    user = make_member(acme, "operator")
    before = AuditEvent.objects.count()
    assert "required" in press(browser, "user", button, user.pk, reason=" ").text
    assert AuditEvent.objects.count() == before
    assert press(browser, "user", button, user.pk, reason="phone stolen").status_code == 302
    assert last_event().action == action
    assert "phone stolen" in last_event().text


def test_letting_in_again_and_setting_a_password(browser: Client, acme: Tenant) -> None:
    user = make_member(acme, "operator")
    press(browser, "user", "lock_out", user.pk, reason="left")
    press(browser, "user", "let_in", user.pk, reason="is back")
    assert User.objects.get(pk=user.pk).is_active
    answer = press(browser, "user", "change_password", user.pk, password="a brand new phrase")
    assert answer.status_code == 302
    assert User.objects.get(pk=user.pk).check_password("a brand new phrase")
    assert "brand new phrase" not in last_event().text


def test_no_one_grants_themselves_a_role_on_the_page(
    browser: Client, boss: User, acme: Tenant
) -> None:
    answer = add(
        browser,
        "membership",
        user=boss.pk,
        role=group("finance_approver"),
        valid_from_0="",
        valid_from_1="",
        valid_until_0="",
        valid_until_1="",
    )
    assert answer.status_code == 200
    assert "give themselves a role" in answer.text
    assert boss.memberships.count() == 1


def test_granting_bounding_and_revoking_a_role(browser: Client, acme: Tenant) -> None:
    user = make_member(acme, "operator")
    dates = {"valid_from_0": "", "valid_from_1": "", "valid_until_1": "00:00:00"}
    fields = {"user": user.pk, "role": group("auditor"), "valid_until_0": "2099-01-01"} | dates
    assert add(browser, "membership", **fields).status_code == 302
    membership = Membership.objects.get(user=user, role__name="auditor")
    change(browser, "membership", membership.pk, **(dates | {"valid_until_0": "2098-01-01"}))
    assert Membership.objects.get(pk=membership.pk).valid_until.year == 2098  # type: ignore[union-attr]
    press(browser, "membership", "delete", membership.pk, post="yes")
    assert not Membership.objects.filter(pk=membership.pk).exists()
    actions = list(AuditEvent.objects.order_by("event_id").values_list("action", flat=True))
    assert actions[-3:] == [
        "identity.role.granted",
        "identity.role.changed",
        "identity.role.revoked",
    ]


# --- tenants ------------------------------------------------------------------------------------
def test_a_superuser_adds_the_first_tenant_and_acts_in_it(db: None) -> None:
    browser = browser_of(make_superuser())
    fields = {"tenant_id": "first_prod", "name": "First", "default_environment": "production"}
    answer = browser.post(reverse("admin:identity_tenant_add"), fields | NO_INLINES, follow=True)
    assert answer.status_code == 200
    assert Tenant.objects.get().pk == "first_prod"
    assert answer.context["acting_tenant"].pk == "first_prod"
    assert Environment.objects.get().name == "production"


def test_a_tenant_is_renamed_but_not_switched_off_by_its_own_people(
    browser: Client, acme: Tenant
) -> None:
    fields = {"name": "Acme Ltd", "default_environment": "staging"}
    assert change(browser, "tenant", acme.pk, **fields).status_code == 302
    acme.refresh_from_db()
    assert (acme.name, acme.is_active) == ("Acme Ltd", True)


def test_the_limits_of_a_tenants_runs_are_set_on_its_page(browser: Client, acme: Tenant) -> None:
    fields = {"name": acme.name, "default_environment": acme.default_environment}
    assert change(browser, "tenant", acme.pk, **fields, run_max_calls=50).status_code == 302
    acme.refresh_from_db()
    assert (acme.run_max_calls, acme.run_max_cost_cents) == (50, None)
    assert last_event().action == "identity.tenant.run_limits_set"
    refused = change(browser, "tenant", acme.pk, **fields, run_max_calls=0)
    assert refused.status_code == 200
    assert "greater than or equal to 1" in refused.content.decode()
    change(browser, "tenant", acme.pk, **fields)
    acme.refresh_from_db()
    assert acme.run_max_calls is None


def test_environments_are_added_and_switched_off(browser: Client, acme: Tenant) -> None:
    assert add(browser, "environment", name="staging").status_code == 302
    environment = Environment.objects.get(tenant=acme, name="staging")
    change(browser, "environment", environment.pk)
    environment.refresh_from_db()
    assert not environment.is_active
    assert last_event().action == "identity.environment.deactivated"


# --- agents and issuers -------------------------------------------------------------------------
def test_an_agent_is_registered_changed_and_switched_off(browser: Client, acme: Tenant) -> None:
    owner = make_member(acme, "operator")
    fields = {"agent_id": "refunds", "name": "Refunds", "role": "support", "max_mode": "network"}
    assert add(browser, "agent", owner=owner.pk, **fields).status_code == 302
    agent = Agent.objects.get(tenant=acme, agent_id="refunds")
    renamed = fields | {"name": "Refund desk", "agent_id": "ignored"}
    assert change(browser, "agent", agent.pk, owner=owner.pk, **renamed).status_code == 302
    press(browser, "agent", "suspend", agent.pk, reason="runs wild")
    agent.refresh_from_db()
    assert (agent.name, agent.agent_id, agent.is_active) == ("Refund desk", "refunds", False)
    page = browser.get(reverse("admin:identity_agent_change", args=[agent.pk]))
    assert "Switch on" in page.text
    assert "Switch off" not in page.text
    press(browser, "agent", "resume", agent.pk, reason="calmed down")
    agent.refresh_from_db()
    assert agent.is_active


def test_an_agent_id_is_unique_within_the_tenant_only(
    browser: Client, acme: Tenant, globex: Tenant
) -> None:
    make_agent(globex, "refunds")
    owner = make_member(acme, "operator")
    fields = {"name": "Refunds", "role": "support", "max_mode": "network", "owner": owner.pk}
    assert add(browser, "agent", agent_id="refunds", **fields).status_code == 302
    answer = add(browser, "agent", agent_id="refunds", **fields)
    assert answer.status_code == 200
    assert Agent.objects.filter(tenant=acme).count() == 1


def test_an_issuer_is_trusted_and_stopped(browser: Client, acme: Tenant) -> None:
    fields = {
        "name": "Okta",
        "issuer": "https://okta.example.test",
        "audience": "contextos",
        "subject_kind": "user",
        "algorithms": ["ES256", "RS256"],
        "jwks_url": "https://okta.example.test/keys",
        "jwks": "",
    }
    assert add(browser, "trustedissuer", **fields).status_code == 302
    row = TrustedIssuer.objects.get(tenant=acme)
    assert row.algorithms == ["ES256", "RS256"]
    change(browser, "trustedissuer", row.pk, **fields)
    row.refresh_from_db()
    assert not row.is_active
    assert last_event().action == "identity.issuer.deactivated"


def test_an_issuer_without_keys_is_refused_on_the_form(browser: Client) -> None:
    fields = {"name": "X", "issuer": "https://x.test", "audience": "a", "subject_kind": "user"}
    answer = add(browser, "trustedissuer", algorithms=["RS256"], jwks_url="", jwks="", **fields)
    assert answer.status_code == 200
    assert "either a JWKS address or a pasted set" in answer.text


# --- tokens -------------------------------------------------------------------------------------
def issue(browser: Client, **fields: Any) -> Any:
    terms = {"agent": "", "person": "", "lifetime": "1h", "max_mode": "", "scopes": ""}
    return browser.post(reverse("admin:identity_issuedtoken_add"), terms | fields)


def shown_token(answer: Any) -> str:
    return "".join(answer.context["token_parts"])


@pytest.mark.proves("C6")
def test_a_token_is_shown_once_and_never_again(browser: Client, acme: Tenant) -> None:
    agent = make_agent(acme, "refunds")
    answer = issue(browser, agent=agent.pk, scopes="orders.lookup", lifetime="15m")
    token = shown_token(answer)
    assert token in answer.text.replace("<wbr>", "")
    assert "no-store" in answer["Cache-Control"]
    principal = verify_bearer(token)
    assert (principal.id, principal.scopes) == ("refunds", frozenset({"orders.lookup"}))
    row = IssuedToken.objects.get()
    signature = token.rsplit(".", 1)[1]
    for page in ("changelist", "change"):
        arguments = [row.pk] if page == "change" else []
        shown = browser.get(reverse(f"admin:identity_issuedtoken_{page}", args=arguments))
        assert signature not in shown.text
        assert row.token_id in shown.text


def test_a_token_for_a_person(browser: Client, acme: Tenant) -> None:
    user = make_member(acme, "finance_approver")
    assert verify_bearer(shown_token(issue(browser, person=user.pk))).id == user.user_id


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, "either an agent or a person"),
        ({"agent": "own", "person": "own"}, "either an agent or a person"),
        ({"agent": "own", "lifetime": "soon"}, "duration"),
        ({"agent": "own", "lifetime": "99d"}, "lifetime is not allowed"),
        ({"agent": "own", "scopes": "payments.*"}, "without wildcards"),
        ({"agent": "own", "max_mode": "destructive"}, "higher mode"),
        ({"agent": "foreign"}, "Select a valid choice"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_terms_that_do_not_hold_are_refused_on_the_page(
    browser: Client, acme: Tenant, globex: Tenant, fields: dict[str, str], said: str
) -> None:
    rows: dict[str, Any] = {"own": make_agent(acme).pk, "foreign": make_agent(globex).pk}
    given = {name: rows.get(value, value) for name, value in fields.items()}
    if given.get("person"):
        given["person"] = make_member(acme, "operator").pk
    answer = issue(browser, **given)
    assert said in answer.text
    assert not IssuedToken.objects.exists()


@pytest.mark.proves("C6")
def test_a_token_is_revoked_with_a_reason(browser: Client, acme: Tenant) -> None:
    made = make_agent_token(make_agent(acme))
    assert press(browser, "issuedtoken", "revoke", made.row.pk, reason="").status_code == 200
    assert press(browser, "issuedtoken", "revoke", made.row.pk, reason="leaked").status_code == 302
    row = IssuedToken.objects.get()
    assert (row.state, row.revoke_reason) == ("revoked", "leaked")
    again = press(browser, "issuedtoken", "revoke", made.row.pk, reason="leaked")
    assert "revoked before" in again.text


def test_a_token_opened_from_the_list_offers_its_revocation(browser: Client, acme: Tenant) -> None:
    made = make_agent_token(make_agent(acme))
    listed = browser.get(reverse("admin:identity_issuedtoken_changelist")).text
    link = reverse("admin:identity_issuedtoken_change", args=[quote(made.row.pk)])
    assert f'href="{link}' in listed
    shown = browser.get(link).text
    button = re.search(r'href="([^"]+/revoke/?)"', shown)
    assert button is not None, "no button"
    assert browser.get(button[1]).status_code == 200


# --- no record, no effect -----------------------------------------------------------------------
@pytest.mark.proves("E2")
def test_a_page_changes_nothing_that_can_not_be_recorded(
    browser: Client, acme: Tenant, settings: Any
) -> None:
    issuer = make_issuer(acme)
    settings.CONTEXTOS_EVENT_RECORDER = "tests.identity.recorders.failing"
    with pytest.raises(RuntimeError, match="the log is full"):
        add(browser, "user", **person_fields())
    with pytest.raises(RuntimeError, match="the log is full"):
        change(
            browser,
            "trustedissuer",
            issuer.pk,
            name="N",
            audience="a",
            algorithms=["ES256"],
            jwks_url="https://x.test/k",
            jwks="",
        )
    assert not User.objects.filter(username="nadia").exists()
    assert TrustedIssuer.objects.get(pk=issuer.pk).name == issuer.name
