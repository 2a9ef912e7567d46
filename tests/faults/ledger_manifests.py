"""The adapter over `ledger_functions`: reads and writes whose time is short, so leases are too."""

from __future__ import annotations

from typing import Any

from tests.registry.documents import Document, pack, permission
from tests.registry.manifests import Manifest, orders

ADAPTER = "adp_ledger"
TIMEOUT_SECONDS = 3
RESERVE_CENTS = 5
READ, REPORT = "ledger.read_entry", "ledger.build_report"
POST, POST_BLINDLY = "ledger.post_entry", "ledger.post_entry_blindly"
# The same two, of an adapter whose manifest grants them a second.
HASTE = "adp_haste"
POST_SOON, POST_BLINDLY_SOON = "haste.post_entry", "haste.post_entry_blindly"
VAULT, WIPE = "adp_vault", "vault.wipe_entry"  # destructive: it waits for two people
GATE, QUORUM = "GATE_FINANCE_APPROVAL", 2

_IN, _OUT = "schema://ledger.entry.input.v1", "schema://ledger.entry.output.v1"


def _capability(capability_id: str, **changes: Any) -> dict[str, Any]:
    return {
        "capability_id": capability_id,
        "function_name": f"faults.ledger:{capability_id.partition('.')[2]}",
        "capability_class": "observe",
        "approval_mode": "read_only",
        "description": "Work with the entries of one ledger.",
        "input_schema_ref": _IN,
        "output_schema_ref": _OUT,
        "evidence_keys": ["entry_id"],
        "timeout_seconds": TIMEOUT_SECONDS,
        "retry_policy": {"max_attempts": 2},
        **changes,
    }


def _write(capability_id: str, mode: str, *, adapter_dedup: bool) -> dict[str, Any]:
    return _capability(
        capability_id,
        capability_class="act",
        approval_mode=mode,
        cost={"reserve_cents": RESERVE_CENTS},
        idempotency={
            "required": True,
            "dedup_window_seconds": 3600,
            "adapter_dedup": adapter_dedup,
        },
    )


_AS_TASK = {
    "mode": "task",
    "cancellable": False,
    "poll_interval_seconds": 1,
    "ttl_seconds": 600,
    "policy_refs": ["refunds"],
}


def ledger() -> Manifest:
    """One capability for every rule about repeating: read, long read, known key, unknown key."""
    return orders(
        adapter_id=ADAPTER,
        name="Ledger",
        owner_role="ledger_platform",
        schemas=_schemas(),
        capabilities=[
            _capability(READ),
            _capability(REPORT, execution=_AS_TASK),
            _write(POST, "local_write", adapter_dedup=True),
            _write(POST_BLINDLY, "network", adapter_dedup=False),
        ],
    )


def haste() -> Manifest:
    """Writes that are given up after a second, long before the slow ones have answered."""
    soon = {"timeout_seconds": 1}
    return orders(
        adapter_id=HASTE,
        name="Haste",
        owner_role="ledger_platform",
        schemas=_schemas(),
        capabilities=[
            _write(POST_SOON, "local_write", adapter_dedup=True) | soon,
            _write(POST_BLINDLY_SOON, "network", adapter_dedup=False) | soon,
        ],
    )


def vault() -> Manifest:
    """What nobody may do alone, and no adapter that would notice a repeat."""
    wipe = _write(WIPE, "destructive", adapter_dedup=False) | {"requires_approval_gate": GATE}
    return orders(
        adapter_id=VAULT,
        name="Vault",
        owner_role="ledger_platform",
        schemas=_schemas(),
        capabilities=[wipe],
    )


def _schemas() -> dict[str, Any]:
    entry = {"type": "string", "maxLength": 200}
    return {
        _IN: {
            "type": "object",
            "additionalProperties": False,
            "properties": {"text": entry},
            "required": ["text"],
        },
        _OUT: {"type": "object", "properties": {"entry_id": entry}, "required": ["entry_id"]},
    }


def ledger_pack() -> Document:
    """A pack that permits all of it."""
    return _pack("support_ledger", ADAPTER, READ, REPORT, POST, POST_BLINDLY)


def haste_pack() -> Document:
    """The same for those that are in a hurry."""
    return _pack("support_haste", HASTE, POST_SOON, POST_BLINDLY_SOON)


def vault_pack() -> Document:
    """A pack that lets the agent ask for it."""
    return _pack("support_vault", VAULT, WIPE)


def _pack(pack_id: str, adapter_id: str, *capabilities: str) -> Document:
    named = [capability.partition(".")[2] for capability in capabilities]
    grants = [permission(adapter_id, name, environments=["production"]) for name in named]
    return pack(pack_id=pack_id, tooling_layer={"permissions": grants})
