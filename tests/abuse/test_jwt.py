"""Forged tokens against the front door: each is 401, whoever sends it and wherever it is sent."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from contextos.core import base64url, strict_json
from contextos.identity.keyring import token_signer
from contextos.identity.models import Tenant
from tests.abuse.forgeries import as_ours, forgeries
from tests.factories import make_agent, make_agent_token, make_member, make_tenant, make_user_token

LEAST = 75
ADDRESS = "/api/v1/log/keys"  # any token of the tenant opens it


@pytest.fixture
def tenant(db: None) -> Tenant:
    return make_tenant("acme_prod")


def _claims(token: str) -> dict[str, Any]:
    return dict(strict_json.loads_object(base64url.decode(token.split(".")[1])))


def _status(token: str) -> int:
    return Client().get(ADDRESS, headers={"Authorization": f"Bearer {token}"}).status_code


@pytest.mark.parametrize("seen_before", [False, True], ids=["unseen", "after the honest one"])
def test_no_forgery_opens_the_door(tenant: Tenant, seen_before: bool) -> None:
    honest = make_agent_token(make_agent(tenant)).token
    if seen_before:  # a remembered token must not vouch for its forgeries
        assert _status(honest) == 200
    made = dict(forgeries(token_signer(), _claims(honest)))
    assert len(made) >= LEAST
    wrong = {name: status for name, token in made.items() if (status := _status(token)) != 401}
    assert wrong == {}
    assert _status(honest) == 200


def test_no_forgery_is_taken_for_a_delegation(tenant: Tenant) -> None:
    agent = make_agent_token(make_agent(tenant)).token
    person = make_user_token(make_member(tenant, "operator"), tenant).token
    wrong = {}
    for name, token in forgeries(token_signer(), _claims(person)):
        answer = Client().get(
            "/api/v1/runs/run_none",
            headers={"Authorization": f"Bearer {agent}", "X-User-Delegation": token},
        )
        if answer.status_code != 401:
            wrong[name] = answer.status_code
    assert wrong == {}


def test_an_honest_copy_made_the_same_way_is_taken(tenant: Tenant) -> None:
    """Else the forgeries could be refused for how they are made, not for their trick."""
    honest = make_agent_token(make_agent(tenant)).token
    assert _status(as_ours(token_signer(), _claims(honest))) == 200
