"""Adapters whose MCP server is asked with a planted credential; the token of one can't be had."""

from __future__ import annotations

from typing import Any

from contextos.identity.services import add_environment
from tests.factories import SYSTEM
from tests.gateway.connectors.mcp.governed import probe
from tests.gateway.world import GatewayWorld
from tests.registry.documents import pack, permission
from tests.registry.walks import pack_walk

USED, UNREACHABLE = ("api_key", "bearer"), "client_credentials"
_OAUTH2: dict[str, Any] = {
    "type": "oauth2",
    "resource": "https://ledger.example.com/mcp",
    "token_audience": "ledger-mcp",
    "initial_scopes": ["read"],
    "allow_token_passthrough": False,
}
_AUTH = {"api_key": {"type": "api_key"}, "bearer": _OAUTH2, UNREACHABLE: _OAUTH2}


def publish_keyed(world: GatewayWorld, endpoint: str) -> None:
    """One adapter for each kind of credential, with one read that shows the server its headers."""
    if not world.house.tenant.environments.filter(name="development").exists():
        add_environment(tenant_id=world.tenant_id, name="development", actor=SYSTEM)
    for kind, auth in _AUTH.items():
        manifest = probe(endpoint, adapter_id=f"adp_{kind}", auth=auth)
        first = manifest["capabilities"][0]
        look = {"capability_id": capability_of(kind), "mcp_tool_name": "look"}
        world.house.published({**manifest, "capabilities": [first | look]})
    grants = [permission(f"adp_{kind}", "look", environments=["development"]) for kind in _AUTH]
    pack_walk(world.house).published(
        pack(pack_id="support_keyed", tooling_layer={"permissions": grants})
    )


def capability_of(kind: str) -> str:
    """The read behind this kind of credential."""
    return f"{kind}.look"
