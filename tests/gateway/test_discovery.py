"""Discovery of a live server, by command, REST and button: a draft, and nothing granted."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from audit.models import AuditEvent
from contextos.identity.services import add_environment
from gateway import discovery
from gateway.connectors.mcp.portal import close_sessions
from gateway.endpoints import add_endpoint
from registry.models import Adapter, AdapterVersion
from registry.services.adapters import register_adapter
from tests.factories import SYSTEM
from tests.gateway.connectors.mcp.hostile import rpc, speaking
from tests.gateway.connectors.mcp.sdk_server import SdkServer, sdk_server
from tests.identity.signed_in import browser_of
from tests.net.upstreams import Call, upstream
from tests.registry.house import House

ADAPTER = "adp_probe_mcp"
TOOLS = {"echo", "slow", "look", "said_no", "raises", "as_text"}


@pytest.fixture(scope="module")
def server() -> Iterator[SdkServer]:
    with sdk_server() as running:
        yield running
        close_sessions()


@pytest.fixture
def house(db: None) -> House:
    house = House()
    if not house.tenant.environments.filter(name="development").exists():
        add_environment(tenant_id=house.tenant_id, name="development", actor=SYSTEM)
    register_adapter(
        tenant_id=house.tenant_id,
        adapter_id=ADAPTER,
        name="Probe",
        owner_role="probe_team",
        actor=house.actor("author"),
    )
    return house


def _post(house: House, body: Any, *, name: str = "author", adapter: str = ADAPTER) -> Any:
    return Client().post(
        f"/api/v1/adapters/{adapter}/discover",
        body,
        content_type="application/json",
        headers={"Authorization": f"Bearer {house.token(name)}"},
    )


@pytest.mark.proves("B5")
def test_a_first_discovery_pins_the_server_into_a_draft_and_a_second_finds_no_change(
    house: House, server: SdkServer
) -> None:
    answer = _post(house, {"environment": "development", "endpoint_ref": server.url})
    assert answer.status_code == 201, answer.content
    body = answer.json()
    assert body["state"] == "draft"
    assert set(body["discovery"]["added"]) == TOOLS
    assert body["discovery"]["server"] == {"name": "orders-probe", "version": "9.9.9"}
    manifest = body["manifest"]
    assert {c["approval_mode"] for c in manifest["capabilities"]} == {"destructive"}
    assert manifest["protocol_version"] == "2025-11-25"
    assert manifest["prompts"][0]["name"] == "greet"
    assert manifest["resources"][0]["classification"] == "RESTRICTED"
    assert "tools" in manifest["server_capabilities"]
    again = _post(house, {}).json()
    assert again["discovery"] | {"server": 0, "tools": 0} == {
        "server": 0, "tools": 0, "added": [], "changed": [], "gone": [],
    }  # fmt: skip
    assert again["version"] != body["version"]
    assert AuditEvent.objects.filter(action="gateway.discovered").count() == 2


@pytest.mark.proves("B5")
def test_discovery_grants_nothing(house: House, server: SdkServer) -> None:
    _post(house, {"environment": "development", "endpoint_ref": server.url})
    assert not AdapterVersion.objects.filter(tenant=house.tenant).exclude(state="draft").exists()
    assert server.seen == []


def test_a_named_endpoint_is_looked_up_in_its_environment(house: House, server: SdkServer) -> None:
    asked = {"environment": "development", "endpoint_ref": "endpoint://probe"}
    missing = _post(house, asked)
    assert (missing.status_code, missing.json()["code"]) == (503, "mcp.endpoint_missing")
    add_endpoint(
        tenant_id=house.tenant_id,
        environment="development",
        name="probe",
        url=server.url,
        actor=house.actor("admin"),
    )
    made = _post(house, asked)
    assert made.status_code == 201
    assert made.json()["manifest"]["transport"]["endpoint_ref"] == "endpoint://probe"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({}, "discovery.endpoint_needed"),
        ({"endpoint_ref": "http://127.0.0.1:9/mcp"}, "egress.https_required"),
        ({"environment": "development", "endpoint_ref": "http://127.0.0.1:9/mcp"},
         "egress.connect_failed"),
        ({"environment": "development", "endpoint_ref": "http://169.254.169.254/mcp"},
         "egress.private_address"),
        ({"environment": "development", "endpoint_ref": "ftp://x"}, "mcp.endpoint_missing"),
        ({"unknown": 1}, "validation.failed"),
    ],
)  # fmt: skip
@pytest.mark.proves("C11")
def test_what_can_not_be_reached_is_said_and_leaves_nothing(
    house: House, body: Any, code: str
) -> None:
    answer = _post(house, body)
    assert answer.json()["code"] == code, answer.content
    assert not AdapterVersion.objects.exists()


def _tool(number: int) -> dict[str, Any]:
    return {"name": f"tool_{number}", "inputSchema": {"type": "object"}}


@pytest.mark.proves("B5")
@pytest.mark.parametrize(
    "page",
    [
        {"tools": [_tool(0)], "nextCursor": "again"},
        {"tools": [_tool(number) for number in range(1001)]},
    ],
    ids=["no end", "too many"],
)
def test_a_list_without_measure_is_the_server_s_fault_and_leaves_nothing(
    house: House, page: dict[str, Any]
) -> None:
    def lists(call: Call, message: dict[str, Any]) -> None:
        call.send(rpc(message, page))

    with upstream(speaking(lists, methods="tools/list")) as hostile:
        body = {"environment": "development", "endpoint_ref": f"{hostile.url}/mcp"}
        answer = _post(house, body)
        close_sessions()
    assert answer.json()["code"] == "mcp.protocol_error", answer.content
    assert not AdapterVersion.objects.exists()


@pytest.mark.proves("B5")
def test_a_server_that_never_ends_its_list_is_given_up(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(discovery, "PATIENCE_SECONDS", 0.5)

    def hangs(call: Call, message: dict[str, Any]) -> None:
        call.upstream.stopping.wait(10)

    with upstream(speaking(hangs, methods="tools/list")) as hostile:
        body = {"environment": "development", "endpoint_ref": f"{hostile.url}/mcp"}
        answer = _post(house, body)
        close_sessions()
    assert answer.json()["code"] == "mcp.timeout", answer.content
    assert not AdapterVersion.objects.exists()


@pytest.mark.parametrize("name", ["reviewer", "auditor", "operator", "approver"])
def test_only_authors_discover(house: House, server: SdkServer, name: str) -> None:
    body = {"environment": "development", "endpoint_ref": server.url}
    assert _post(house, body, name=name).status_code == 403
    assert _post(House(), body).status_code == 404


def test_the_command_prints_the_draft_alone_on_its_first_line(
    house: House, server: SdkServer
) -> None:
    house.user("author")
    out = io.StringIO()
    asked = {"tenant": house.tenant_id, "environment": "development", "endpoint": server.url}
    with pytest.raises(SystemExit) as ended:
        call_command("discover", ADAPTER, stdout=out, **asked)
    assert ended.value.code == 1  # new tools need a person: blocking findings
    lines = out.getvalue().splitlines()
    assert AdapterVersion.objects.get(pk=lines[0]).adapter.adapter_id == ADAPTER
    assert "orders-probe 9.9.9" in lines[1]
    with pytest.raises(CommandError, match="There is no adapter"):
        call_command("discover", "adp_none", stdout=out, tenant=house.tenant_id)


@pytest.mark.proves("B5")
def test_the_button_leads_an_author_to_the_draft(house: House, server: SdkServer) -> None:
    adapter = Adapter.objects.get(adapter_id=ADAPTER)
    browser = browser_of(house.author, house.tenant)
    address = reverse("admin:gateway_discover", args=[adapter.pk])
    page = browser.get(reverse("admin:registry_adapter_change", args=[adapter.pk]))
    assert address in page.content.decode()
    assert browser.get(address).status_code == 200
    refused = browser.post(address, {"environment": "", "endpoint_ref": ""})
    assert refused.status_code == 422
    made = browser.post(address, {"environment": "development", "endpoint_ref": server.url})
    version = AdapterVersion.objects.get(adapter=adapter)
    assert made.headers["Location"] == reverse(
        "admin:registry_adapterversion_change", args=[version.pk]
    )
    assert version.author == house.author
