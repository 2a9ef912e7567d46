"""Governed calls of an MCP server: what callers are told, what records keep, what stays unknown."""

from __future__ import annotations

import json
from typing import Any

import pytest

from contextos.core.errors import ContextOSError
from gateway.endpoints import EndpointRef, add_endpoint, address_of, move_endpoint, remove_endpoint
from gateway.models import Endpoint
from tests.factories import make_tenant
from tests.gateway.admin.visits import page, visitor
from tests.gateway.connectors.mcp.calls import invoke
from tests.gateway.connectors.mcp.governed import call, last_record, probe_world
from tests.gateway.connectors.mcp.hostile import methods_seen, rpc, speaking
from tests.gateway.connectors.mcp.sdk_server import SdkServer
from tests.gateway.world import GatewayWorld
from tests.identity.signed_in import browser_of
from tests.net.upstreams import Call, Upstream, http_answer, upstream
from tests.recorded_worlds import ready

pytestmark = pytest.mark.django_db
WRITTEN = {"content": [], "structuredContent": {"echo": "written"}}


@pytest.mark.proves("A1", "E1")
def test_a_read_is_answered_and_the_record_says_whom_it_was_with(server: SdkServer) -> None:
    world = probe_world(server.url)
    answer = call(world)
    assert (answer["status"], answer["output"]) == ("ok", {"echo": "hello"})
    record = last_record(world, answer)
    assert record["status"] == "EXECUTED"
    assert record["lineage"]["server"] == {"name": "orders-probe", "version": "9.9.9"}
    assert record["lineage"]["protocol_version"] == "2025-11-25"
    assert record["egress"] == {"host": "127.0.0.1", "ip": "127.0.0.1"}


@pytest.mark.proves("C22")
def test_the_health_page_counts_the_sessions_of_its_own_adapter_and_tenant(
    server: SdkServer,
) -> None:
    world = probe_world(server.url)
    call(world)
    invoke(server.url)  # of another tenant
    operator = visitor(world, "operator")
    assert "1 open in this process" in operator.get(page("adapter_health", "adp_probe")).text
    assert "keeps 1 MCP session of the tenant" in operator.get(page("health")).text
    assert "MCP sessions" not in operator.get(page("adapter_health", "adp_orders")).text


@pytest.mark.proves("C13")
def test_a_tools_no_takes_its_kind_and_remediation_from_the_manifest(server: SdkServer) -> None:
    answer = call(probe_world(server.url), "refuse", {"how": "coded"})
    error = answer["error"]
    assert (answer["status"], error["code"], error["kind"]) == ("failed", "NO_STOCK", "upstream")
    assert error["remediation"] == "Order more."


@pytest.mark.proves("C10", "C13")
def test_a_read_that_takes_too_long_failed_and_nothing_is_unknown(server: SdkServer) -> None:
    world = probe_world(server.url)
    answer = call(world, "wait", {"seconds": 30})
    assert (answer["status"], answer["error"]["kind"]) == ("failed", "timeout")
    assert "egress" not in (answer["error"].get("details") or {})
    record = last_record(world, answer)
    assert record["egress"] == {"host": "127.0.0.1", "ip": "127.0.0.1"}
    assert record["lineage"]["server"] == {"name": "orders-probe", "version": "9.9.9"}
    assert "orders-probe" not in str(answer)


def _write(on_call: Any) -> tuple[dict[str, Any], Upstream, GatewayWorld]:
    with upstream(speaking(on_call)) as server:
        world = probe_world(f"{server.url}/mcp")
        answer = call(world, "write", idempotency_key="ik_1")
    return answer, server, world


def _cut(call: Call, message: dict[str, Any]) -> None:
    call.connection.close()


def _other(call: Call, message: dict[str, Any]) -> None:
    call.send(rpc(message, {"content": [], "structuredContent": {"something": "else"}}))


@pytest.mark.proves("C9", "C13")
@pytest.mark.parametrize("on_call", [_cut, _other])
def test_a_write_that_may_have_happened_is_unknown_and_was_sent_once(on_call: Any) -> None:
    answer, server, world = _write(on_call)
    assert answer["status"] == "unknown_outcome"
    assert methods_seen(server.requests).count("tools/call") == 1
    record = last_record(world, answer)
    assert record["status"] == "UNKNOWN"
    assert record["lineage"]["server"] == {"name": "hostile", "version": "0.0.1"}


def _error(call: Call, message: dict[str, Any], code: int) -> None:
    error = {"code": code, "message": "no"}
    body = {"jsonrpc": "2.0", "id": message["id"], "error": error}
    head = "Content-Type: application/json\r\n"
    call.send(http_answer(json.dumps(body).encode(), headers=head))


def _huge_code(call: Call, message: dict[str, Any]) -> None:
    _error(call, message, 10**30)


def _endless_pause(call: Call, message: dict[str, Any]) -> None:
    call.send(http_answer(b"", status="429 Too Many", headers=f"Retry-After: {'9' * 5000}\r\n"))


