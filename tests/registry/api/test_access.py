"""Who may call what: every endpoint, every role, strangers, agents and narrowed tokens."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from django.urls import get_resolver

from audit.models import AuditEvent
from registry.models import AdapterVersion, KillSwitch
from tests.factories import make_agent, make_agent_token, make_user_token
from tests.recorded_worlds import ready
from tests.registry.api.calls import Caller, caller, code_of, version_path, versions
from tests.registry.api.document_endpoints import DOCUMENT_ENDPOINTS
from tests.registry.house import ROLES, House
from tests.registry.manifests import orders

READERS = {"admin", "author", "reviewer", "reviewer2", "auditor", "operator"}
AUTHORS = {"admin", "author"}
REVIEWERS = {"admin", "reviewer", "reviewer2"}
PUBLISHERS = {"admin"}
SWITCHERS = {"admin", "operator"}


def _switch(house: House) -> KillSwitch:
    house.published(orders())
    return house.throw("adapter", "adp_orders")


def _elsewhere(house: House) -> AdapterVersion:
    """Written by somebody whom no test calls as, so that only the role decides."""
    house._people["author_unseen"] = _author(house)
    return house.submit(house.draft(orders(), by="author_unseen"), by="author_unseen")


def _author(house: House) -> Any:
    from tests.factories import make_member

    return make_member(house.tenant, "manifest_author")


def _draft(house: House) -> AdapterVersion:
    house._people["author_unseen"] = _author(house)
    return house.draft(orders(), by="author_unseen")


def _approved(house: House) -> AdapterVersion:
    house._people["author_unseen"] = _author(house)
    return house.approved(orders())


@dataclass(frozen=True)
class Endpoint:
    """What exists beforehand, the call, its success, and who may make it."""

    prepare: Callable[[House], Any]
    call: Callable[[Caller, Any], Any]
    status: int
    allowed: set[str]
    foreign: bool = True  # whether it addresses something that another tenant must not see


REASON = {"reason": "Because."}
ENDPOINTS: dict[str, Endpoint] = {
    "GET adapters": Endpoint(_draft, lambda c, v: c.get("adapters"), 200, READERS, foreign=False),
    "POST adapters": Endpoint(
        lambda house: None,
        lambda c, _: c.post("adapters", {"adapter_id": "adp_new", "name": "New"}),
        201,
        AUTHORS,
        foreign=False,
    ),
    "GET adapter": Endpoint(_draft, lambda c, v: c.get("adapters/adp_orders"), 200, READERS),
    "GET versions": Endpoint(_draft, lambda c, v: c.get(versions()), 200, READERS),
    "POST versions": Endpoint(
        lambda house: None, lambda c, _: c.post(versions(), orders()), 201, AUTHORS, foreign=False
    ),
    "GET version": Endpoint(_draft, lambda c, v: c.get(version_path(v)), 200, READERS),
    "PUT version": Endpoint(_draft, lambda c, v: c.put(version_path(v), orders()), 200, AUTHORS),
    "GET findings": Endpoint(_draft, lambda c, v: c.get(version_path(v, "findings")), 200, READERS),
    "GET diff": Endpoint(_draft, lambda c, v: c.get(version_path(v, "diff")), 200, READERS),
    "POST submit": Endpoint(_draft, lambda c, v: c.post(version_path(v, "submit")), 200, AUTHORS),
    "POST approve": Endpoint(
        _elsewhere, lambda c, v: c.post(version_path(v, "approve"), REASON), 200, REVIEWERS
    ),
    "POST reject": Endpoint(
        _elsewhere, lambda c, v: c.post(version_path(v, "reject"), REASON), 200, REVIEWERS
    ),
    "POST request-changes": Endpoint(
        _elsewhere, lambda c, v: c.post(version_path(v, "request-changes"), REASON), 200, REVIEWERS
    ),
    "POST publish": Endpoint(
        _approved, lambda c, v: c.post(version_path(v, "publish")), 200, PUBLISHERS
    ),
    "POST retire": Endpoint(
        _approved, lambda c, v: c.post(version_path(v, "retire"), REASON), 200, PUBLISHERS
    ),
    "GET capabilities": Endpoint(
        _draft, lambda c, v: c.get("capabilities"), 200, READERS, foreign=False
    ),
    "GET kill-switches": Endpoint(
        _switch, lambda c, s: c.get("kill-switches"), 200, READERS, foreign=False
    ),
    "POST kill-switches": Endpoint(
        lambda house: house.draft(orders()),
        lambda c, v: c.post(
            "kill-switches", {"scope": "adapter", "id": "adp_orders", "reason": "Stop."}
        ),
        201,
        SWITCHERS,
        foreign=False,
    ),
    "GET kill-switch": Endpoint(_switch, lambda c, s: c.get(f"kill-switches/{s.pk}"), 200, READERS),
    "DELETE kill-switch": Endpoint(
        _switch, lambda c, s: c.delete(f"kill-switches/{s.pk}", REASON), 200, SWITCHERS
    ),
}
ADDRESSING = [name for name, endpoint in ENDPOINTS.items() if endpoint.foreign]
CHANGING = [name for name in ENDPOINTS if not name.startswith("GET")]


def _with_tokens() -> House:
    house = House()
    for role in ROLES:
        house.token(role)
    return house


def _prepared(*, name: str) -> tuple[House, Any]:
    """Everybody with a token, and what the endpoint needs beforehand."""
    house = ready(_with_tokens)
    return house, ENDPOINTS[name].prepare(house)


@pytest.fixture
def prepared(db: None, name: str) -> tuple[House, Any]:
    return ready(_prepared, name=name)


def _changes() -> int:
    return AuditEvent.objects.filter(action__regex=r"^(adapter|kill)").count()


def test_every_address_of_the_registry_is_in_the_table() -> None:
    from registry.api.urls import urlpatterns

    assert len(ENDPOINTS) + len(DOCUMENT_ENDPOINTS) == sum(
        _methods(pattern.callback) for pattern in urlpatterns
    )
    assert get_resolver().resolve("/api/v1/adapters").url_name == "adapters"


def _methods(handler: Any) -> int:
    return sum(hasattr(handler.cls, name) for name in ("get", "post", "put", "patch", "delete"))


@pytest.mark.proves("B3")
@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("name", ENDPOINTS)
def test_each_endpoint_serves_its_roles_and_no_other(
    prepared: tuple[House, Any], name: str, role: str
) -> None:
    endpoint, (house, subject) = ENDPOINTS[name], prepared
    made = _changes()
    response = endpoint.call(caller(house, role), subject)
    if role in endpoint.allowed:
        assert response.status_code == endpoint.status, response.content
        return
    assert code_of(response) == (403, "role.missing")
    assert _changes() == made


@pytest.mark.parametrize("name", ENDPOINTS)
def test_without_a_token_nothing_is_served(prepared: tuple[House, Any], name: str) -> None:
    endpoint, (_, subject) = ENDPOINTS[name], prepared
    assert code_of(endpoint.call(Caller(None), subject)) == (401, "auth.missing")


@pytest.mark.proves("B3")
@pytest.mark.parametrize("name", ENDPOINTS)
def test_an_agent_governs_nothing_whatever_it_calls_its_role(
    prepared: tuple[House, Any], name: str
) -> None:
    endpoint, (house, subject) = ENDPOINTS[name], prepared
    agent = make_agent(house.tenant, role="platform_admin")
    response = endpoint.call(Caller(make_agent_token(agent).token), subject)
    assert code_of(response) == (403, "auth.person_needed")


@pytest.mark.parametrize("name", CHANGING)
def test_a_token_narrowed_for_an_agent_changes_nothing(
    prepared: tuple[House, Any], name: str
) -> None:
    endpoint, (house, subject) = ENDPOINTS[name], prepared
    grant = make_user_token(house.user("admin"), house.tenant, scopes=["orders.lookup"])
    assert code_of(endpoint.call(Caller(grant.token), subject)) == (403, "auth.scope")


@pytest.mark.proves("B2")
@pytest.mark.parametrize("name", ADDRESSING)
def test_what_belongs_to_another_tenant_is_not_there(
    prepared: tuple[House, Any], name: str
) -> None:
    endpoint, (house, subject) = ENDPOINTS[name], prepared
    neighbour = House()
    made = _changes()
    response = endpoint.call(caller(neighbour, "admin"), subject)
    assert code_of(response) == (404, "request.not_found")
    assert _changes() == made
    absent = endpoint.call(caller(neighbour, "admin"), subject).json()
    assert house.tenant_id not in str(absent)


@pytest.mark.parametrize("path", ["adapters", "capabilities", "kill-switches?state=all"])
def test_lists_hold_nothing_of_another_tenant(house: House, neighbour: House, path: str) -> None:
    _switch(house)
    assert len(caller(house, "admin").get(path).json()["results"]) == 1
    assert caller(neighbour, "admin").get(path).json() == {"results": [], "next": None}


def test_a_version_is_found_only_under_its_own_adapter(house: House) -> None:
    version = house.draft(orders())
    house.draft(orders(adapter_id="adp_other"))
    response = caller(house, "author").get(f"{versions('adp_other')}/{version.version_id}")
    assert code_of(response) == (404, "request.not_found")


def test_a_tenant_can_not_be_stopped_from_outside(house: House, neighbour: House) -> None:
    body = {"scope": "tenant", "id": house.tenant_id, "reason": "Mine?"}
    response = caller(neighbour, "operator").post("kill-switches", body)
    assert code_of(response) == (422, "kill_switch.target_unknown")


def test_methods_that_do_not_exist_are_told_so(house: House) -> None:
    response = caller(house, "admin").put("adapters", {})
    assert code_of(response) == (405, "request.method_not_allowed")
