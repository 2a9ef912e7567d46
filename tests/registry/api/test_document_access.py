"""Who may call what of packs and policies: every endpoint, every role, strangers and agents."""

from __future__ import annotations

import pytest

from audit.models import AuditEvent
from tests.factories import make_agent, make_agent_token, make_user_token
from tests.registry.api.calls import Caller, caller, code_of
from tests.registry.api.document_endpoints import DOCUMENT_ENDPOINTS, PACKS, POLICIES, Kind
from tests.registry.house import ROLES, House

pytestmark = pytest.mark.proves("B10", "C4")


@pytest.mark.parametrize("name", DOCUMENT_ENDPOINTS)
def test_an_endpoint_serves_every_role_it_is_for(db: None, name: str) -> None:
    endpoint = DOCUMENT_ENDPOINTS[name]
    for role in endpoint.allowed:
        house = House()
        response = endpoint.call(caller(house, role), endpoint.prepare(house))
        assert response.status_code == endpoint.status, (role, response.content)


@pytest.mark.parametrize("name", DOCUMENT_ENDPOINTS)
def test_an_endpoint_refuses_everybody_else_and_nothing_changes(
    house: House, neighbour: House, name: str
) -> None:
    endpoint = DOCUMENT_ENDPOINTS[name]
    subject = endpoint.prepare(house)
    callers = {role: caller(house, role) for role in ROLES if role not in endpoint.allowed}
    callers.pop("reviewer2", None)
    agent = make_agent(house.tenant, role="platform_admin")
    agents = Caller(make_agent_token(agent).token)
    stranger = caller(neighbour, "admin")
    known = AuditEvent.objects.count()
    for asking in callers.values():
        assert code_of(endpoint.call(asking, subject)) == (403, "role.missing")
    assert code_of(endpoint.call(agents, subject)) == (403, "auth.person_needed")
    assert code_of(endpoint.call(Caller(None), subject)) == (401, "auth.missing")
    if endpoint.foreign:
        assert code_of(endpoint.call(stranger, subject)) == (404, "request.not_found")
    assert AuditEvent.objects.count() == known


@pytest.mark.parametrize("name", [key for key in DOCUMENT_ENDPOINTS if key[:3] != "GET"])
def test_a_token_narrowed_for_an_agent_changes_nothing(house: House, name: str) -> None:
    endpoint = DOCUMENT_ENDPOINTS[name]
    subject = endpoint.prepare(house)
    grant = make_user_token(house.user("admin"), house.tenant, scopes=["orders.lookup"])
    assert code_of(endpoint.call(Caller(grant.token), subject)) == (403, "auth.scope")


@pytest.mark.parametrize("kind", [PACKS, POLICIES], ids=lambda kind: kind.address)
def test_lists_hold_nothing_of_another_tenant(house: House, neighbour: House, kind: Kind) -> None:
    kind.draft(house)
    assert len(caller(house, "admin").get(kind.address).json()["results"]) == 1
    assert caller(neighbour, "admin").get(kind.address).json() == {"results": [], "next": None}
