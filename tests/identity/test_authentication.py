"""Bearer tokens at the REST door: 401 with a challenge, 403 with a reason, or a principal."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from contextos.identity import services
from contextos.identity.models import Agent, Tenant
from tests.factories import SYSTEM, make_agent, make_agent_token, make_member, make_user_token
from tests.identity.signed_in import browser_of

pytestmark = [pytest.mark.proves("C6"), pytest.mark.urls("tests.identity.api")]


@pytest.fixture
def agent(acme: Tenant) -> Agent:
    return make_agent(acme, "refunds")


def call(path: str = "/api/whoami", token: str | None = None, **headers: str) -> Any:
    if token is not None:
        headers["Authorization"] = f"Bearer {token}"
    return Client().get(path, headers=headers)


def test_an_agents_token_opens_the_door(agent: Agent) -> None:
    answer = call(token=make_agent_token(agent).token)
    assert answer.status_code == 200
    assert answer.json() == {
        "kind": "agent",
        "id": "refunds",
        "tenant_id": agent.tenant_id,
        "for": None,
    }


def test_no_credentials_are_401_with_a_challenge(db: None) -> None:
    answer = call()
    assert answer.status_code == 401
    assert answer.json()["code"] == "auth.missing"
    assert answer["WWW-Authenticate"] == 'Bearer realm="contextos"'


@pytest.mark.parametrize(
    "header", ["Basic YTpi", "Bearer", "Bearer ", "token abc", "bearer a.b.c", ",", "Bearer a b c"]
)
@pytest.mark.django_db
def test_a_malformed_header_is_401(header: str) -> None:
    answer = call(Authorization=header)
    assert answer.status_code == 401
    assert answer.json()["code"] == "auth.malformed"
    assert "invalid_token" in answer["WWW-Authenticate"]


def test_a_revoked_token_is_401_and_says_so(agent: Agent) -> None:
    made = make_agent_token(agent)
    services.revoke_token(token_id=made.row.pk, actor=SYSTEM, reason="leaked")
    answer = call(token=made.token)
    assert (answer.status_code, answer.json()["code"]) == (401, "auth.revoked")
    assert made.token not in answer.text


def test_a_session_cookie_opens_no_api(acme: Tenant) -> None:
    browser = browser_of(make_member(acme, "platform_admin"))
    assert browser.get("/api/whoami").status_code == 401


def test_a_call_costs_one_statement(agent: Agent, django_assert_num_queries: Any) -> None:
    token = make_agent_token(agent).token
    with django_assert_num_queries(1):
        assert call(token=token).status_code == 200


# --- delegation ---------------------------------------------------------------------------------
def test_an_agent_acts_for_a_person_of_its_tenant(agent: Agent) -> None:
    user = make_member(agent.tenant, "operator")
    delegation = make_user_token(user, agent.tenant).token
    answer = call(token=make_agent_token(agent).token, **{"X-User-Delegation": delegation})
    assert answer.json()["for"] == user.user_id


def test_a_delegation_of_another_tenant_is_403(agent: Agent, globex: Tenant) -> None:
    user = make_member(globex, "operator")
    delegation = make_user_token(user, globex).token
    answer = call(token=make_agent_token(agent).token, **{"X-User-Delegation": delegation})
    assert (answer.status_code, answer.json()["code"]) == (403, "auth.tenant_mismatch")


def test_an_agents_token_is_no_delegation(agent: Agent) -> None:
    token = make_agent_token(agent).token
    answer = call(token=token, **{"X-User-Delegation": token})
    assert (answer.status_code, answer.json()["code"]) == (403, "auth.person_needed")


def test_a_bad_delegation_is_401(agent: Agent) -> None:
    token = make_agent_token(agent).token
    for delegation in ("", "garbage", "a.b.c"):
        answer = call(token=token, **{"X-User-Delegation": delegation})
        assert (answer.status_code, answer.json()["code"]) == (401, "auth.malformed")


# --- permissions --------------------------------------------------------------------------------
def test_agents_are_told_that_a_person_is_needed(agent: Agent) -> None:
    answer = call("/api/people", make_agent_token(agent).token)
    assert (answer.status_code, answer.json()["code"]) == (403, "auth.person_needed")
    person = make_member(agent.tenant, "operator")
    assert call("/api/people", make_user_token(person, agent.tenant).token).status_code == 200


def test_a_role_is_asked_for_by_name(acme: Tenant) -> None:
    auditor, operator = make_member(acme, "auditor"), make_member(acme, "operator")
    assert call("/api/auditors", make_user_token(auditor, acme).token).status_code == 200
    answer = call("/api/auditors", make_user_token(operator, acme).token)
    assert (answer.status_code, answer.json()["code"]) == (403, "role.missing")
    assert answer.json()["details"] == {"roles": ["auditor"]}


def test_a_view_that_names_no_role_denies_everybody(acme: Tenant) -> None:
    boss = make_member(acme, "platform_admin", "auditor")
    assert call("/api/nobody", make_user_token(boss, acme).token).status_code == 403


@pytest.mark.parametrize("path", ["/api/people", "/api/auditors", "/api/nobody"])
@pytest.mark.django_db
def test_strangers_are_401_everywhere(path: str) -> None:
    assert call(path).status_code == 401