@pytest.mark.proves("C13", "E1")
@pytest.mark.parametrize(
    ("on_call", "ended", "code"),
    [
        (_huge_code, "unknown_outcome", "mcp.protocol_error"),
        (_endless_pause, "failed", "mcp.rate_limited"),
    ],
)
def test_numbers_that_no_record_can_hold_do_not_keep_a_call_from_its_end(
    on_call: Any, ended: str, code: str
) -> None:
    answer, _, world = _write(on_call)
    assert (answer["status"], answer["error"]["code"]) == (ended, code)
    assert last_record(world, answer)["status"] in ("UNKNOWN", "FAILED")


@pytest.mark.proves("E1")
def test_a_name_that_no_record_can_hold_does_not_undo_what_was_done() -> None:
    def good(call: Call, message: dict[str, Any]) -> None:
        call.send(rpc(message, WRITTEN))

    with upstream(speaking(good, name="a\x00b")) as server:
        world = probe_world(f"{server.url}/mcp")
        answer = call(world, "write", idempotency_key="ik_1")
    assert answer["status"] == "ok"
    assert last_record(world, answer)["lineage"]["server"]["name"] == "a\ufffdb"


def _busy(call: Call, message: dict[str, Any]) -> None:
    call.send(http_answer(b"", status="429 Too Many", headers="Retry-After: 3\r\n"))


@pytest.mark.proves("C13")
def test_a_write_that_was_refused_at_the_door_has_failed_for_certain() -> None:
    answer, _, world = _write(_busy)
    assert (answer["status"], answer["error"]["kind"]) == ("failed", "rate_limited")
    assert last_record(world, answer)["egress"]["ip"] == "127.0.0.1"


@pytest.mark.proves("A1", "C13")
@pytest.mark.parametrize("where", ["down", "liar"])
def test_a_write_that_never_left_has_failed_for_certain(where: str) -> None:
    def never(call: Call, message: dict[str, Any]) -> None:
        call.send(rpc(message, WRITTEN))

    with upstream(speaking(never, version="2024-11-05")) as server:
        world = probe_world(f"{server.url}/mcp")
        if where == "down":
            server.close()
        answer = call(world, "write", idempotency_key="ik_1")
    assert answer["status"] == "failed"
    assert answer["error"]["kind"] == ("upstream" if where == "down" else "drift")
    assert "tools/call" not in methods_seen(server.requests)


# --- endpoints ---------------------------------------------------------------------------------
@pytest.fixture
def tenant(db: None) -> Any:
    return make_tenant()


def test_a_name_leads_where_an_operator_said_and_a_url_is_never_turned(
    server: SdkServer,
) -> None:
    world = probe_world("endpoint://probe")
    actor = world.house.actor("operator")
    assert call(world)["error"]["code"] == "mcp.endpoint_missing"
    row = add_endpoint(
        tenant_id=world.tenant_id,
        environment="development",
        name="probe",
        url="http://127.0.0.1:9/mcp",
        actor=actor,
    )
    assert call(world, args={"text": "a"})["error"]["code"] == "egress.connect_failed"
    move_endpoint(endpoint_pk=row.pk, url=server.url, actor=actor)
    assert call(world, args={"text": "b"})["status"] == "ok"
    remove_endpoint(endpoint_pk=row.pk, actor=actor)
    assert call(world, args={"text": "c"})["error"]["code"] == "mcp.endpoint_missing"
    url = "https://payments.example.com/mcp"
    place = {"tenant_id": world.tenant_id, "environment": "development"}
    assert address_of(EndpointRef(ref=url, **place)) == url


@pytest.mark.proves("C11")
@pytest.mark.parametrize(
    ("environment", "name", "url"),
    [
        ("production", "probe", "http://payments.example.com/mcp"),
        ("production", "probe", "https://127.0.0.1/mcp"),
        ("development", "probe", "http://169.254.169.254/mcp"),
        ("production", "Probe!", "https://payments.example.com/mcp"),
        ("production", "probe", "https://user:pass@payments.example.com/mcp"),
    ],
)
def test_an_address_that_could_never_be_dialled_is_refused_on_entry(
    environment: str, name: str, url: str
) -> None:
    world = ready(GatewayWorld)
    with pytest.raises(ContextOSError):
        add_endpoint(
            tenant_id=world.tenant_id,
            environment=environment,
            name=name,
            url=url,
            actor=world.house.actor("operator"),
        )
    assert not Endpoint.objects.exists()


def test_operators_enter_addresses_on_a_page_and_readers_see_hosts_only() -> None:
    world = ready(GatewayWorld)
    operator = browser_of(world.house.user("operator"), world.house.tenant)
    posted = {
        "name": "probe",
        "environment": "production",
        "url": "https://payments.example.com/secret-path",
    }
    made = operator.post("/admin/gateway/endpoint/add/", posted)
    assert made.status_code == 302, made.content.decode()[:2000]
    row = Endpoint.objects.get(tenant_id=world.tenant_id)
    for name, sees in (("operator", True), ("auditor", False), ("author", False)):
        browser = browser_of(world.house.user(name), world.house.tenant)
        page = browser.get(f"/admin/gateway/endpoint/{row.pk}/change/").content.decode()
        assert ("secret-path" in page) is sees
        assert "payments.example.com" in page
    operator.post(
        f"/admin/gateway/endpoint/{row.pk}/change/",
        {"url": "https://other.example.com/mcp"},
    )
    row.refresh_from_db()
    assert row.url == "https://other.example.com/mcp"
