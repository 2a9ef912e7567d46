"""A tenant whose adapter is an MCP server: one read and one write, in development."""

from __future__ import annotations

from typing import Any

from django.utils import timezone

from audit.decisions import rows_of
from contextos.identity.services import add_environment
from gateway.models import ToolCall
from gateway.worker import work_on
from tests.factories import SYSTEM
from tests.gateway.world import GatewayWorld
from tests.recorded_worlds import ready
from tests.registry.documents import pack, permission
from tests.registry.manifests import Manifest, orders
from tests.registry.walks import pack_walk

CALLS = "/api/v1/tool-calls"
TEXT_IN, TEXT_OUT = "schema://probe.text.input.v1", "schema://probe.text.output.v1"


def _capability(name: str, tool: str, **changes: Any) -> dict[str, Any]:
    return {
        "capability_id": f"probe.{name}",
        "mcp_tool_name": tool,
        "capability_class": "observe",
        "approval_mode": "read_only",
        "description": "Say a text back.",
        "input_schema_ref": TEXT_IN,
        "output_schema_ref": TEXT_OUT,
        "evidence_keys": ["echo"],
        "timeout_seconds": 2,
        "errors": [
            {
                "code": "NO_STOCK",
                "kind": "upstream",
                "retryable": False,
                "remediation": "Order more.",
            }
        ],
        **changes,
    }


def probe(endpoint_ref: str, **changes: Any) -> Manifest:
    """The adapter `adp_probe` with probe.say and probe.write."""
    write = _capability(
        "write",
        "echo",
        capability_class="act",
        approval_mode="local_write",
        idempotency={"required": True, "dedup_window_seconds": 3600, "adapter_dedup": False},
    )
    manifest = orders(
        adapter_id="adp_probe",
        name="Probe",
        protocol="mcp",
        protocol_version="2025-11-25",
        environment="development",
        transport={
            "kind": "streamable_http",
            "endpoint_ref": endpoint_ref,
            "timeout_seconds": 2,
            "origin_allowlist": ["http://127.0.0.1"],
        },
        server_capabilities={"tools": {}},
        auth={"type": "none", "reason": "A server of the tests."},
        capabilities=[
            _capability("say", "echo"),
            _capability("refuse", "said_no"),
            _capability("wait", "slow", timeout_seconds=1),
            write,
        ],
    )
    manifest["schemas"] = {
        TEXT_IN: {
            "type": "object",
            "additionalProperties": False,
            "properties": {
                "text": {"type": "string"},
                "how": {"type": "string"},
                "seconds": {"type": "number"},
            },
        },
        TEXT_OUT: {
            "type": "object",
            "properties": {"echo": {"type": "string"}},
            "required": ["echo"],
        },
    }
    return {**manifest, **changes}


def probe_world(endpoint_ref: str, **changes: Any) -> GatewayWorld:
    """A world that may use all of it."""
    world = ready(GatewayWorld)
    if not world.house.tenant.environments.filter(name="development").exists():
        add_environment(tenant_id=world.tenant_id, name="development", actor=SYSTEM)
    world.house.published(probe(endpoint_ref, **changes))
    permissions = [
        permission("adp_probe", name, approval_mode=mode, environments=["development"])
        for name, mode in (
            ("say", "read_only"),
            ("refuse", "read_only"),
            ("wait", "read_only"),
            ("write", "local_write"),
        )
    ]
    pack_walk(world.house).published(
        pack(version="2.0.0", tooling_layer={"permissions": permissions})
    )
    return world


def call(world: GatewayWorld, name: str = "say", args: Any = None, **more: Any) -> dict[str, Any]:
    """The answer to one call; a write is taken up by a worker at once."""
    run = world.open_run(environment="development")
    body = {
        "run_id": run["run_id"],
        "capability_id": f"probe.{name}",
        "args": args or {"text": "hello"},
        **more,
    }
    answer = dict(world.post(CALLS, body).json())
    if answer["status"] != "deferred":
        return answer
    ToolCall.objects.filter(pk=answer["tool_call_id"]).update(due_at=timezone.now())
    work_on(answer["tool_call_id"])
    return dict(world.get(f"{CALLS}/{answer['tool_call_id']}").json()["result"])


def last_record(world: GatewayWorld, answer: dict[str, Any]) -> dict[str, Any]:
    """The decision's newest row."""
    return rows_of(tenant_id=world.tenant_id, decision_id=answer["decision_id"])[-1]
