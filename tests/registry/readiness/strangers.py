"""Sound manifests in five domains and five protocols, none of them shipped with the product."""

from typing import Any

TEXT = {"type": "string"}
KEY = {"type": "string", "pattern": "^ik_[a-z0-9]{8,}$"}
NOTES = {"rollout_notes": "One house first.", "rollback_notes": "Publish the one before."}


def closed(**members: Any) -> dict[str, Any]:
    """An object with exactly these members."""
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": members,
        "required": list(members),
    }


def _write_terms(window: int) -> dict[str, Any]:
    return {"required": True, "dedup_window_seconds": window, "adapter_dedup": True}


GREENHOUSE: dict[str, Any] = {
    "adapter_id": "adp_greenhouse",
    "name": "Greenhouse irrigation",
    "owner_role": "horticulture",
    "environment": "production",
    "protocol": "mcp",
    "protocol_version": "2026-07-28",
    **NOTES,
    "transport": {
        "kind": "streamable_http",
        "endpoint_ref": "https://water.plants.example.org/mcp",
        "origin_allowlist": ["https://contextos.plants.example.org"],
        "timeout_seconds": 15,
    },
    "server_capabilities": {"tools": {"listChanged": False}},
    "auth": {
        "type": "oauth2",
        "resource": "https://water.plants.example.org/mcp",
        "token_audience": "greenhouse",
        "initial_scopes": ["beds.read"],
        "step_up_scopes": {"greenhouse.open_valve": ["valves.open"]},
        "allow_token_passthrough": False,
    },
    "schemas": {
        "schema://moisture.in": closed(bed={"type": "string", "pattern": "^bed_[0-9]+$"}),
        "schema://moisture.out": closed(bed=TEXT, percent={"type": "number"}),
        "schema://valve.in": closed(
            litres={"type": "integer", "minimum": 1, "maximum": 500}, idempotency_key=KEY
        ),
        "schema://valve.out": closed(watering_id=TEXT, state={"enum": ["queued", "done"]}),
    },
    "capabilities": [
        {
            "capability_id": "greenhouse.read_moisture",
            "mcp_tool_name": "read_moisture",
            "description": "Soil moisture of one bed.",
            "capability_class": "observe",
            "approval_mode": "read_only",
            "input_schema_ref": "schema://moisture.in",
            "output_schema_ref": "schema://moisture.out",
            "evidence_keys": ["bed", "percent"],
            "decision_bindings": ["beds.water"],
        },
        {
            "capability_id": "greenhouse.open_valve",
            "mcp_tool_name": "open_valve",
            "description": "Water one bed with so many litres.",
            "capability_class": "act",
            "approval_mode": "destructive",
            "requires_approval_gate": "GATE_HEAD_GARDENER",
            "input_schema_ref": "schema://valve.in",
            "output_schema_ref": "schema://valve.out",
            "evidence_keys": ["watering_id"],
            "idempotency": _write_terms(3600),
        },
    ],
}
MUSEUM: dict[str, Any] = {
    "adapter_id": "adp_loans",
    "name": "Museum loans",
    "owner_role": "registrars",
    "environment": "staging",
    "protocol": "openapi",
    "protocol_version": "3.1.0",
    **NOTES,
    "transport": {
        "kind": "https",
        "endpoint_ref": "https://loans.museum.example/api",
        "timeout_seconds": 12,
        "spec_digest": "sha256:" + "a" * 64,
    },
    "auth": {
        "type": "oidc",
        "resource": "https://loans.museum.example/api",
        "token_audience": "loans-api",
        "initial_scopes": ["loans.view"],
        "allow_token_passthrough": False,
    },
    "schemas": {"schema://loan.in": closed(loan_id=TEXT), "schema://loan.out": closed(lender=TEXT)},
    "capabilities": [
        {
            "capability_id": "loans.get_loan",
            "openapi_operation_id": "getLoan",
            "description": "One loan by its number.",
            "capability_class": "recall",
            "approval_mode": "network",
            "input_schema_ref": "schema://loan.in",
            "output_schema_ref": "schema://loan.out",
        }
    ],
}
TIDES: dict[str, Any] = {
    "adapter_id": "adp_tides",
    "name": "Tide tables",
    "owner_role": "harbour_office",
    "environment": "workstation",
    "protocol": "function",
    "protocol_version": "1.0",
    **NOTES,
    "transport": {"kind": "function", "timeout_seconds": 2},
    "auth": {"type": "none", "reason": "Runs in this process."},
    "schemas": {"schema://tide.in": closed(port=TEXT), "schema://tide.out": closed(high=TEXT)},
    "capabilities": [
        {
            "capability_id": "tides.predict_high_water",
            "function_name": "harbour.tides:high_water",
            "description": "The next high water.",
            "capability_class": "think_support",
            "approval_mode": "read_only",
            "input_schema_ref": "schema://tide.in",
            "output_schema_ref": "schema://tide.out",
        }
    ],
}
COURIER: dict[str, Any] = {
    "adapter_id": "adp_courier",
    "name": "Courier agent",
    "owner_role": "logistics",
    "environment": "production",
    "protocol": "a2a",
    "protocol_version": "1.0",
    **NOTES,
    "transport": {
        "kind": "a2a_jsonrpc",
        "endpoint_ref": "https://agents.courier.example/a2a",
        "timeout_seconds": 30,
        "agent_card_ref": "https://agents.courier.example/.well-known/agent-card.json",
        "agent_card_digest": "sha256:" + "b" * 64,
        "agent_card_signature": {"required": True, "algorithms": ["EdDSA"], "key_ids": ["k1"]},
    },
    "auth": {"type": "mtls", "allow_token_passthrough": False},
    "schemas": {
        "schema://pickup.in": closed(parcel=TEXT, idempotency_key=KEY),
        "schema://pickup.out": closed(pickup_id=TEXT),
    },
    "capabilities": [
        {
            "capability_id": "courier.book_pickup",
            "a2a_skill_id": "book-pickup",
            "description": "Book a pickup of one parcel.",
            "capability_class": "act",
            "approval_mode": "delegated",
            "input_schema_ref": "schema://pickup.in",
            "output_schema_ref": "schema://pickup.out",
            "idempotency": _write_terms(600),
            "execution": {"mode": "task", "ttl_seconds": 900, "policy_refs": ["POLICY_COURIER"]},
        }
    ],
}
KILN: dict[str, Any] = {
    "adapter_id": "adp_kiln",
    "name": "Kiln controller",
    "owner_role": "ceramics",
    "environment": "production",
    "protocol": "custom",
    "protocol_version": "2.4",
    **NOTES,
    "transport": {
        "kind": "custom",
        "endpoint_ref": "modbus://kiln-7",
        "timeout_seconds": 3,
        "framing": "length-prefixed",
        "auth": "pre-shared key",
        "replay": "sequence numbers",
        "cancellation": "none",
        "observation": "trace id in the header",
    },
    "auth": {"type": "api_key", "allow_token_passthrough": False},
    "schemas": {
        "schema://zone.in": closed(zone={"type": "integer"}),
        "schema://zone.out": closed(celsius={"type": "number"}),
    },
    "capabilities": [
        {
            "capability_id": "kiln.verify_temperature",
            "protocol_tool": "TEMP?",
            "description": "Temperature of a zone.",
            "capability_class": "verify",
            "approval_mode": "network",
            "input_schema_ref": "schema://zone.in",
            "output_schema_ref": "schema://zone.out",
        }
    ],
}
STRANGERS = {
    "greenhouse": GREENHOUSE,
    "museum": MUSEUM,
    "tides": TIDES,
    "courier": COURIER,
    "kiln": KILN,
}
